package tracing_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/tracing"
	"parley/gateway/tracing/tracingtest"
	"parley/sessionkeys"
	"parley/sessions"
)

// queue is a log that takes everything.
type queue struct{ err error }

func (q queue) Publish(context.Context, broker.Envelope) (uint64, error) { return 7, q.err }

var errQueue = errors.New("no room")

func TestAccept(t *testing.T) {
	t.Parallel()
	message := channels.Message{Kind: channels.Edited, Channel: "tg", Address: sessionkeys.Address{Kind: sessionkeys.Group}}
	for name, c := range map[string]struct {
		accept func(r *rig, ctx context.Context) error
		want   string
		took   time.Duration
	}{
		"an event that is queued": {
			func(r *rig, ctx context.Context) error {
				time.Sleep(time.Second)
				_, err := r.Publish(ctx, "intake", queue{}, broker.Envelope{})
				return err
			},
			"receive tg (consumer) parley.chat=group parley.event.kind=edited\n", 3 * time.Second,
		},
		"an event that fails behind that": {
			func(r *rig, ctx context.Context) error {
				_, _ = r.Publish(ctx, "intake", queue{}, broker.Envelope{})
				return errQueue
			},
			"receive tg (consumer) failed parley.chat=group parley.event.kind=edited\n", 2 * time.Second,
		},
		"an event that is not queued": {
			func(r *rig, ctx context.Context) error {
				_, err := r.Publish(ctx, "intake", queue{errQueue}, broker.Envelope{})
				return err
			},
			"", 0,
		},
		"an event of which nothing is made": {func(*rig, context.Context) error { return nil }, "", 0},
		"what no network brought": {
			func(r *rig, _ context.Context) error {
				_, err := r.Publish(context.Background(), "schedule", queue{}, broker.Envelope{})
				return err
			},
			"queue message (producer) parley.origin=schedule\n", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				r := run(t, s)
				m := message
				m.ReceivedAt = time.Now()
				time.Sleep(2 * time.Second) // it waited in the adapter
				_ = r.Accept(func(ctx context.Context, _ channels.Message) error { return c.accept(r, ctx) })(t.Context(), m)
				r.stop()
				spans := s.Spans()
				if got := tracingtest.Tree(spans, "parley.chat", "parley.event.kind", "parley.origin"); got != c.want {
					t.Fatalf("the trace is %q, not %q", got, c.want)
				}
				if len(spans) > 0 && (spans[0].Ended.Sub(spans[0].Began) != c.took || spans[0].Trace != turnID[2:]) {
					t.Errorf("it took %s, in the trace %s", spans[0].Ended.Sub(spans[0].Began), spans[0].Trace)
				}
			})
		})
	}
}

// A trace that is not sampled has no span in any part; and one that is has all.
func TestSampling(t *testing.T) {
	t.Parallel()
	// The part of the turn's id that decides is 0x444cd55de66ef77f, 0.53 of what there is.
	for share, spans := range map[float64]int{0.5: 0, 0.6: 5} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			r := run(t, s, func(c *tracing.Config) { c.Sampling = share })
			publish := func(ctx context.Context, _ channels.Message) error {
				_, err := r.Publish(ctx, "intake", queue{}, broker.Envelope{})
				return err
			}
			_ = r.Accept(publish)(t.Context(), channels.Message{Channel: "tg"})
			_ = publish(t.Context(), channels.Message{})
			if u := r.Begin(tracing.Take{Turn: sessions.Turn{ID: turnID}}); u != nil {
				u.End(agent.Outcome{}, 0, nil)
			}
			r.Titled(turnID, agent.CallReport{Entry: costs.Entry{}})
			r.add(1)
			r.stop()
			if n := len(s.Spans()); n != spans {
				t.Errorf("with a share of %v there are %d spans, not %d:\n%s", share, n, spans, tracingtest.Tree(s.Spans()))
			}
		})
	}
}
