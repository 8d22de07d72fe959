package worker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/activity"
	"parley/gateway/goals"
	"parley/gateway/signals"
	"parley/sessions"
	"parley/wake"
)

// How a running turn shows itself. A quick answer is simply sent: neither a
// sign nor a preview comes before it.
const (
	typingAfter  = 300 * time.Millisecond
	typingEvery  = 4 * time.Second
	previewAfter = time.Second // after the first word
	previewEvery = time.Second
	controlEvery = 2 * time.Second // a lost signal to stop costs this much
)

// progress is what people see of a turn while it runs; it also notices that
// a person said stop.
type progress struct {
	a        *actor
	t        sessions.Turn
	fence    sessions.Fence
	cancel   context.CancelCauseFunc
	steering *steering   // nil: nothing joins the turn
	fresh    wake.Signal // there is text to show
	watch    TurnWatcher // nil: nobody sees the events

	mu         sync.Mutex
	step       int
	text       strings.Builder // the words of this step so far
	before     string          // all words of an earlier step
	beforeStep int             // which one
	seq        uint64          // of the newest event of the turn's own

	feed *activity.Feed // what the turn does
}

func newProgress(a *actor, j *journal, cancel context.CancelCauseFunc, by *steering) *progress {
	level := a.settings.Activity[j.t.Channel].Defaults().In(j.t.From.Kind)
	return &progress{
		a: a, t: j.t, fence: j.Fence, cancel: cancel, steering: by, fresh: wake.New(), feed: activity.New(level, a.settings.Loop.Redact),
	}
}

// observe takes the loop's events, for metrics and for the preview.
func (s *progress) observe(e agent.Event) {
	agent.Measure(s.a.w.Observer, costs.RootTurn, e)
	switch e.Type {
	case agent.TextDelta:
		s.appendText(e)
	case agent.Interrupted:
		s.mu.Lock()
		s.text.Reset()
		s.mu.Unlock()
	default:
	}
	s.observeActivity(e)
}

// observeActivity takes events of the turn and of those below it, from several goroutines,
// for the chat and for who listens elsewhere.
func (s *progress) observeActivity(e agent.Event) {
	if s.watch != nil {
		s.watch.Observe(e)
	}
	if e.Depth == 0 {
		s.mu.Lock()
		s.seq = e.Seq
		s.mu.Unlock()
	}
	if published, ok := activity.EventOf(e); ok {
		s.a.w.signal(signals.EventTopic, published)
	}
	if s.feed.Observe(e) {
		s.fresh.Send()
	}
}

// tellGoal tells who listens that the turn, which is over, has reached the goal. (requirements AD03)
func (s *progress) tellGoal(goal string) {
	s.mu.Lock()
	seq := s.seq + 1
	s.mu.Unlock()
	s.observeActivity(agent.Event{
		Seq: seq, At: s.a.w.Now(), Turn: s.t.ID, Root: s.t.ID, Session: s.t.Session, Key: s.a.m.Key,
		Type: agent.GoalCompleted, Text: goal, Status: goals.ByPhrase,
	})
}

func (s *progress) appendText(e agent.Event) {
	s.mu.Lock()
	if e.Step != s.step {
		if s.text.Len() > 0 {
			s.before, s.beforeStep = s.text.String(), s.step
		}
		s.step = e.Step
		s.text.Reset()
	}
	s.text.WriteString(e.Text)
	s.mu.Unlock()
	s.fresh.Send()
}

// run shows the turn until ctx ends.
func (s *progress) run(ctx context.Context) {
	typing := time.NewTimer(typingAfter)
	defer typing.Stop()
	running, _ := s.a.w.slots.count()
	control := time.NewTicker(controlEvery * time.Duration(1+running/manyAtOnce))
	defer control.Stop()
	var preview <-chan time.Time
	var shown signals.Preview
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.a.woken:
			s.pollStore(ctx)
		case <-s.a.news:
			s.steering.checkInterrupt(ctx)
		case <-control.C:
			s.pollStore(ctx)
			s.steering.checkInterrupt(ctx)
		case <-typing.C:
			s.send(signals.Preview{})
			typing.Reset(typingEvery)
		case <-s.fresh:
			if preview == nil {
				preview = time.After(previewAfter)
			}
		case <-preview:
			if p := s.preview(); p.Shows() && p != shown {
				s.send(p)
				shown = p
				typing.Reset(typingEvery)
			}
			preview = time.After(previewEvery)
		}
	}
}

// preview returns what there is to show.
func (s *progress) preview() signals.Preview {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	if strings.TrimSpace(text) == "" {
		text = ""
	}
	return signals.Preview{
		Step: s.step, Text: text, Before: s.before, BeforeStep: s.beforeStep, Activity: s.feed.Text(), Status: s.feed.Line(),
	}
}

func (s *progress) send(p signals.Preview) {
	if p.Shows() && s.t.Seq <= s.a.w.AmbiguousThrough {
		return // a preview cannot say that it may be a repeat
	}
	s.signal(p)
}

// end announces that nothing follows the words that were shown.
func (s *progress) end() { s.signal(signals.Preview{Over: true, Text: s.preview().Text}) }

func (s *progress) signal(p signals.Preview) {
	p.Turn, p.Channel, p.To, p.ReplyTo, p.AskedAt = s.t.ID, s.t.Channel, s.t.From, s.t.ReplyTo, s.t.ReceivedAt
	s.a.w.signal(signals.PreviewTopic, p)
}

// errLost ends the turn of a worker that was paused for longer than its lease,
// and finds that another has its mailbox.
var errLost = fmt.Errorf("%w: %w", agent.ErrHandover, sessions.ErrFenced)

// pollStore finds in the store what no signal may have told: a request to stop,
// messages, and that another worker has the mailbox.
func (s *progress) pollStore(ctx context.Context) {
	if !s.a.awaitDurable(ctx) {
		return
	}
	m, err := s.a.w.Store.Mailbox(ctx, s.a.token)
	switch {
	case err != nil && ctx.Err() == nil:
		s.a.w.Logger.Warn("mailbox lookup failed during a turn", "session", s.t.Session, "turn", s.t.ID, "error", err)
	case err != nil:
	case m.Fence() != s.fence:
		s.cancel(errLost)
	case m.Controls > 0:
		s.cancel(agent.ErrStopped)
	default:
		s.a.raiseLastSeen(m.LastSeen)
	}
}

func (w *Worker) signalOutbox(channel string) {
	w.signal(signals.OutboxTopic, signals.Outbox{Channel: channel})
}
