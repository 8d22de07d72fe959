package ops

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/gateway/outcomes"
	"parley/transcript"
)

// turns counts turns: those that run and wait, and how they ended.
type turns struct {
	channels                                  channelSet
	hash                                      hasher // of sessions, in exemplars
	recent                                    *recorder
	ended                                     *prometheus.CounterVec
	inFlight, waiting                         *prometheus.GaugeVec
	queueWait, turnTook, firstReply, turnCost *prometheus.HistogramVec
}

func newTurns(f factory, channels channelSet, recent *recorder) *turns {
	t := &turns{channels: channels, hash: newHasher(), recent: recent}
	t.queueWait = f.histogram("queue_wait_seconds", "From receipt to start of the turn.", stepBuckets, "channel")
	t.ended = f.counter("turns_total", "Turns finished.", "channel", "chat", "outcome")
	t.inFlight = f.gauge("turns_in_flight", "Turns being processed.", "channel")
	t.waiting = f.gauge("turns_waiting_for_person", "Turns that wait until other turns of the same person have ended.", "channel")
	t.turnTook = f.histogram("turn_duration_seconds", "From start of the turn to its end; sending the reply is not included.", secondsBuckets, "channel", "chat")
	t.firstReply = f.histogram("turn_first_reply_seconds", "From receipt to the first reply the user can see.", secondsBuckets, "channel", "chat")
	t.turnCost = f.histogram("turn_cost_usd", "Cost of a whole turn, sub-agents included; calls without a known price are not, and after a takeover calls of the earlier process only where a budget holds for one turn.", dollarBuckets, "channel", "chat")
	for c := range channels {
		t.inFlight.WithLabelValues(c)
		t.waiting.WithLabelValues(c)
		t.queueWait.WithLabelValues(c)
		for _, k := range chatKinds {
			t.turnTook.WithLabelValues(c, k)
			t.firstReply.WithLabelValues(c, k)
			t.turnCost.WithLabelValues(c, k)
			for _, o := range []string{"ok", "error", "cancelled", "timeout", "budget"} {
				t.ended.WithLabelValues(c, k, o)
			}
		}
	}
	return t
}

// FirstReply notes when a person first saw something of an answer.
func (t *turns) FirstReply(channel string, dm bool, took time.Duration) {
	t.firstReply.WithLabelValues(t.channels.label(channel), chatLabel(dm)).Observe(took.Seconds())
}

// TurnStarted notes how long a message waited.
func (t *turns) TurnStarted(channel string, waited time.Duration) {
	t.queueWait.WithLabelValues(t.channels.label(channel)).Observe(max(waited, 0).Seconds())
}

// TurnRunning counts turns that run now.
func (t *turns) TurnRunning(channel string, delta int) {
	t.inFlight.WithLabelValues(t.channels.label(channel)).Add(float64(delta))
}

// TurnWaiting counts turns that wait for other turns of their own person.
func (t *turns) TurnWaiting(channel string, delta int) {
	t.waiting.WithLabelValues(t.channels.label(channel)).Add(float64(delta))
}

// TurnEnded counts a finished turn.
func (t *turns) TurnEnded(e outcomes.Turn) {
	channel, c := t.channels.label(e.Channel), chatLabel(e.DM)
	outcome := turnOutcome(e)
	t.recent.recordTurn(e, outcome)
	t.ended.WithLabelValues(channel, c, outcome).Inc()
	t.observe(t.turnTook.WithLabelValues(channel, c), e.Took.Seconds(), e.Turn, e.Session)
	t.observe(t.turnCost.WithLabelValues(channel, c), e.Cost.Dollars(), e.Turn, e.Session)
}

func turnOutcome(t outcomes.Turn) string {
	switch {
	case t.TimedOut:
		return "timeout"
	case t.Outcome == transcript.Canceled, t.Outcome == transcript.PermissionDenied:
		return "cancelled"
	case t.Outcome == transcript.Budget:
		return "budget"
	case t.Outcome == transcript.Failed, t.Outcome == transcript.ContextLimit:
		return "error"
	}
	return "ok"
}
