package pigeontest_test

import (
	"context"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/pigeontest"
)

// fixture is the network as the suite of adapters sees it.
type fixture struct {
	*pigeontest.Loft
	clock channeltest.Clock
}

func (r *fixture) Open(testing.TB) channels.Channel {
	return r.Loft.Open("pp", channels.NopObserver{}, r.clock.Now)
}

func (r *fixture) Say(_ testing.TB, name, text string) { r.Loft.Say(r.Direct(name), name, text) }

func (r *fixture) SayPicture(_ testing.TB, name, text string, data []byte) {
	r.Loft.SayPicture(name, text, data)
}

func (r *fixture) SayUnreadable(testing.TB)                    { r.Loft.SayUnreadable("Ann") }
func (r *fixture) LimitNext(_ testing.TB, d time.Duration)     { r.Loft.LimitNext(d) }
func (r *fixture) LimitNextEdit(t testing.TB, _ time.Duration) { t.Fatal("a letter is not edited") }
func (r *fixture) LoseNextAnswer(t testing.TB)                 { t.Fatal("no answer is lost") }
func (r *fixture) Attempts() int                               { return r.Calls() }
func (r *fixture) Advance(d time.Duration)                     { r.clock.Advance(d) }

func (r *fixture) AwaitAcknowledged(ctx context.Context, n int) error {
	return r.Loft.AwaitAcknowledged(ctx, n)
}

func (r *fixture) Sent() (texts []string) {
	for _, s := range r.Loft.Sent() {
		texts = append(texts, s.Text)
	}
	return texts
}

// The one that is there for tests keeps to what every network's adapter keeps to.
func TestConformance(t *testing.T) { // the suite counts goroutines
	channeltest.Run(t, channeltest.Features{}, func(testing.TB) channeltest.Harness { return &fixture{Loft: pigeontest.New("p1")} })
}
