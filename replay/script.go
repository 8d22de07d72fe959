package replay

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/messages"
	"parley/gateway/recording"
	"parley/gateway/worker"
	"parley/llm"
	"parley/sessionkeys"
	"parley/transcript"
)

// script is the recording as the parts of a replay look things up in it.
type script struct {
	r             *recording.Recording
	key           sessionkeys.Key
	begins        time.Time
	turns         map[string]*recording.Turn
	roots         []*recording.Turn // of the root session, as they were opened
	requests      map[string]*recording.Request
	messages      map[string]transcript.Message // by id; ids are of one turn alone
	sessions      map[sessionkeys.SessionID]*recording.Session
	answers       map[string]*recording.Delivery
	stops         map[string]*recording.Delivery // what a turn's stop was answered with
	channels      map[string]string              // networks by the instances' names
	interruptions []*interruption
	interruptedBy map[string]*interruption // by call
	last          map[string]int           // the last step of a turn that was asked for
	joins         joinIndex
}

// interruption is a moment at which work was interrupted.
type interruption struct {
	at       time.Time
	handover bool // in order; else the process died
	calls    []string
	before   []string // what had been committed until then
}

func newScript(r *recording.Recording) (*script, error) {
	r = withToolsTriedOnce(withoutTitles(r))
	s := &script{
		r: r, turns: map[string]*recording.Turn{}, requests: map[string]*recording.Request{}, messages: map[string]transcript.Message{},
		sessions: map[sessionkeys.SessionID]*recording.Session{}, answers: map[string]*recording.Delivery{}, stops: map[string]*recording.Delivery{},
		channels: map[string]string{}, interruptedBy: map[string]*interruption{}, last: map[string]int{},
	}
	var err error
	if s.key, err = sessionkeys.Parse(r.Header.Key); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotReplayable, err)
	}
	for i := range r.Sessions {
		s.sessions[r.Sessions[i].ID] = &r.Sessions[i]
	}
	root, ok := s.sessions[r.Header.Session]
	if !ok {
		return nil, fmt.Errorf("%w: it has no root session", ErrNotReplayable)
	}
	s.begins = root.Created
	for i := range r.Turns {
		t := &r.Turns[i]
		s.turns[t.ID] = t
		if t.Session == root.ID {
			s.roots = append(s.roots, t)
		}
		s.channels[t.Channel] = t.From.Channel
	}
	if len(s.roots) == 0 {
		return nil, fmt.Errorf("%w: no turn is in it", ErrNotReplayable)
	}
	slices.SortStableFunc(s.roots, func(a, b *recording.Turn) int { return a.Opened.Compare(b.Opened) })
	for _, ms := range r.Messages {
		for _, m := range ms {
			s.messages[m.ID] = m
		}
	}
	for i := range r.Requests {
		q := &r.Requests[i]
		s.requests[q.ID] = q
		c, err := costs.ParseCallID(q.ID)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotReplayable, err)
		}
		s.last[c.Turn] = max(s.last[c.Turn], c.Step)
	}
	for i := range r.Deliveries {
		d := &r.Deliveries[i]
		s.answers[d.ID] = d
		s.channels[d.Channel] = d.To.Channel
	}
	s.findStops()
	s.findInterruptions()
	s.joins = newJoinIndex(s)
	return s, nil
}

// withoutTitles returns a recording without the calls that found titles: they ran beside the
// turns, and nothing in these depends on them. (docs/decisions/0068)
func withoutTitles(r *recording.Recording) *recording.Recording {
	c := *r
	c.Requests = slices.DeleteFunc(slices.Clone(r.Requests), func(q recording.Request) bool {
		id, err := costs.ParseCallID(q.ID)
		return err == nil && id.Purpose == costs.Title
	})
	c.Costs = maps.Clone(r.Costs)
	maps.DeleteFunc(c.Costs, func(_ string, e costs.Entry) bool { return e.Call.Purpose == costs.Title })
	return &c
}

// findStops finds what stops were answered with.
func (s *script) findStops() {
	used := map[string]bool{}
	for _, t := range s.roots {
		if t.Outcome != transcript.Canceled || s.answers[t.ID] != nil {
			continue
		}
		for _, d := range s.r.Deliveries {
			if d.Turn == "" && !used[d.ID] && !d.At.Before(t.Ended) && s.isStop(d.ID) {
				used[d.ID] = true
				s.stops[t.ID] = s.answers[d.ID]
				break
			}
		}
	}
}

// isStop reports whether an answer is that of a request which stopped a turn. Of the
// notes of a recording by an older version it is one that answers no message of the
// queue.
func (s *script) isStop(id string) bool {
	note, ok := messages.ParseID(id)
	return ok && (note.Kind == messages.Stopped || note.Kind == messages.Note && !s.isQueued(note))
}

// isQueued reports whether a note answers a message of the queue.
func (s *script) isQueued(note messages.ID) bool {
	return note.Kind == messages.Note && slices.ContainsFunc(s.r.Envelopes, func(e recording.Envelope) bool {
		return note.About == worker.TurnID(s.r.Header.Generation, s.key.Token(), e.Seq)
	})
}

// Outcomes of calls that did not end by themselves.
const (
	outcomeInterrupted = "interrupted"
	outcomeOK          = "ok"
)

// togetherWithin is how far apart the ends of calls are that one handover ended.
const togetherWithin = agent.DefaultGrace

