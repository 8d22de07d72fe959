package delivery_test

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/delivery"
	"parley/sessions"
)

// repliesTo keeps what each message that is sent answers to.
type repliesTo struct {
	*net
	mu  sync.Mutex
	all []string
}

func (r *repliesTo) Send(ctx context.Context, m channels.Reply) (channels.Receipt, error) {
	r.mu.Lock()
	r.all = append(r.all, m.ReplyTo)
	r.mu.Unlock()
	return r.net.Send(ctx, m)
}

func (r *repliesTo) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// queueAlone puts what one person alone may see into the outbox.
func (r *fixture) queueAlone(text string, cs ...sessions.Choice) {
	r.t.Helper()
	id := rand.Text()
	_, err := r.store.Notice(r.t.Context(), sessions.InboxID{Channel: "telegram", Event: id}, []sessions.Outgoing{
		{ID: id, Channel: "tg", To: to("a"), ReplyTo: channels.PrivateReplyToPerson("7"), Text: text, At: time.Now(), Choices: cs},
	}, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
}

// What one person alone may see is sent to them in all its parts, of which only the first hangs on a
// question otherwise. A question that one person cannot be shown is no rejected answer.
func TestWhatOnePersonMaySeeIsTheirsInAllParts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := &repliesTo{net: r.net}
	p := r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{n} })
	r.queue("a", "first\nsecond")
	r.queueAlone("third\nfourth")
	p.wake()
	r.await("four messages", func() bool { return len(n.seen()) == 4 })
	alone := channels.PrivateReplyToPerson("7")
	if got := n.seen(); !slices.Equal(got, []string{"q", "", alone, alone}) {
		t.Errorf("they answer to %q", got)
	}
	r.delivered()
	r.net.script = func(int, call) error { return kind(channels.Refused) }
	r.queueAlone("May I?", sessions.Choice{Label: "Yes", Says: "/approve 1"})
	p.wake()
	r.delivered()
	if dropped, rejected := r.counted("sent dropped"), r.counted("sent rejected"); dropped != 1 || rejected != 0 {
		t.Errorf("%d dropped, %d rejected", dropped, rejected)
	}
}
