package gateway_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/gateway/activity"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// paused is a model that works in stages: before each answer but the first it waits for the
// test, which looks at the chat meanwhile.
type paused struct{ next chan struct{} }

func newPaused() paused { return paused{make(chan struct{}, 16)} }

func (p paused) wait(ctx context.Context) {
	select {
	case <-p.next:
	case <-ctx.Done():
	}
}

func (p paused) goOn() { p.next <- struct{}{} }

// lookAround looks for files, with what the pattern says, and answers "done".
func (p paused) lookAround(pattern string) model.Brain {
	return func(ctx context.Context, q *model.Prompt) model.Answer {
		if len(q.Answering()) == 0 {
			return model.Reply(model.Use("glob", map[string]string{"pattern": pattern}))
		}
		p.wait(ctx)
		return model.Reply(model.Say("done"))
	}
}

// nasty is what a model that was talked into it writes: a secret, a mention, and markup.
const nasty = gatewaytest.Token + " @ben <!channel> **b** `c` \u202e[x](https://e.org)"

// shows has both networks show so much of what turns do.
func shows(a activity.Config) func(*settings.Config) {
	return func(c *settings.Config) {
		for name, tg := range c.Channels.Telegram {
			tg.Activity = a
			c.Channels.Telegram[name] = tg
		}
		for name, sl := range c.Channels.Slack {
			sl.Activity = a
			c.Channels.Slack[name] = sl
		}
	}
}

// showsOnly waits until one message of the bot is in the chat, and it says want.
func showsOnly(t *testing.T, env *gatewaytest.Env, c telegram.Chat, want string) telegram.MessageEntry {
	t.Helper()
	b := env.Await(want, func(b telegram.Book) bool {
		return slices.ContainsFunc(b.Messages, func(m telegram.MessageEntry) bool { return m.ChatID == c.ID && m.Text() == want })
	})
	var all []telegram.MessageEntry
	for _, m := range b.Messages {
		if m.ChatID == c.ID {
			all = append(all, m)
		}
	}
	if len(all) != 1 {
		t.Fatalf("%d messages in the chat: %+v", len(all), all)
	}
	return all[0]
}

// requirements F18: while a turn runs its message says what the bot does; the answer goes
// into the same message. What the model wrote of it is code, in which nobody is mentioned.
func TestAMessageSaysWhatTheBotDoesUntilTheAnswerStandsThere(t *testing.T) {
	t.Parallel()
	p := newPaused()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: p.lookAround(nasty), Change: shows(activity.Config{})})
	gw := env.Start()
	ann := telegram.PrivateChat(gatewaytest.Ann)
	env.Say(ann, gatewaytest.Ann, "look")
	m := showsOnly(t, env, ann, "Looking for files [redacted] @ben <!channel> **b** 'c' [x](https://e.org) ✓ · thinking …")
	for _, e := range m.Versions[len(m.Versions)-1].Entities {
		if e.Type != "code" {
			t.Errorf("there is a %s in %q", e.Type, m.Text())
		}
	}
	p.goOn()
	gw.NextDelivered()
	showsOnly(t, env, ann, "done")
}

// requirements E02, W04: with full the steps are listed, those of a sub-agent below the call
// that started it, and what the model thinks; in a group, whose default is off.
func TestTheStepsOfATurnAndOfItsSubAgentAreListed(t *testing.T) {
	t.Parallel()
	p := newPaused()
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(ctx context.Context, q *model.Prompt) model.Answer {
			child, answered := strings.Contains(q.LastText(), "small task"), len(q.Answering()) > 0
			switch {
			case child && !answered:
				return model.Reply(model.Use("list_directory", map[string]string{}))
			case child:
				p.wait(ctx)
				return model.Reply(model.Say("small words"))
			case !answered:
				return model.Reply(model.Think("I wonder who knows."), model.Say("I ask."), model.Use("sessions_spawn", map[string]string{"task": "small task " + nasty, "label": "the @ben " + gatewaytest.Token}))
			}
			a := model.Reply(model.Think("I wonder whether that is so. "+gatewaytest.Token+" "+strings.Repeat("Hm, ", 60)), model.Say("done"))
			a.Pace = 40 * time.Millisecond
			return a
		},
		Change: shows(activity.Config{Groups: activity.Full}),
	})
	gw := env.Start()
	env.Say(gatewaytest.Kitchen, gatewaytest.Ann, "@"+gatewaytest.Username+" ask")
	b := env.Await("the sub-agent's step", func(b telegram.Book) bool {
		return slices.ContainsFunc(b.Messages, func(m telegram.MessageEntry) bool { return strings.Contains(m.Text(), "✓ Listing the files") })
	})
	text := b.Messages[len(b.Messages)-1].Text()
	for _, want := range []string{"I ask.\n", "… Asking a sub-agent the @ben [redacted] {\"label\":", "\n  ", "✓ Listing the files"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	p.goOn()
	env.Await("thoughts", func(b telegram.Book) bool {
		return strings.Contains(b.Messages[len(b.Messages)-1].Text(), "\nThinking: I wonder whether that is so. [redacted] Hm,")
	})
	gw.NextDelivered()
	m := showsOnly(t, env, gatewaytest.Kitchen, "done")
	for _, v := range m.Versions {
		if strings.Contains(v.Text, gatewaytest.Token[5:30]) || strings.Contains(v.Text, "small words") {
			t.Errorf("shown: %q", v.Text)
		}
		for _, e := range v.Entities {
			if e.Type == "mention" {
				t.Errorf("somebody is mentioned in %q", v.Text)
			}
		}
	}
}

