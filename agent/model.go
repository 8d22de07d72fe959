package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/faultpoint"
	"parley/llm"
	"parley/transcript"
)

// attempt is one try of one model call, made and not yet booked.
type attempt struct {
	settlement costs.Settlement
	response   *llm.Response // nil: it failed
	err        *llm.Error
	took       time.Duration
	firstToken time.Duration
}

// answered is how a model call ended: with an answer, without one (err says
// why: an *llm.Error, a *costs.BudgetError, or the cause of ctx), and with the
// last attempt, where one is still to be booked.
type answered struct {
	*attempt
	err error
}

// Sent is what of a history a model is sent: messages of one role in a row are
// one, and each call has its result.
func Sent(history []transcript.Message) []transcript.Message {
	return transcript.Repair(transcript.Merge(unspoken(history)), resultMissing)
}

// unspoken is the history without what is to be heard: its words stand by themselves.
func unspoken(history []transcript.Message) []transcript.Message {
	isSound := func(p transcript.Part) bool {
		b, ok := p.(transcript.Binary)
		return ok && b.Sound != nil
	}
	cloned := false
	for i, m := range history {
		if !slices.ContainsFunc(m.Parts, isSound) {
			continue
		}
		if !cloned {
			history, cloned = slices.Clone(history), true
		}
		history[i].Parts = slices.DeleteFunc(slices.Clone(m.Parts), isSound)
	}
	return history
}

// request is what is sent for the next step of the turn. tail is of this call
// alone and not stored.
func (r *asking) request(history []transcript.Message, tail ...transcript.Message) llm.Request {
	info, most := llm.Lookup(r.t.Model.Name()), r.t.MaxTokens
	if most <= 0 {
		most = info.MaxOutput
	}
	return llm.Request{
		System:    r.t.System,
		Messages:  r.show(Sent(append(slices.Clip(history), tail...))),
		Tools:     r.t.Tools.Definitions(),
		MaxTokens: most,
		Picture:   info.Picture,
		CacheKey:  r.t.Session.MailboxToken(),
	}
}

// ask makes one model call with as many attempts as the rule allows. All of
// them but the last are booked; the last is booked by the caller together with
// what follows from it. req was made of the first upto messages of the history
// and tail. The error is the journal's. Before what has no tail a new message
// may come: then the answer's err is errInterrupted.
func (r *asking) ask(ctx context.Context, req llm.Request, upto int, tail ...transcript.Message) (answered, error) {
	yields := len(tail) == 0
	began := r.Now()
	what := r.asked(req, upto, tail)
	for {
		if yields && r.interrupted() {
			return answered{err: errInterrupted}, nil
		}
		a, err := r.attempt(ctx, req, what, yields)
		if budget, ok := errors.AsType[*costs.BudgetError](err); ok {
			return answered{err: budget}, nil
		}
		if err != nil {
			return answered{}, err
		}
		if a.response != nil {
			return answered{attempt: a}, nil
		}
		if over(ctx) {
			return answered{a, context.Cause(ctx)}, nil
		}
		if yields && r.cut {
			return answered{a, errInterrupted}, nil
		}
		pause, again := r.retry(a.err, r.Now().Sub(began))
		if !again {
			return answered{a, a.err}, nil
		}
		if err := r.settle(ctx, a); err != nil {
			return answered{}, err
		}
		r.report(a)
		r.emit(Event{Type: Retrying, Step: r.steps + 1, Wait: pause, Err: a.err})
		if r.Wait(ctx, pause) != nil && over(ctx) {
			return answered{err: context.Cause(ctx)}, nil
		}
	}
}

func (r *take) retry(err *llm.Error, elapsed time.Duration) (time.Duration, bool) {
	if r.Retry == nil || err.Visible {
		return 0, false
	}
	return r.Retry.Next(r.tries-r.gone, elapsed, err)
}

// attempt reserves the worst case, streams, and makes the entry. Its error is
// what Reserve returned.
func (r *asking) attempt(ctx context.Context, req llm.Request, what transcript.Asked, yields bool) (*attempt, error) {
	r.prices = r.Prices
	if p, ok := r.Prices.(interface{ Snapshot() Prices }); ok {
		r.prices = p.Snapshot()
	}
	commit, done := r.commit(ctx)
	defer done()
	res, req, err := r.reserve(commit, req, what)
	if err != nil {
		return nil, err
	}
	faultpoint.Hit("agent.reserve.after")
	r.tries++
	streaming, stop := ctx, func() {}
	if yields {
		streaming, stop = r.interruptible(ctx)
	}
	defer stop()
	a, received := r.stream(streaming, req)
	stop()
	a.settlement = costs.Settlement{Reservation: res, Entry: r.entry(res, req, a, received)}
	r.cost += a.settlement.Entry.Amount
	r.priced = r.priced && a.settlement.Entry.Priced
	return a, nil
}

