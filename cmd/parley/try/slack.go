package try

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/slack"
)

// slackNetwork is the scene in Slack: the group is a channel, where answers go into
// the thread of their question. What is written next goes on in the thread that the first
// message began, to the bot directly and in the channel: there only a mention begins one.
type slackNetwork struct {
	*slack.Server
	threads *sync.Map // by chat, until it is left
}

const (
	slackBotToken = "xoxb-try"
	slackAppToken = "xapp-try"
)

// kitchen is the channel.
var kitchen = slack.Channel{ID: "C0KITCHEN", Kind: slack.Public, Name: strings.ReplaceAll(groupTitle, " ", "-")}

func newSlack(Options) (network, error) {
	s, err := slack.New(slack.Options{
		Apps: []slack.App{{Name: botUsername, BotToken: slackBotToken, AppToken: slackAppToken, AgentView: true}},
		// What is said before the bot is connected waits for it.
		Retries: slices.Repeat([]time.Duration{100 * time.Millisecond}, int(answerWithin/(100*time.Millisecond))),
	})
	if err != nil {
		return nil, fmt.Errorf("make the chat server: %w", err)
	}
	return slackNetwork{s, &sync.Map{}}, nil
}

func (n slackNetwork) config(string) settings.ChannelsConfig {
	return settings.ChannelsConfig{Slack: map[string]settings.SlackConfig{
		"slack": {
			BotToken: settings.NewSecret(slackBotToken), AppToken: settings.NewSecret(slackAppToken), APIURL: n.APIURL(),
			Common: settings.Common{Access: policy.Access{Everyone: true, Approvers: []string{slackID("ann")}}},
		},
	}}
}

// slackID returns the id of one of the people.
func slackID(who string) string { return "U0TRY" + strings.ToUpper(who) }

func (n slackNetwork) say(who string, inGroup bool, text string, file *enclosure) (sentLine, error) {
	from := slack.Person{ID: slackID(who), Name: who, RealName: people[who].name}
	chat, o := slack.DM(from), slack.SayOptions{}
	begins := true
	if inGroup {
		chat, begins = kitchen, isForBot(text)
	}
	if thread, ok := n.threads.Load(chat.ID); ok {
		o.ThreadTS = thread.(string)
	}
	if inGroup {
		// Slack knows no /command@bot: there one mentions the bot first.
		if at := command.FindString(text); at != "" {
			word, rest, _ := strings.Cut(text, " ")
			word, _, _ = strings.Cut(word, "@")
			text = "@" + botUsername + " " + word + " " + rest
		}
	}
	if file != nil {
		o.Files = []slack.File{{Name: file.name, Mimetype: file.mime, Data: file.data}}
		if file.voice {
			o.Files = []slack.File{{Name: "audio_message.ogg", Mimetype: "audio/ogg", Data: file.data, ClipMillis: 1000}}
		}
	}
	told, err := n.Say(chat, from, text, o)
	if err != nil {
		return sentLine{}, fmt.Errorf("write into the chat: %w", err)
	}
	thread := o.ThreadTS != ""
	if begins && !thread {
		n.threads.Store(chat.ID, told.TS)
	}
	return sentLine{chat: chat.ID, thread: inGroup && (thread || begins), heard: thread, awaitTaken: func(ctx context.Context) error {
		return ignore(n.Await(ctx, func(b slack.Book) bool {
			return !slices.ContainsFunc(b.Events, func(e slack.EventEntry) bool {
				return e.Channel == told.Channel && e.TS == told.TS && e.Acknowledged.IsZero()
			})
		}))
	}}, nil
}

func (n slackNetwork) leaveThread() { n.threads.Delete(kitchen.ID) }

func (n slackNetwork) converse(ctx context.Context, c *conversation, typed <-chan string) error {
	return converse(ctx, c, typed, n.Watch, fromSlack)
}

var (
	slackText    = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "  \n", "\n")
	slackEscapes = regexp.MustCompile(`\\([[:punct:]])`)
)

// fromSlack returns what people see of something that happens, if it is a message.
func fromSlack(h slack.Happening) (shownMessage, bool) {
	s := shownMessage{chat: h.Channel, id: h.TS, text: slackEscapes.ReplaceAllString(slackText.Replace(h.Text), "$1"), edited: h.Kind != "posted"}
	return s, h.Kind == "posted" || h.Kind == "edited" || h.Kind == "streamed"
}