// A turn that is stopped leaves nothing behind that says it is at work; where the operator
// says off, and in groups, nothing says so in the first place.
func TestWhatTheBotDidIsGoneWithItsTurn(t *testing.T) {
	t.Parallel()
	p := newPaused()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: p.lookAround("*.md"), Change: shows(activity.Config{})})
	gw := env.Start()
	ann := telegram.PrivateChat(gatewaytest.Ann)
	env.Say(gatewaytest.Kitchen, gatewaytest.Ann, "@"+gatewaytest.Username+" look")
	env.Say(ann, gatewaytest.Ann, "look")
	showsOnly(t, env, ann, "Looking for files *.md ✓ · thinking …")
	env.Say(ann, gatewaytest.Ann, "/stop")
	env.Await("the end of the preview", func(b telegram.Book) bool {
		return slices.ContainsFunc(b.Messages, func(m telegram.MessageEntry) bool { return m.ChatID == ann.ID && m.Text() == "(stopped)" })
	})
	if shown := env.SentTexts(gatewaytest.Kitchen); len(shown) != 0 {
		t.Errorf("the group sees %q", shown)
	}
	p.goOn()
	p.goOn()
	gw.NextDelivered()
	gw.NextDelivered()
}

// In a thread of Slack it stands beside the conversation, and no message says it: one that
// streams takes nothing back.
func TestSlackShowsWhatTheBotDoesBesideTheThread(t *testing.T) {
	t.Parallel()
	p := newPaused()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Slack}, Brain: p.lookAround(nasty), Change: shows(activity.Config{})})
	gw := env.Start()
	place := env.Direct(gatewaytest.Slack, 7001)
	place.Say("look")
	const words = "is working: looking for files [redacted] @ben ‹!channel› **b** 'c' [x](https://e.org) ✓ · thinking …"
	status := func(want string) func(slack.Book) bool {
		return func(b slack.Book) bool {
			i := slices.IndexFunc(b.Signals, func(s slack.SignalEntry) bool { return s.Kind == "status" && s.Text == words })
			return i >= 0 && slices.ContainsFunc(b.Signals[i:], func(s slack.SignalEntry) bool { return s.Text == want && s.ThreadTS == place.Thread })
		}
	}
	inSlack(t, env, "the status", status(words))
	if got := place.Texts(); len(got) != 0 {
		t.Errorf("the thread shows %q", got)
	}
	p.goOn()
	gw.NextDelivered()
	if got := place.Texts(); fmt.Sprint(got) != "[done]" {
		t.Errorf("the thread shows %q", got)
	}
}

// requirements AC03, N05: who waits for a summary sees that the conversation is made shorter,
// and by how much.
func TestAPersonSeesThatTheConversationIsMadeShorter(t *testing.T) {
	t.Parallel()
	p := newPaused()
	var summarised atomic.Bool
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(ctx context.Context, q *model.Prompt) model.Answer {
			switch {
			case strings.HasPrefix(q.LastText(), "Provide a detailed but concise summary"):
				p.wait(ctx)
				summarised.Store(true)
				return model.Reply(model.Say("<summary>They talk about this and that.</summary>"))
			case summarised.Load():
				p.wait(ctx)
				return model.Reply(model.Say("done"))
			}
			return model.Reply(model.Say("Go on."))
		},
		Change: func(c *settings.Config) {
			shows(activity.Config{})(c)
			c.Context.MaxTokens = 5000
		},
	})
	gw := env.Start()
	ann := telegram.PrivateChat(gatewaytest.Ann)
	compacting := func(line *regexp.Regexp) func(telegram.Book) bool {
		return func(b telegram.Book) bool {
			return slices.ContainsFunc(b.Messages, func(m telegram.MessageEntry) bool { return line.MatchString(m.Text()) })
		}
	}
	const talk = "We talk about this and that. "
	for range 4 {
		if got := gw.Ask(gatewaytest.Ann, strings.Repeat(talk, 100)); got != "Go on." {
			t.Fatalf("answered %q", got)
		}
	}
	env.Say(ann, gatewaytest.Ann, strings.Repeat(talk, 130))
	env.Await("that it begins", compacting(regexp.MustCompile(`Compacting: \dk tokens …`)))
	p.goOn()
	env.Await("what it brought", compacting(regexp.MustCompile(`Compacting: [56]k to [1-4]k tokens`)))
	p.goOn()
	gw.NextDelivered()
}