// asked is req as it is kept: made of the first upto messages of the history,
// and tail.
func (r *asking) asked(req llm.Request, upto int, tail []transcript.Message) transcript.Asked {
	f := llm.FrameOf(r.t.Model, req)
	name := f.Name()
	return transcript.Asked{
		Frame: name, Body: f.MarshalJSON, Upto: upto, Tail: tail, Digest: llm.Digest(name, req.Messages),
	}
}

// stream makes the one HTTP request and hands the pieces on as they come. The
// bytes it counts are what an answer that is cut off is billed by.
func (r *asking) stream(ctx context.Context, req llm.Request) (a *attempt, received int) {
	a = &attempt{}
	began := r.Now()
	defer func() { a.took = r.Now().Sub(began) }()
	for ev, err := range r.t.Model.Stream(ctx, req) {
		if err != nil {
			a.err = r.failure(err, received)
			return a, max(received, a.err.Received)
		}
		if ev.Type == llm.Complete && ev.Response != nil {
			a.response = ev.Response
			return a, received
		}
		n := r.piece(ev)
		faultpoint.HitOn("agent.delta", ev.Text)
		if received == 0 && n > 0 {
			a.firstToken = max(r.Now().Sub(began), 1)
		}
		received += n
	}
	a.err = r.failure(errors.New("the stream ended without an end"), received)
	a.err.Sent = true // who breaks this rule may have broken others
	return a, received
}

// piece forwards one event and says how many bytes of an answer it held.
func (r *asking) piece(ev llm.Event) int {
	step := r.steps + 1
	switch ev.Type {
	case llm.ContentDelta:
		r.emit(Event{Type: TextDelta, Step: step, Text: ev.Text})
	case llm.ThinkingDelta:
		r.emit(Event{Type: ReasoningDelta, Step: step, Text: ev.Text})
	case llm.ToolUseDelta:
	case llm.ToolUseStart:
		if ev.ToolCall != nil {
			return len(ev.ToolCall.Name)
		}
	case llm.Warning:
		r.log.Warn("model", "turn", r.t.ID, "session", string(r.t.Session), "warning", ev.Text)
		return 0
	default:
		return 0
	}
	return len(ev.Text)
}

// failure is err as the *llm.Error that every model promises, and knows what
// was seen of the answer.
func (r *take) failure(err error, received int) *llm.Error {
	e, ok := errors.AsType[*llm.Error](err)
	if ok {
		c := *e
		e = &c
	} else {
		e = &llm.Error{Kind: llm.Other, Provider: r.t.Model.Provider(), Model: r.t.Model.Name(), Err: err}
	}
	e.Received = max(e.Received, received)
	if received > 0 {
		e.Sent, e.Visible = true, true
	}
	return e
}

// settle books an attempt by itself.
func (r *take) settle(ctx context.Context, a *attempt, ms ...transcript.Message) error {
	commit, done := r.commit(ctx)
	defer done()
	if err := r.Journal.Settle(commit, a.settlement, ms...); err != nil {
		return fmt.Errorf("book model call: %w", err)
	}
	return nil
}

// report tells what an attempt was, after it was booked.
func (r *take) report(a *attempt) {
	r.emit(Event{Type: ModelCalled, Step: a.settlement.Entry.Call.Step, Err: asError(a.err), Call: &CallReport{
		Entry: a.settlement.Entry, Took: a.took, FirstToken: a.firstToken, Err: a.err,
	}})
}

// announce tells what an answer held. Text that is the end of the turn is left
// to FinalResponse. (B09)
func (r *take) announce(a *attempt, final bool) {
	if a.response != nil {
		step := a.settlement.Entry.Call.Step
		if thought := thinking(a.response.Message); thought != "" {
			r.emit(Event{Type: Reasoning, Step: step, Text: thought})
		}
		if words := a.response.Message.Words(); words != "" && !final {
			r.emit(Event{Type: TextDone, Step: step, Text: words})
		}
	}
	r.report(a)
}

func thinking(m transcript.Message) string {
	var all []string
	for _, p := range m.Parts {
		if t, ok := p.(transcript.Reasoning); ok && t.Thinking != "" {
			all = append(all, t.Thinking)
		}
	}
	return strings.Join(all, "\n")
}

// asError keeps a nil *llm.Error a nil error.
func asError(e *llm.Error) error {
	if e == nil {
		return nil
	}
	return e
}
