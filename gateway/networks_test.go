package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/slack"
)

// onEach runs a test on every network.
func onEach(t *testing.T, run func(t *testing.T, n gatewaytest.Network)) {
	t.Helper()
	t.Parallel()
	for _, n := range gatewaytest.AllNetworks() {
		t.Run(string(n), func(t *testing.T) {
			t.Parallel()
			run(t, n)
		})
	}
}

// Whatever the network: a question in a direct message, a mention in a group, a
// tool, commands, and what is said while no gateway runs.
func TestTheWholeHouseOnEveryNetwork(t *testing.T) {
	onEach(t, func(t *testing.T, n gatewaytest.Network) {
		env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{n}, Brain: model.Demo(0)})
		gw := env.Start()
		direct, group := env.Direct(n, 7001), env.Group(n, 8001, 7002)
		for _, c := range []struct {
			place     *gatewaytest.Conversation
			say, want string
		}{
			{direct, "what is 12*7", "84"},
			{group, "what is 5*5", "25"},
			{direct, "list files", "empty"},
			{direct, "/status", "messages"},
			{group, "/cost", "$0.00"},
			{direct, "/new", "new conversation"},
			{direct, "/help", "stop – stop what I am doing"}, // behind /, and ! on Slack
			{direct, "/stop", "Nothing was running"},
		} {
			if got := gw.AskAt(c.place, c.say); !strings.Contains(got, c.want) {
				t.Errorf("in %s %q was answered with %q", c.place, c.say, got)
			}
		}
		gw.AwaitMetrics(fmt.Sprintf(`parley_turns_total{channel="%s",chat="dm",outcome="ok"} 2`, n),
			fmt.Sprintf(`parley_turns_total{channel="%s",chat="group",outcome="ok"} 1`, n))
		gw.Stop()
		direct.Say("what is 6*7")
		group.Say("what is 6*8")
		again := env.Start()
		again.NextDelivered()
		again.NextDelivered()
		if got := direct.Texts(); !strings.Contains(got[len(got)-1], "42") {
			t.Errorf("after a restart the person was told %q", got)
		}
		if got := group.Texts(); !strings.Contains(got[len(got)-1], "48") || len(got) != 3 {
			t.Errorf("after a restart the group was told %q", got)
		}
	})
}

// allow lets the people and groups talk to the bot, and nobody else.
func allow(people, groups []string) func(*settings.Config) {
	access := policy.Access{People: people, Groups: groups}
	return func(c *settings.Config) {
		for name, tg := range c.Channels.Telegram {
			tg.Access = access
			c.Channels.Telegram[name] = tg
		}
		for name, sl := range c.Channels.Slack {
			sl.Access = access
			c.Channels.Slack[name] = sl
		}
		for name, sig := range c.Channels.Signal {
			sig.Access = access
			c.Channels.Signal[name] = sig
		}
	}
}

// personID is the stable id of person n.
func personID(network gatewaytest.Network, n int) string {
	switch network {
	case gatewaytest.Slack:
		return gatewaytest.SlackPerson(n).ID
	case gatewaytest.Signal:
		return gatewaytest.SignalPerson(n).ACI
	}
	return fmt.Sprint(gatewaytest.TelegramPerson(n).ID)
}

