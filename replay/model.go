package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/messages"
	"parley/llm"
	"parley/sessions"
	"parley/transcript"
)

// model gives the recorded answers.
type model struct {
	s              *player
	provider, name string
}

var _ llm.Model = (*model)(nil)

func (m *model) Provider() string { return m.provider }
func (m *model) Name() string     { return m.name }

// errAgain marks a failed call that was tried again.
var errAgain = errors.New("call was retried")

// recordedRetry tries again what was tried again.
type recordedRetry struct{}

func (recordedRetry) Next(_ int, _ time.Duration, err error) (time.Duration, bool) {
	return 0, errors.Is(err, errAgain)
}

// Stream implements [llm.Model]: it holds what is asked to what was asked, and
// answers as it was answered.
func (m *model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		id, ok := m.s.pendingCall(r.CacheKey)
		if !ok {
			yield(llm.Event{}, m.newError(llm.Other, "call without a reservation"))
			return
		}
		q := m.s.script.requests[id]
		if q == nil {
			yield(llm.Event{}, m.newError(llm.Other, "the recording has no answer to this request"))
			return
		}
		f, was, err := m.s.script.rebuildRequest(q)
		if err != nil {
			yield(llm.Event{}, m.newError(llm.Other, err.Error()))
			return
		}
		m.s.compareRequests(q, f, was, llm.TemplateOf(m, r), r)
		m.answer(ctx, id, yield)
	}
}

func (m *model) newError(k llm.Kind, why string) *llm.Error {
	return &llm.Error{Kind: k, Provider: m.provider, Model: m.name, Message: why, Sent: true, Usage: &costs.Usage{Source: costs.Reported}}
}

func (m *model) answer(ctx context.Context, id string, yield func(llm.Event, error) bool) {
	s := m.s
	e, booked := s.script.r.Costs[id]
	c, _ := costs.ParseCallID(id)
	if !booked { // it was under way at the export
		s.markEnded(c.Turn)
		<-ctx.Done()
		yield(llm.Event{}, m.newError(llm.Canceled, "recording ends here"))
		return
	}
	if b := s.script.interruptedBy[id]; b != nil {
		s.markWaiting(id)
		<-ctx.Done()
		yield(llm.Event{}, m.recordedError(e, false))
		return
	}
	s.advanceClock(e.At)
	s.feedFor(ctx, s.script.joins.next[id])
	said, answered := s.script.messages[transcript.MessageID{Turn: c.Turn, Kind: transcript.Answer, Step: c.Step}.String()]
	if c.Purpose == costs.Summary && e.Outcome == outcomeOK {
		said, answered = s.script.summaryOf(c), true
	}
	half := answered && isHalf(said) && !s.script.wasRetried(id)
	if half && !yield(llm.Event{Type: llm.ContentDelta, Text: said.Text()}, nil) {
		return
	}
	switch {
	case e.Outcome != outcomeOK && e.Outcome == string(llm.Canceled):
		s.cancel(ctx, c.Turn)
		yield(llm.Event{}, m.recordedError(e, false))
	case e.Outcome != outcomeOK:
		began := e.Usage.Source == costs.Estimated && e.Usage.Output > 0
		if !half && began && !yield(llm.Event{Type: llm.ThinkingDelta, Text: "…"}, nil) { // none of its words were kept
			return
		}
		err := m.recordedError(e, s.script.wasRetried(id))
		switch {
		case s.script.wasPassedOn(id):
			err.Err = nil
			if err.Kind == llm.InvalidRequest {
				err.Status = http.StatusNotFound // the only such failure that another model is asked after
			}
		case c.Purpose == costs.Summary && err.Kind == llm.Timeout:
			err.Visible = true // the turn went on without it, and no other model was asked
		}
		yield(llm.Event{}, err)
	case !answered || half: // it was stopped while the last bytes came
		s.cancel(ctx, c.Turn)
		yield(llm.Event{Type: llm.Complete, Response: &llm.Response{Usage: e.Usage, RequestID: e.RequestID}}, nil)
	default:
		yield(llm.Event{Type: llm.Complete, Response: &llm.Response{
			Message: said, Finish: finishOf(said), Usage: e.Usage, Model: said.Model, RequestID: e.RequestID,
		}}, nil)
	}
}

// recordedError returns the error by which a call ended that cost what e says.
func (m *model) recordedError(e costs.Entry, again bool) *llm.Error {
	err := &llm.Error{Kind: llm.Kind(e.Outcome), Provider: m.provider, Model: m.name, RequestID: e.RequestID, Message: "as recorded"}
	if again {
		err.Err = errAgain
	}
	free := e.State == costs.Settled && e.Amount == 0 && e.Usage.Total() == 0
	if !free {
		usage := e.Usage
		err.Sent, err.Usage = true, &usage
	}
	return err
}

// isHalf reports whether m is what was kept of an answer that did not come to its end.
func isHalf(m transcript.Message) bool {
	return slices.Contains([]transcript.FinishReason{transcript.Canceled, transcript.TimedOut, transcript.Failed}, m.Finish().Reason)
}

func finishOf(m transcript.Message) transcript.FinishReason {
	for _, p := range m.Parts {
		if f, ok := p.(transcript.Finish); ok {
			return f.Reason
		}
	}
	return transcript.EndTurn
}

// cancel ends the tree of a turn as it was ended: because somebody said stop, or
// because it took too long. It returns when ctx has ended.
func (s *player) cancel(ctx context.Context, turn string) {
	root := s.rootOf(turn)
	if root == nil {
		return
	}
	if d := s.script.stops[root.ID]; d != nil {
		s.requestStop(ctx, root, d)
	} else {
		cause := agent.ErrStopped
		if s.script.answers[root.ID] != nil {
			cause = agent.ErrTurnTimeout
		}
		s.busy.Cancel(root.Session, cause)
	}
	select {
	case <-ctx.Done():
	case <-time.After(patience):
	}
}

// requestStop says stop as it was said: everything up to what was in the log is to be
// dropped.
func (s *player) requestStop(ctx context.Context, root *turn, d *delivered) {
	var through uint64
	for _, e := range s.script.r.Envelopes {
		if !e.At.After(root.Ended) && e.Seq > through {
			through = e.Seq
		}
	}
	s.feedUntil(root.Ended)
	note, _ := messages.ParseID(d.ID) // script.isStop has seen it
	id := note.About
	_, err := s.o.Store.Request(context.WithoutCancel(ctx), sessions.Control{
		ID: id, Event: sessions.InboxID{Channel: "replay", Event: id}, Token: s.script.key.Token(), Key: s.script.key, Kind: "stop",
		Through: through, Channel: d.Channel, From: d.To, ReplyTo: d.ReplyTo, At: root.Ended,
	})
	if err != nil {
		s.addDifference(Turns, "turn "+root.ID, fmt.Sprintf("not stopped: %v", err))
	}
	s.signalControl(ctx)
}
