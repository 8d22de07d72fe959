package agent

import (
	"context"
	"errors"
	"time"

	"parley/agent/pressure"
	"parley/costs"
	"parley/faultpoint"
	"parley/llm"
	"parley/transcript"
)

// Fallback is a model that a turn goes on with when those before it do not work, and how it
// is asked. The fields are as those of [Turn].
type Fallback struct {
	Model      llm.Model
	Window     int
	MaxTokens  int
	Parameters llm.Parameters
	Vision     bool
}

// Circuit decides whether a model is called at present. *llm.Circuits is one; its methods say
// what holds.
type Circuit interface {
	Enter(m llm.Model, call costs.CallID) (llm.Permit, error)
	Unavailable(call costs.CallID, models ...llm.Model) error
	Postpone(models ...llm.Model)
}

// FallbackReport is a turn that goes on with another model.
type FallbackReport struct {
	From, To costs.Labels // provider and model
	Reason   llm.Kind     // why From failed; "": it was not called, because its circuit is open
}

// noCircuit lets every call through.
type noCircuit struct{}

func (noCircuit) Enter(llm.Model, costs.CallID) (llm.Permit, error) { return llm.Permit{}, nil }
func (noCircuit) Unavailable(costs.CallID, ...llm.Model) error      { return nil }
func (noCircuit) Postpone(...llm.Model)                             {}

// errNextModel is why a call has no answer whose turn goes on with another model: the request
// is to be measured and made anew.
var errNextModel = errors.New("the turn goes on with another model")

// models returns the models that the turn may still be put to, the present one first.
func (t Turn) models() []llm.Model {
	ms := []llm.Model{t.Model}
	for _, f := range t.Fallbacks {
		ms = append(ms, f.Model)
	}
	return ms
}

// nextCall identifies the next attempt.
func (r *take) nextCall() costs.CallID {
	return costs.CallID{Turn: r.turn.ID, Step: r.steps + 1, Attempt: r.tries + 1, Purpose: r.purpose}
}

// retryCall reports whether a failed call is made again, and after how long. A probe is not made
// again. Where another model may answer instead, the call is made again for as long as Patience;
// a call for a summary, until the moment when the turn goes on without one.
func (r *take) retryCall(p llm.Permit, err *llm.Error, elapsed time.Duration) (time.Duration, bool) {
	pause, again := r.retry(err, elapsed)
	late := r.Patience > 0 && len(r.turn.Fallbacks) > 0 && elapsed+pause > r.Patience
	if p.IsProbe() || late && err.IsProviders() || !r.giveUpAt.IsZero() && !r.Now().Add(pause).Before(r.giveUpAt) {
		return 0, false
	}
	return pause, again
}

// giveUp ends a call that failed for good with err, a nil where the model was not called at
// all. If another model may answer, the attempt is booked, the turn goes on with that, and
// the result's err is errNextModel.
func (r *requester) giveUp(ctx context.Context, a *attempt, err error) (modelResult, error) {
	if !r.fallsBack(err) {
		if r.Circuit.Unavailable(r.nextCall(), r.chain...) != nil {
			r.Circuit.Postpone(r.chain...)
		}
		return modelResult{a, err}, nil
	}
	if a != nil {
		if err := r.settle(ctx, a); err != nil {
			return modelResult{}, err
		}
		r.report(a)
	}
	faultpoint.Hit("agent.fallback.settled")
	r.fallBack(err)
	return modelResult{err: errNextModel}, nil
}

// fallsBack reports whether the turn may go on with another model after err. Nothing of an
// answer was seen then.
func (r *take) fallsBack(err error) bool {
	if len(r.turn.Fallbacks) == 0 {
		return false
	}
	e, ok := errors.AsType[*llm.Error](err)
	return llm.IsCircuitOpen(err) || ok && e.IsProviders() && !e.Visible && !errors.Is(e.Err, errPreparation)
}

// fallBack goes on with the next model. The turn keeps it: what its provider has cached of
// the conversation serves the steps that follow.
func (r *take) fallBack(err error) {
	rep := FallbackReport{From: r.labels()}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		rep.Reason = e.Kind
	}
	r.use(0)
	rep.To = r.labels()
	r.uncounted = r.tries
	r.log.Warn("model given up, the turn goes on with the next",
		"provider", rep.From.Provider, "model", rep.From.Model, "to_provider", rep.To.Provider, "to_model", rep.To.Model, "error", err)
	r.emit(Event{Type: FellBack, Step: r.steps + 1, Err: err, Fallback: &rep})
}

// use makes fall-back number i the turn's model. What was measured was measured for the
// model before.
func (r *take) use(i int) {
	f := r.turn.Fallbacks[i]
	r.turn.Fallbacks = r.turn.Fallbacks[i+1:]
	r.turn.Model, r.turn.Window, r.turn.MaxTokens = f.Model, f.Window, f.MaxTokens
	r.turn.Parameters, r.turn.Vision = f.Parameters, f.Vision
	r.ladder, r.gauge, r.system = pressure.Ladder{}, pressure.Gauge{}, 0
}

// resumeModel goes on with the fall-back that gave the turn's last answer, if one did: an
// earlier take had gone on with it.
func (r *take) resumeModel(history []transcript.Message) {
	m, ok := lastAnswer(history, r.turn.ID)
	if !ok {
		return
	}
	gave := func(model llm.Model) bool {
		if m.Native != nil {
			return m.Native.Provider == model.Provider() && m.Native.Model == model.Name()
		}
		return m.Finish().Size.Model == model.Name()
	}
	if gave(r.turn.Model) {
		return
	}
	for i, f := range r.turn.Fallbacks {
		if gave(f.Model) {
			r.use(i)
			return
		}
	}
}

// endUnavailable ends a turn if none of its models is called at present: nothing is prepared
// for a request that will not be sent. nil: it goes on. (requirements B22)
func (r *run) endUnavailable(ctx context.Context) (*Outcome, error) {
	err := r.Circuit.Unavailable(r.nextCall(), r.turn.models()...)
	if err == nil {
		return nil, nil
	}
	return r.finishUnanswered(ctx, nil, failedOutcome(err), transcript.Failed, nil)
}
