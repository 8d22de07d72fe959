package gateway_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/gateway/admin"
	"parley/gateway/fates"
	"parley/gateway/gatewaytest"
	"parley/gateway/inquiries"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/telegram"
)

// askedPerson is whom programs ask in the tests: the same number on all networks.
const askedPerson = 70070001

// servesPeople lets programs ask a person of each network, whom they call as the network.
func servesPeople(c *settings.Config) {
	serve := func(n gatewaytest.Network, account, id string, a *policy.Access) {
		a.People = append(slices.Clone(a.People), id)
		c.MCP.Serve.People = append(c.MCP.Serve.People, inquiries.PersonConfig{Name: string(n), Account: account, Person: id})
	}
	for name, a := range c.Channels.Telegram {
		serve(gatewaytest.Telegram, name, fmt.Sprint(gatewaytest.TelegramPerson(askedPerson).ID), &a.Access)
		c.Channels.Telegram[name] = a
	}
	for name, a := range c.Channels.Slack {
		serve(gatewaytest.Slack, name, gatewaytest.SlackPerson(askedPerson).ID, &a.Access)
		c.Channels.Slack[name] = a
	}
	for name, a := range c.Channels.Signal {
		serve(gatewaytest.Signal, name, gatewaytest.SignalPerson(askedPerson).ACI, &a.Access)
		c.Channels.Signal[name] = a
	}
}

// A program asks a person of each network, over the end of the gateway: they are asked once, and
// answer by what the question says. No agent reads it. (issue of MCP servers, docs/decisions/0099)
func TestProgramsAskPeopleOnEveryNetwork(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: gatewaytest.AllNetworks(), Change: servesPeople})
	gw := env.Start()
	ask := func(n gatewaytest.Network) admin.Inquiry {
		t.Helper()
		i, err := admin.NewClient(gw.AdminSocket()).Ask(t.Context(), admin.Question{
			Key: "deploy " + string(n), Person: string(n), Text: "May I deploy **v2**?", Choices: []string{"yes", "not now"},
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	for _, n := range gatewaytest.AllNetworks() {
		p := env.Direct(n, askedPerson)
		p.Say("hello") // a bot may not begin everywhere
		p.AwaitWords("hello")
		if i := ask(n); i.State != admin.InquiryWaits {
			t.Errorf("%s: %+v", n, i)
		}
	}
	gw.Stop()
	gw = env.Start()
	for _, n := range gatewaytest.AllNetworks() {
		p, again := env.Direct(n, askedPerson), ask(n)
		shown := p.AwaitWords("asked by a program")
		_, rest, _ := strings.Cut(shown[len(shown)-1], "as in ")
		typed, _, _ := strings.Cut(rest, " 1.")
		if !strings.Contains(typed, again.Code) {
			t.Fatalf("%s: the question does not say how it is answered under %s: %q", n, again.Code, shown)
		}
		other := env.Direct(n, askedPerson+1)
		other.Say(typed + " 1")
		other.AwaitWords("Under that code")
		p.Say(typed + " perhaps")
		p.AwaitWords("with one of the choices")
		p.Say(typed + " 2")
		p.AwaitWords("gets your answer", "not now")
		all := strings.Join(env.Direct(n, askedPerson).Texts(), "\n")
		if asked := strings.Count(all, "asked by a program"); asked != 1 {
			t.Errorf("%s: asked %d times: %s", n, asked, all)
		}
		if i := ask(n); i.State != admin.InquiryAnswered || i.Answer != "not now" || i.Code != again.Code {
			t.Errorf("%s: after the answer %+v", n, i)
		}
	}
	for _, r := range env.Model.Requests() {
		if strings.Contains(string(r.Body), "deploy") {
			t.Errorf("a model reads of the question: %s", r.Body)
		}
	}
}

// Buttons answer, and go when somebody has answered. So does a reply to the question.
func TestPeopleAnswerProgramsByButtonAndReply(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Change: servesPeople})
	gw := env.Start()
	client, ann := admin.NewClient(gw.AdminSocket()), gatewaytest.TelegramPerson(askedPerson)
	gw.Ask(ann, "hello")
	last := func(words string) telegram.MessageEntry {
		t.Helper()
		var found telegram.MessageEntry
		env.Await(words, func(b telegram.Book) bool {
			for _, m := range b.Messages {
				if strings.Contains(m.Versions[len(m.Versions)-1].Text, words) {
					found = m
					return true
				}
			}
			return false
		})
		return found
	}
	reply := ""
	for _, c := range []struct {
		key     string
		choices []string
		want    string
	}{{"button", []string{"yes", "no"}, "no"}, {"reply", nil, "tomorrow, please"}} {
		i, err := client.Ask(t.Context(), admin.Question{Key: c.key, Person: string(gatewaytest.Telegram), Text: "When?", Choices: c.choices}, 0)
		if err != nil {
			t.Fatal(err)
		}
		m := last("Question " + i.Code)
		if c.choices != nil {
			_, err = env.Telegram.Press(ann, ann.ID, m.MessageID, "/answer "+i.Code+" 2", telegram.PressOptions{})
		} else {
			var said telegram.ActionResult
			said, err = env.Telegram.Say(telegram.PrivateChat(ann), ann, c.want, telegram.SayOptions{ReplyTo: m.MessageID})
			reply = strconv.FormatInt(said.MessageID, 10)
		}
		if err != nil {
			t.Fatal(err)
		}
		if i, err = client.Inquiry(t.Context(), c.key, time.Minute); err != nil || i.State != admin.InquiryAnswered || i.Answer != c.want {
			t.Errorf("%s: %+v, %v", c.key, i, err)
		}
		env.Await("the question without buttons", func(b telegram.Book) bool {
			return !slices.ContainsFunc(b.Messages, func(m telegram.MessageEntry) bool {
				return m.Versions[len(m.Versions)-1].Markup != "" && strings.Contains(m.Versions[len(m.Versions)-1].Text, i.Code)
			})
		})
	}
	last("gets your answer: tomorrow, please")
	why, err := client.Why(t.Context(), admin.WhyQuery{Message: reply, Chat: strconv.FormatInt(ann.ID, 10)})
	if err != nil || len(why.Fates) != 1 || why.Fates[0].Verdict != fates.AtOnce || !strings.Contains(why.Fates[0].Why, "it answers what a program") {
		t.Errorf("of the answer parley says %+v, %v", why, err)
	}
}
