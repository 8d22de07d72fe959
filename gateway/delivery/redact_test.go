package delivery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/delivery"
	"parley/gateway/redaction"
	"parley/gateway/signals"
	"parley/sessions"
)

// abuse L2: an endpoint that echoes its key had it posted. No piece of it is shown by
// a preview that ends within it, nor over the cut between two messages.
func TestNeitherAPreviewNorAnAnswerShowsASecret(t *testing.T) {
	t.Parallel()
	const secret = "canary-0123456789"
	r := newRig(t)
	p := r.start(func(o *delivery.Options) { o.Redactor = redaction.New(secret) })
	r.begin("a", "t1")
	for i, text := range []string{"it is", "it is " + secret[:9], "it is " + secret + " and"} {
		p.show("a", "t1", text)
		r.await("a preview", func() bool { return len(r.net.log()) == i+1 })
	}
	r.answer(p, "a", "t1", "it is "+secret+" and\nso on "+secret)
	r.wantCalls("send a it is", "edit a it is in id1", "edit a it is [redacted] and in id1", "edit a it is [redacted] and in id1", "send a so on [redacted]")
	if said := strings.Join(r.net.log(), "\n"); strings.Contains(said, "canary") {
		t.Errorf("the network got %q", said)
	}
}

// The words of an earlier step that stay as a message of their own are shown without secrets.
func TestTheWordsOfAnEarlierStepShowNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "canary-0123456789"
	r := newRig(t)
	p := r.start(streams(r.net), func(o *delivery.Options) { o.Redactor = redaction.New(secret) })
	r.begin("a", "t1")
	for step, calls := range []int{1, 3} {
		p.heard.send(signals.PreviewTopic, signals.Preview{Turn: "t1", Channel: "tg", To: to("a"), Step: step + 1, Text: "so", Before: "it is " + secret, BeforeStep: 1})
		r.await("a preview", func() bool { return len(r.net.log()) == calls })
	}
	r.answer(p, "a", "t1", "so.")
	r.wantCalls("send a so", "break a it is [redacted] in id1", "send a so", "edit a so. in id2")
}

// A file is called what its agent calls it, without secrets.
func TestTheNameOfAFileShowsNoSecret(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(func(o *delivery.Options) { o.Redactor = redaction.New("canary-0123456789") })
	r.send("a", "the canary-0123456789.pdf", "PDF")
	r.await("the file", func() bool { return len(r.net.log()) == 1 })
	r.wantCalls("file a the [redacted].pdf=PDF")
}

// labels is a network whose messages show what stands on their buttons.
type labels struct{ streamer }

func (l labels) Send(ctx context.Context, m channels.Reply) (channels.Receipt, error) {
	for _, c := range m.Body.Choices {
		m.Body.Text += fmt.Sprintf(" [%s: %s]", c.Label, c.Says)
	}
	return l.net.Send(ctx, m)
}

// Buttons may have the words of a program or of a server; what they say is ours.
func TestAButtonShowsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "canary-0123456789"
	r := newRig(t)
	p := r.start(func(o *delivery.Options) {
		o.Redactor, o.Channels = redaction.New(secret), []channels.Channel{labels{streamer{r.net}}}
	})
	_, err := r.store.Notice(t.Context(), sessions.InboxID{Channel: "telegram", Event: "q1"}, []sessions.Outgoing{{
		ID: "q1", Channel: "tg", To: to("a"), Text: "Which?", At: time.Now(),
		Choices: []sessions.Choice{{Label: "use " + secret, Says: "/answer 7K3MD 1"}, {Label: "none", Says: "/answer 7K3MD 2"}},
	}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	p.wake()
	r.delivered()
	r.wantCalls("send a Which? [use [redacted]: /answer 7K3MD 1] [none: /answer 7K3MD 2]")
}