// Who is not listed, or speaks in a group that is not, costs nothing, whatever they are
// called and whatever they say, and hears one line where nobody else does (firstday A2).
func TestWhoIsNotAllowedIsRefusedOnEveryNetwork(t *testing.T) {
	onEach(t, func(t *testing.T, n gatewaytest.Network) {
		var env *gatewaytest.Env
		env = gatewaytest.Open(t, gatewaytest.Options{
			Networks: []gatewaytest.Network{n},
			Change: func(c *settings.Config) {
				allow([]string{personID(n, 7001)}, []string{env.Group(n, 8001, 7001).ID})(c)
			},
		})
		gw := env.Start()
		strangers := []*gatewaytest.Conversation{env.Direct(n, 7002), env.Group(n, 8001, 7002), env.Group(n, 8002, 7001)}
		for _, p := range strangers {
			p.Say("hello")
			p.Say("/status")
			p.Say("/stop")
		}
		if n == gatewaytest.Slack {
			// The same id in another workspace is somebody else.
			other := gatewaytest.SlackPerson(7001)
			other.Team = "T0ELSEWHERE"
			shared := env.InSlack(slack.Channel{ID: "C8001", Kind: slack.Public, External: true}, other)
			shared.Say("hello")
			strangers = append(strangers, shared)
		}
		id := personID(n, 7002)
		gw.NextDelivered()
		strangers[0].AwaitWords("give them your id: " + id)
		friends := []*gatewaytest.Conversation{env.Direct(n, 7001), env.Group(n, 8001, 7001)}
		for _, p := range friends {
			if got := gw.AskAt(p, "good morning"); !strings.Contains(got, "good morning") {
				t.Errorf("in %s the answer was %q", p, got)
			}
		}
		refused := fmt.Sprintf(`parley_messages_ignored_total{channel="%s",reason="not_allowed"} `, n)
		eventually(t, "who was refused to be counted", func() bool { return counted(gw.Scrape(), refused) })
		gw.Stop() // what runs ends first
		if got := strangers[0].Texts(); len(got) != 1 {
			t.Errorf("a stranger was told %q", got)
		}
		for _, p := range strangers[1:] {
			if got := p.Texts(); n == gatewaytest.Slack && len(got) > 0 || slices.ContainsFunc(got, func(s string) bool { return !strings.Contains(s, "good morning") }) {
				t.Errorf("%s shows %q", p, got)
			}
		}
		if got := questions(env); got != len(friends) {
			t.Errorf("%d questions were asked for %d messages", got, len(friends))
		}
	})
}

// An answer goes where its question came from, whatever the person does
// meanwhile; and /stop ends what runs where it is said, and nothing else.
func TestAnAnswerGoesWhereItsQuestionCameFromOnEveryNetwork(t *testing.T) {
	onEach(t, func(t *testing.T, n gatewaytest.Network) {
		brain, asked, canceled, release := held()
		env := gatewaytest.Open(t, gatewaytest.Options{
			Networks: []gatewaytest.Network{n}, Brain: brain, Change: func(c *settings.Config) { c.Worker.PersonTurns = 3 },
		})
		gw := env.Start()
		first, second, direct := env.Group(n, 8001, 7001), env.Group(n, 8002, 7001), env.Direct(n, 7001)
		for _, p := range []*gatewaytest.Conversation{first, second} {
			p.Say("in " + p.ID + " please hold on")
			<-asked
		}
		if got := gw.AskAt(direct, "quick"); !strings.Contains(got, "quick") {
			t.Errorf("meanwhile the person was told %q", got)
		}
		if got := gw.AskAt(second, "/stop"); !strings.Contains(got, "Stopped") {
			t.Errorf("/stop was answered with %q", got)
		}
		<-canceled
		release()
		if d := gw.NextDelivered(); d.Chat != first.ID {
			t.Errorf("the last answer went to %s", d.Chat)
		}
		if got := first.Texts(); len(got) != 1 || !strings.Contains(got[0], "in "+first.ID) {
			t.Errorf("%s shows %q", first, got)
		}
		if got := second.Texts(); len(got) != 1 {
			t.Errorf("%s shows %q", second, got)
		}
		if got := direct.Texts(); len(got) != 1 {
			t.Errorf("%s shows %q", direct, got)
		}
	})
}

// abuse M8: a shorter list holds for what was let in before it became shorter.
func TestWhoWasTakenOffTheListIsNotAnsweredFromAnOpenTurnOnAnyNetwork(t *testing.T) {
	onEach(t, func(t *testing.T, n gatewaytest.Network) {
		brain, asked, _, release := held()
		env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{n}, Brain: brain})
		first := env.StartAs(func(c *settings.Config) {
			allow([]string{personID(n, 7001), personID(n, 7002)}, nil)(c)
			c.Worker.Grace = time.Millisecond
		})
		off, on := env.Direct(n, 7001), env.Direct(n, 7002)
		off.Say("please hold on")
		<-asked
		first.Stop()
		before := questions(env)
		release()
		second := env.StartAs(allow([]string{personID(n, 7002)}, nil))
		refused := fmt.Sprintf(`parley_messages_ignored_total{channel="%s",reason="not_allowed"} `, n)
		eventually(t, "the turn to be refused", func() bool { return counted(second.Scrape(), refused) })
		if got := second.AskAt(on, "good morning"); !strings.Contains(got, "good morning") {
			t.Errorf("who is listed was told %q", got)
		}
		second.Stop()
		if got := off.Texts(); len(got) != 0 {
			t.Errorf("who is not listed any more was told %q", got)
		}
		if got := questions(env) - before; got != 1 {
			t.Errorf("%d questions were asked, not one", got)
		}
	})
}
