package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/agent/pressure"
	"parley/costs"
	"parley/faultpoint"
	"parley/llm"
	"parley/transcript"
)

// attempt is one try of one model call, made and not yet booked.
type attempt struct {
	settlement costs.Settlement
	response   *llm.Response // nil: it failed
	words      string        // that were shown of it
	err        *llm.Error
	began      time.Time // zero: it is not known
	took       time.Duration
	firstToken time.Duration
}

// modelResult is how a model call ended: with an answer, without one (err says
// why: an *llm.Error, a *costs.BudgetError, or the cause of ctx), and with the
// last attempt, where one is still to be booked.
type modelResult struct {
	*attempt
	err error
}

// RequestMessages is what of a history a model is sent: its view (see [pressure.View]),
// in which results in a row are one message, and each call has its result.
func RequestMessages(history []transcript.Message) []transcript.Message {
	return transcript.Repair(transcript.Merge(withoutSound(pressure.View(history))), resultMissing)
}

// withoutSound returns the history without what is to be heard: its words stand by
// themselves.
func withoutSound(history []transcript.Message) []transcript.Message {
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

// buildRequest returns what is sent for the next step of the turn. tail is of this call
// alone and not stored.
func (r *requester) buildRequest(history []transcript.Message, tail ...transcript.Message) llm.Request {
	info, limit := r.modelInfo(), r.turn.MaxTokens
	if limit <= 0 {
		limit = info.MaxOutput
	}
	if r.gauge.Tokens > 0 { // providers refuse more than the window has left
		limit = min(limit, int(max(r.ladder.Left(r.gauge.Tokens), min(minOutput, r.ladder.Output))))
	}
	return llm.Request{
		System:    r.turn.System,
		Messages:  r.attachPictures(RequestMessages(append(slices.Clip(history), tail...))),
		Tools:     r.turn.Tools.Definitions(),
		MaxTokens: limit,
		Picture:   info.Picture,
		CacheKey:  r.turn.Session.MailboxToken(),

		Parameters: r.turn.Parameters,
	}
}

// ask makes one model call with as many attempts as the rule allows. All of
// them but the last are booked; the last is booked by the caller together with
// what follows from it. req was made of the first upto messages of the history
// and tail. The error is the journal's. Before what has no tail a new message
// may come: then the answer's err is errInterrupted. It is errNextModel when the request is
// to be made anew for another model.
func (r *requester) ask(ctx context.Context, req llm.Request, upto int, tail ...transcript.Message) (modelResult, error) {
	yields := len(tail) == 0
	began := r.Now()
	what := r.asked(req, upto, tail)
	for {
		if yields && r.isInterrupted() {
			return modelResult{err: errInterrupted}, nil
		}
		permit, err := r.Circuit.Enter(r.turn.Model, r.nextCall())
		if err != nil {
			return r.giveUp(ctx, nil, err)
		}
		a, err := r.attempt(ctx, permit, req, what, yields)
		if budget, ok := errors.AsType[*costs.BudgetError](err); ok {
			r.exceed(budget)
			return modelResult{err: budget}, nil
		}
		if err != nil {
			return modelResult{}, err
		}
		pause, again := time.Duration(0), false
		if a.err != nil && !isPictureRefused(req, a.err) {
			pause, again = r.retryCall(permit, a.err, r.Now().Sub(began))
		}
		if a.err != nil && errors.Is(a.err.Err, errPreparation) {
			permit.Leave(&llm.Error{Kind: llm.Canceled}, true) // it says nothing of the model
		} else {
			permit.Leave(a.err, !again)
		}
		switch {
		case a.response != nil:
			return modelResult{attempt: a}, nil
		case ended(ctx):
			return modelResult{a, context.Cause(ctx)}, nil
		case yields && r.interrupted:
			return modelResult{a, errInterrupted}, nil
		case !again:
			return r.giveUp(ctx, a, a.err)
		}
		if err := r.settle(ctx, a); err != nil {
			return modelResult{}, err
		}
		r.report(a)
		r.emit(Event{Type: Retrying, Step: r.steps + 1, Wait: pause, Err: a.err})
		if r.Wait(ctx, pause) != nil && ended(ctx) {
			return modelResult{err: context.Cause(ctx)}, nil
		}
	}
}

// exceed reports a call that the budgets do not allow.
func (r *take) exceed(budget *costs.BudgetError) {
	r.emit(Event{Type: BudgetExceeded, Step: r.steps + 1, Err: budget})
}

func (r *take) retry(err *llm.Error, elapsed time.Duration) (time.Duration, bool) {
	by := r.turn.Retry
	if by == nil {
		by = r.Retry
	}
	if by == nil || err.Visible {
		return 0, false
	}
	return by.Next(r.tries-r.uncounted, elapsed, err)
}

// attempt reserves the worst case, streams, and makes the entry. Its error is
// what Reserve returned. How an attempt that was made ended, the caller reports to p.
func (r *requester) attempt(ctx context.Context, p llm.Permit, req llm.Request, what transcript.RequestRecord, yields bool) (made *attempt, err error) {
	defer func() {
		if made == nil { // also when something panics
			p.Leave(&llm.Error{Kind: llm.Canceled}, false)
		}
	}()
	commit, done := r.commitContext(ctx)
	defer done()
	res, req, err := r.reserve(commit, req, what)
	if err != nil {
		return nil, err
	}
	faultpoint.Hit("agent.reserve.after")
	r.tries++
	streaming, stop := ctx, func() {}
	if yields {
		streaming, stop = r.withInterrupt(ctx)
	}
	defer stop()
	a, received := r.stream(streaming, req)
	stop()
	a.settlement = costs.Settlement{Reservation: res, Entry: r.ledgerEntry(res, req, a, received)}
	r.cost += a.settlement.Entry.Amount
	r.priced = r.priced && a.settlement.Entry.Priced
	return a, nil
}

// asked returns req as it is kept: made of the first upto messages of the history,
// and tail, which no later request has.
func (r *requester) asked(req llm.Request, upto int, tail []transcript.Message) transcript.RequestRecord {
	f := llm.TemplateOf(r.turn.Model, req)
	name := r.Names.Name(f)
	return transcript.RequestRecord{
		Template: name, Body: f.MarshalJSON, Upto: upto, Tail: tail, Digest: r.Digests.Digest(req.CacheKey, name, req.Messages, max(len(req.Messages)-len(tail), 0)),
	}
}

// stream makes the one HTTP request and hands the pieces on as they come. The
// bytes it counts are what an answer that is cut off is billed by.
func (r *requester) stream(ctx context.Context, req llm.Request) (a *attempt, received int) {
	began := r.Now()
	a = &attempt{began: began}
	var shown strings.Builder
	defer func() { a.took, a.words = r.Now().Sub(began), shown.String() }()
	ctx, alive, end := r.withGiveUp(ctx)
	defer end()
	for ev, err := range r.turn.Model.Stream(ctx, req) {
		alive()
		if err != nil {
			a.err = asTimeout(ctx, r.modelError(err, received))
			return a, max(received, a.err.Received)
		}
		if ev.Type == llm.Complete && ev.Response != nil {
			a.response = ev.Response
			return a, received
		}
		n := r.forward(ev)
		if ev.Type == llm.ContentDelta && r.purpose != costs.Summary {
			shown.WriteString(ev.Text)
		}
		faultpoint.HitOn("agent.delta", ev.Text)
		if received == 0 && n > 0 {
			a.firstToken = max(r.Now().Sub(began), 1)
		}
		received += n
	}
	a.err = r.modelError(errors.New("stream ended without its final event"), received)
	a.err.Sent = true // who breaks this rule may have broken others
	return a, received
}

// forward forwards one event and says how many bytes of an answer it held.
func (r *requester) forward(ev llm.Event) int {
	step := r.steps + 1
	emit := r.emit
	if r.purpose == costs.Summary { // a summary is not shown while it is written
		emit = func(Event) {}
	}
	switch ev.Type {
	case llm.ContentDelta:
		emit(Event{Type: TextDelta, Step: step, Text: ev.Text})
	case llm.ThinkingDelta:
		emit(Event{Type: ReasoningDelta, Step: step, Text: ev.Text})
	case llm.ToolUseDelta:
	case llm.ToolUseStart:
		if ev.ToolCall != nil {
			return len(ev.ToolCall.Name)
		}
	case llm.Warning:
		r.log.Warn("model warning", "warning", ev.Text)
		return 0
	default:
		return 0
	}
	return len(ev.Text)
}

// modelError returns err as the *llm.Error that every model promises, and knows what
// was seen of the answer.
func (r *take) modelError(err error, received int) *llm.Error {
	e, ok := errors.AsType[*llm.Error](err)
	if ok {
		c := *e
		e = &c
	} else {
		e = &llm.Error{Kind: llm.Other, Provider: r.turn.Model.Provider(), Model: r.turn.Model.Name(), Err: err}
	}
	e.Received = max(e.Received, received)
	if received > 0 {
		e.Sent, e.Visible = true, true
	}
	return e
}

// settle books an attempt by itself.
func (r *take) settle(ctx context.Context, a *attempt, ms ...transcript.Message) error {
	commit, done := r.commitContext(ctx)
	defer done()
	if err := r.Journal.Settle(commit, a.settlement, ms...); err != nil {
		return fmt.Errorf("book model call: %w", err)
	}
	return nil
}

// report tells what an attempt was, after it was booked.
func (r *take) report(a *attempt) {
	call := a.callReport()
	r.emit(Event{Type: ModelCalled, Step: a.settlement.Entry.Call.Step, Err: asError(a.err), Call: &call})
}

func (a *attempt) callReport() CallReport {
	c := CallReport{Entry: a.settlement.Entry, Began: a.began, Took: a.took, FirstToken: a.firstToken, Err: a.err}
	if a.response != nil {
		c.Answered, c.Finish = a.response.Model, a.response.Finish
	}
	return c
}

// announce tells what an answer held. Text that is the end of the turn is left
// to FinalResponse. (B09)
func (r *take) announce(a *attempt, final bool) {
	if a.response != nil {
		step := a.settlement.Entry.Call.Step
		if thought := thinkingText(a.response.Message); thought != "" {
			r.emit(Event{Type: Reasoning, Step: step, Text: thought})
		}
		if words := a.response.Message.Text(); words != "" && !final {
			r.emit(Event{Type: TextDone, Step: step, Text: words})
		}
	}
	r.report(a)
}

func thinkingText(m transcript.Message) string {
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
