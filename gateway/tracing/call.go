package tracing

import (
	"time"

	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"parley/agent"
	"parley/costs"
	"parley/llm"
)

// Titled makes the span of a call that looked for the title of a session, beside the turn.
func (t *Tracer) Titled(turn string, r agent.CallReport) {
	id, ok := traceOf(turn)
	if ok && t.sampler.takes(id) {
		t.exporter.add(t.newCall(id, id.root(), r, t.o.Now()))
	}
}

// newCall returns the span of one attempt of a model call that was booked at a time.
func (t *Tracer) newCall(id traceID, parent spanID, r agent.CallReport, at time.Time) *trace.Span {
	e, began := r.Entry, r.Began
	if began.IsZero() {
		began = at.Add(-r.Took)
	}
	operation := opChat
	if e.Labels.Purpose == costs.Transcription {
		operation = opTranscribe
	}
	s := newSpan(id, newSpanID(), parent, client, operation+" "+e.Labels.Model, began)
	set(s,
		text(attrOperation, operation), text(attrProvider, t.providerKind(e.Labels.Provider)), text(attrModel, e.Labels.Model),
		text(attrByProvider, e.Labels.Provider), text(attrPurpose, string(e.Labels.Purpose)),
		number(attrStep, int64(e.Call.Step)), number(attrAttempt, int64(e.Call.Attempt)),
	)
	if operation == opChat {
		set(s, truth(attrStream, true))
	}
	setText(s, attrAnswered, r.Answered)
	if r.FirstToken > 0 {
		set(s, decimal(attrFirstChunk, r.FirstToken.Seconds()))
	}
	setUsage(s, e.Usage)
	set(s, number(attrCost, int64(e.Amount)), decimal(attrDollars, e.Amount.Dollars()), truth(attrPriced, e.Priced))
	switch finished := string(r.Finish); {
	case finished != "":
		set(s, texts(attrFinish, finished))
	case operation == opChat:
		set(s, texts(attrFinish, "error")) // as the conventions want it where one was expected
	}
	switch {
	case r.Err == nil:
		set(s, text(attrOutcome, "ok"))
	case r.Err.Kind == llm.Canceled: // which is no error of anybody
		set(s, text(attrOutcome, "cancelled"))
	default:
		set(s, text(attrOutcome, "error"))
		fail(s, string(r.Err.Kind))
	}
	finish(s, began.Add(r.Took))
	return s
}

// setUsage says how many tokens a call took. Unlike ours, the conventions' input and output hold
// what was cached and what was thought.
func setUsage(s *trace.Span, u costs.Usage) {
	written := u.CacheWrite5m + u.CacheWrite1h
	set(s, number(attrInput, u.Input+u.CacheRead+written), number(attrOutput, u.Output))
	setCount(s, attrCacheRead, u.CacheRead)
	setCount(s, attrCacheWrite, written)
	setCount(s, attrReasoning, u.Reasoning)
	setText(s, attrUsage, string(u.Source))
}
