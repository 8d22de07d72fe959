package pigeontest_test

import (
	"context"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/pigeontest"
)

// rig is the network as the suite of adapters sees it.
type rig struct {
	*pigeontest.Loft
	clock channeltest.Clock
}

func (r *rig) Open(testing.TB) channels.Channel {
	return r.Loft.Open("pp", channels.Nobody{}, r.clock.Now)
}

func (r *rig) Say(_ testing.TB, name, text string) { r.Loft.Say(r.Direct(name), name, text) }

func (r *rig) SayPicture(_ testing.TB, name, text string, data []byte) {
	r.Loft.SayPicture(name, text, data)
}

func (r *rig) SayUnreadable(testing.TB)                    { r.Loft.SayUnreadable("Ann") }
func (r *rig) LimitNext(_ testing.TB, d time.Duration)     { r.Loft.LimitNext(d) }
func (r *rig) LimitNextEdit(t testing.TB, _ time.Duration) { t.Fatal("a letter is not edited") }
func (r *rig) LoseNextAnswer(t testing.TB)                 { t.Fatal("no answer is lost") }
func (r *rig) Attempts() int                               { return r.Calls() }
func (r *rig) Pass(d time.Duration)                        { r.clock.Pass(d) }

func (r *rig) AwaitAcknowledged(ctx context.Context, n int) error {
	return r.Loft.AwaitAcknowledged(ctx, n)
}

func (r *rig) Sent() (texts []string) {
	for _, s := range r.Loft.Sent() {
		texts = append(texts, s.Text)
	}
	return texts
}

// The one that is there for tests keeps to what every network's adapter keeps to.
func TestConformance(t *testing.T) { //nolint:paralleltest // the suite counts goroutines
	channeltest.Run(t, channeltest.Features{}, func(testing.TB) channeltest.Rig { return &rig{Loft: pigeontest.New("p1")} })
}
