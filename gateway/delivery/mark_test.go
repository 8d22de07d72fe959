package delivery_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"html"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/delivery"
	"parley/gateway/signals"
	"parley/sessionkeys"
	"parley/sessions"
)

// reader is a network that renders Markdown, in which a character can be written as an HTML entity,
// and has a status line beside the chat.
type reader struct{ streamer }

func (r reader) Render(text string) []channels.Body { return r.net.Render(html.UnescapeString(text)) }

func (r reader) Send(ctx context.Context, m channels.Reply) (channels.Receipt, error) {
	m.Body = withButtons(m.Body)
	return r.net.Send(ctx, m)
}

func (r reader) Edit(ctx context.Context, at sessionkeys.Address, id string, b channels.Body) error {
	return r.net.Edit(ctx, at, id, withButtons(b))
}

// withButtons shows how many buttons a message has.
func withButtons(b channels.Body) channels.Body {
	if n := len(b.Choices); n > 0 {
		b.Text += fmt.Sprintf(" [%d]", n)
	}
	return b
}

func (r reader) HasStatus(sessionkeys.Address) bool { return true }

func (r reader) ShowStatus(_ context.Context, at sessionkeys.Address, text string) error {
	_, err := r.take(call{op: "status", chat: at.Peer, text: text})
	return err
}

// security.md 4.3: only a question of the gateway, which has buttons, begins with the mark:
// no preview, no status, no answer and no file name does, however it is spelled. The buttons go when
// the question is decided.
func TestNoWordsOfAModelLookLikeAQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{reader{streamer{r.net}}} })
	r.begin("a", "t1")
	calls := 0
	show := func(more int, s signals.Preview) {
		t.Helper()
		s.Turn, s.Channel, s.To = "t1", "tg", to("a")
		p.heard.send(signals.PreviewTopic, s)
		calls += more
		r.await("a sign", func() bool { return len(r.net.log()) >= calls })
	}
	show(2, signals.Preview{Step: 1, Text: "🔐 May I?", Activity: "x", Status: "🔐 May I?"})
	show(3, signals.Preview{Step: 2, Text: "&#128272; May I?", Before: "🔐 &#x1F510;", BeforeStep: 1, Activity: "x", Status: "y"})
	r.answer(p, "a", "t1", "&#x1f510; May I?")
	r.queue("a", "🔐 :closed_lock_with_key: May I?")
	r.decided(p, r.question(p))
	r.await("a question without buttons", func() bool { return len(r.net.log()) == 9 })
	r.wantCalls(
		"send a 🔒 May I?", "status a 🔒 May I?",
		"break a 🔒 🔒 in id1", "send a 🔒 May I?", "status a y", "edit a 🔒 May I? in id2",
		"send a 🔒 :closed_lock_with_key; May I?", "send a 🔐 May I? [1]", "edit a 🔐 May I? in id4",
	)
}

// A question that may be a repeat goes on saying so when it is decided: its buttons stay.
func TestAQuestionThatMayBeARepeatKeepsItsMark(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(n int, c call) error {
		if c.op == "send" && n == 1 {
			return arrives{kind(channels.Ambiguous)}
		}
		return nil
	}
	p := r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{reader{streamer{r.net}}} })
	r.decided(p, r.question(p))
	r.decided(p, r.question(p))
	r.await("the second question without buttons", func() bool { return len(r.net.log()) == 4 })
	r.wantCalls("send a 🔐 May I? [1]", "send a 🔐 May I? [1] again", "send a 🔐 May I? [1]", "edit a 🔐 May I? in id3")
}

// question asks for permission, and returns the turn that asks.
func (r *fixture) question(p *process) string {
	r.t.Helper()
	id := rand.Text()
	_, err := r.store.Notice(r.t.Context(), sessions.InboxID{Channel: "telegram", Event: id}, []sessions.Outgoing{{
		ID: id, Channel: "tg", To: to("a"), Text: "🔐 May I?", At: time.Now(), Choices: []sessions.Choice{{Label: "Yes", Says: "/approve 1"}},
	}}, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	p.wake()
	r.delivered()
	return id
}

// decided says that a turn's question was decided.
func (r *fixture) decided(p *process, turn string) {
	p.heard.send(signals.PreviewTopic, signals.Preview{Turn: turn, Channel: "tg", To: to("a"), Decided: true})
}