func (s *script) findInterruptions() {
	ids := slices.Sorted(maps.Keys(s.r.Costs))
	slices.SortStableFunc(ids, func(a, b string) int { return s.r.Costs[a].At.Compare(s.r.Costs[b].At) })
	var last *interruption
	for _, id := range ids {
		e := s.r.Costs[id]
		handover := e.Outcome == string(llm.Canceled) && s.wasRetried(id)
		if !handover && e.Outcome != outcomeInterrupted || s.requests[id] == nil {
			continue
		}
		together := last != nil && last.handover == handover &&
			(e.At.Equal(last.at) || handover && e.At.Sub(last.at) < togetherWithin)
		if !together {
			last = &interruption{at: e.At, handover: handover}
			s.interruptions = append(s.interruptions, last)
		}
		last.calls = append(last.calls, id)
		s.interruptedBy[id] = last
	}
	for _, b := range s.interruptions {
		for id, e := range s.r.Costs {
			if e.At.Before(b.at) && s.requests[id] != nil {
				b.before = append(b.before, id)
			}
		}
		for id, m := range s.messages {
			if m.CreatedAt.Before(b.at) && m.Role != transcript.User {
				b.before = append(b.before, id)
			}
		}
	}
}

// wasRetried reports whether another attempt of the same step was made after the call.
func (s *script) wasRetried(id string) bool { return s.nextAttempt(id) != nil }

// wasPassedOn reports whether another model was asked after the call.
func (s *script) wasPassedOn(id string) bool {
	next, this := s.nextAttempt(id), s.requests[id]
	return next != nil && this != nil && s.modelOf(next) != s.modelOf(this)
}

// nextAttempt returns the attempt of the same step after the call; nil: there was none.
func (s *script) nextAttempt(id string) *recording.Request {
	c, err := costs.ParseCallID(id)
	if err != nil {
		return nil
	}
	c.Attempt++
	return s.requests[c.String()]
}

// firstChosen returns the model that was asked first in the root session, as provider/model,
// if people could choose it in place of the agent's own: a choice may be older than the
// session. "": it was the agent's own. Later choices are commands of the recording.
func (s *script) firstChosen() string {
	setup := s.r.Header.Setup.Agents[s.key.Agent()]
	for i := range s.r.Requests {
		q := &s.r.Requests[i]
		if c, err := costs.ParseCallID(q.ID); err != nil || q.Session != s.r.Header.Session || c.Purpose == costs.Transcription {
			continue
		}
		asked := s.modelOf(q)
		own := asked == [2]string{setup.Provider, setup.Model}
		if !own && slices.ContainsFunc(setup.Choices, func(c recording.Fallback) bool { return asked == [2]string{c.Provider, c.Model} }) {
			return asked[0] + "/" + asked[1]
		}
		break
	}
	return ""
}

// modelOf returns which model was asked, provider first.
func (s *script) modelOf(q *recording.Request) [2]string {
	f := s.r.Frames[q.Template]
	return [2]string{f.Provider, f.Model}
}

// summaryOf returns what a call for a summary was answered: the words of the overlay that the
// last attempt of its step became. Other attempts, and those that freed nothing, gave none
// that are known.
func (s *script) summaryOf(c costs.CallID) transcript.Message {
	m := transcript.Message{Role: transcript.Assistant}
	if s.nextAttempt(c.String()) != nil {
		return m
	}
	last := map[int]costs.CallID{} // attempt of each step before
	for id := range s.requests {
		if other, err := costs.ParseCallID(id); err == nil && other.Turn == c.Turn && other.Step < c.Step && other.Attempt > last[other.Step].Attempt {
			last[other.Step] = other
		}
	}
	skip := 0
	for _, l := range last {
		if l.Purpose == costs.Summary { // otherwise the step went on without one
			skip++
		}
	}
	for _, one := range s.r.Messages[s.turns[c.Turn].Session] {
		o, ok := one.Overlay()
		id, ours := transcript.ParseMessageID(one.ID)
		if !ok || !ours || id.Turn != c.Turn || o.Kind != transcript.Summarised && o.Kind != transcript.NoSummary {
			continue
		}
		if skip--; skip < 0 {
			m.Parts = []transcript.Part{transcript.Text{Text: o.Summary}}
			return m
		}
	}
	return m
}

// rebuildRequest returns what a call asked, as it is made again from the transcript.
func (s *script) rebuildRequest(q *recording.Request) (llm.RequestTemplate, llm.Request, error) {
	f := s.r.Frames[q.Template]
	tail, err := q.TailMessages()
	if err != nil {
		return f, llm.Request{}, err
	}
	history := s.r.Messages[q.Session]
	if q.Messages > len(history) {
		return f, llm.Request{}, fmt.Errorf("%w: request %s sends more messages than there are", ErrNotReplayable, q.ID)
	}
	ms := agent.RequestMessages(append(slices.Clip(history[:q.Messages]), tail...))
	return f, f.Request(ms, q.MaxTokens, q.Session.MailboxToken()), nil
}

// isReplayable reports whether an answer can be made again: those of turns, of queued
// commands and of stops.
func (s *script) isReplayable(d *recording.Delivery) bool {
	if d.Turn != "" {
		return true
	}
	if note, ok := messages.ParseID(d.ID); ok && (note.Kind == messages.GoalReached || s.isQueued(note)) {
		return true
	}
	for _, stop := range s.stops {
		if stop == d {
			return true
		}
	}
	return false
}
