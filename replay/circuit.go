package replay

import (
	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/sessions"
	"parley/transcript"
)

// recordedCircuit lets those calls through that were made, so that a turn comes to the same
// model as it did, whatever kept it from those before.
type recordedCircuit struct{ script *script }

var _ agent.Circuit = recordedCircuit{}

// Enter implements [agent.Circuit]. A call that the recording does not have is let through,
// and shows as a difference, unless its turn failed there without making it.
func (c recordedCircuit) Enter(m llm.Model, call costs.CallID) (llm.Permit, error) {
	q := c.script.requests[call.String()]
	if q == nil && !c.hasFailed(call.Turn) || q != nil && c.script.modelOf(q) == [2]string{m.Provider(), m.Name()} {
		return llm.Permit{}, nil
	}
	return llm.Permit{}, newRefusal(m)
}

// Unavailable implements [agent.Circuit].
func (c recordedCircuit) Unavailable(call costs.CallID, models ...llm.Model) error {
	if !c.hasFailed(call.Turn) || call.Step <= c.script.last[call.Turn] {
		return nil
	}
	return newRefusal(models[len(models)-1])
}

// Postpone implements [agent.Circuit].
func (recordedCircuit) Postpone(...llm.Model) {}

func (c recordedCircuit) hasFailed(turn string) bool {
	t := c.script.turns[turn]
	return t != nil && t.State == string(sessions.Done) && t.Outcome == transcript.Failed
}

func newRefusal(m llm.Model) error {
	return &llm.CircuitError{CircuitStatus: llm.CircuitStatus{Provider: m.Provider(), Model: m.Name(), State: llm.CircuitOpen}}
}
