package worker

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/intake"
	"parley/llm"
	"parley/sessionkeys"
	"parley/sessions"
)

// PreviewTopic is the topic of PreviewSignal.
const PreviewTopic = "preview"

// PreviewSignal shows what a running turn does, in the chat it answers: that
// the bot is typing (Text empty), or the answer so far. It may be lost; the
// answer itself never travels this way.
type PreviewSignal struct {
	Turn    string              `json:"turn"`
	Channel string              `json:"channel"`
	To      sessionkeys.Address `json:"to"`
	ReplyTo string              `json:"reply_to,omitempty"`
	Text    string              `json:"text,omitempty"`
	Asked   time.Time           `json:"asked"` // when the turn's message was received
}

// How a running turn shows itself. A quick answer is simply sent: neither a
// sign nor a preview comes before it.
const (
	typingAfter  = 300 * time.Millisecond
	typingEvery  = 4 * time.Second
	previewAfter = time.Second // after the first word
	previewEvery = time.Second
	controlEvery = 2 * time.Second // a lost signal to stop costs this much
)

// show is what people see of a turn while it runs; it also notices that
// somebody said stop.
type show struct {
	a      *actor
	t      sessions.Turn
	cancel context.CancelCauseFunc
	fresh  chan struct{} // there is text to show

	mu   sync.Mutex
	step int
	text strings.Builder // the words of this step so far
}

func newShow(a *actor, t sessions.Turn, cancel context.CancelCauseFunc) *show {
	return &show{a: a, t: t, cancel: cancel, fresh: make(chan struct{}, 1)}
}

// see takes the loop's events, for metrics and for the preview.
func (s *show) see(e agent.Event) {
	o := s.a.w.Observer
	switch e.Type {
	case agent.ModelCalled:
		o.ModelCalled(*e.Call)
	case agent.Retrying:
		if le, ok := errors.AsType[*llm.Error](e.Err); ok {
			o.ModelRetried(costs.Labels{Provider: le.Provider, Model: le.Model}, le.Kind)
		}
	case agent.ToolResulted:
		o.ToolCalled(e.Tool, costs.RootTurn, e.Status, e.Took)
	case agent.TextDelta:
		s.add(e)
	}
}

func (s *show) add(e agent.Event) {
	s.mu.Lock()
	if e.Step != s.step {
		s.step = e.Step
		s.text.Reset()
	}
	s.text.WriteString(e.Text)
	s.mu.Unlock()
	select {
	case s.fresh <- struct{}{}:
	default:
	}
}

// run shows the turn until ctx ends.
func (s *show) run(ctx context.Context) {
	typing := time.NewTimer(typingAfter)
	defer typing.Stop()
	control := time.NewTicker(controlEvery)
	defer control.Stop()
	var preview <-chan time.Time
	shown := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.a.poked:
			s.lookForStop(ctx)
		case <-control.C:
			s.lookForStop(ctx)
		case <-typing.C:
			s.send("")
			typing.Reset(typingEvery)
		case <-s.fresh:
			if preview == nil {
				preview = time.After(previewAfter)
			}
		case <-preview:
			s.mu.Lock()
			text := s.text.String()
			s.mu.Unlock()
			if strings.TrimSpace(text) != "" && text != shown {
				s.send(text)
				shown = text
				typing.Reset(typingEvery)
			}
			preview = time.After(previewEvery)
		}
	}
}

func (s *show) send(text string) {
	s.a.w.signal(PreviewTopic, PreviewSignal{
		Turn: s.t.ID, Channel: s.t.Channel, To: s.t.From, ReplyTo: s.t.ReplyTo, Text: text, Asked: s.t.ReceivedAt,
	})
}

func (s *show) lookForStop(ctx context.Context) {
	cs, err := s.a.w.Store.Controls(ctx, s.a.token)
	if err != nil {
		if ctx.Err() == nil {
			s.a.w.Logger.Warn("reading control requests", "error", err)
		}
		return
	}
	if len(cs) > 0 {
		s.cancel(agent.ErrStopped)
	}
}

func (w *Worker) signalOutbox(channel string) {
	w.signal(intake.OutboxTopic, intake.OutboxSignal{Channel: channel})
}
