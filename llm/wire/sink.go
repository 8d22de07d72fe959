package wire

import (
	"cmp"
	"fmt"

	"parley/costs"
	"parley/llm"
)

const maxWarnings = 32

// Sink is where the events of an answer go, and what has gone there. It is not safe for
// concurrent use.
type Sink struct {
	Stopped bool // the consumer does not want more
	Allowed Allowance

	yield           func(llm.Event, error) bool
	provider, model string
	visible         bool
	warned          map[string]bool
}

// NewSink returns the sink of the answer to r before its first byte.
func (c *Client) NewSink(r llm.Request, yield func(llm.Event, error) bool) Sink {
	return Sink{yield: yield, Allowed: NewAllowance(c.MaxTokens(r)), provider: c.Provider(), model: c.Name()}
}

// Emit hands on an event, unless the consumer stopped.
func (s *Sink) Emit(e llm.Event) {
	if s.Stopped {
		return
	}
	if e.Type != llm.Warning {
		s.visible = true
	}
	s.Stopped = !s.yield(e, nil)
}

// EmitOutput hands on an event that brings bytes for which the output is paid.
func (s *Sink) EmitOutput(kind llm.EventType, text string) {
	s.Allowed.CountOutput(len(text))
	s.Emit(llm.Event{Type: kind, Text: text})
}

// Warn hands on a warning, each once, and no more than 32.
func (s *Sink) Warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.warned == nil {
		s.warned = map[string]bool{}
	}
	if !s.warned[text] && len(s.warned) < maxWarnings {
		s.warned[text] = true
		s.Emit(llm.Event{Type: llm.Warning, Text: text})
	}
}

// Conclude yields what the exchange came to: the answer, or the fault together with what
// had been received, under which id, and its usage, if that is known. Answer and fault
// are nil when the consumer stopped.
func (s *Sink) Conclude(resp *llm.Response, fault *llm.Error, id string, usage *costs.Usage) {
	switch {
	case s.Stopped:
	case fault != nil:
		fault.Provider, fault.Model = s.provider, s.model
		fault.Visible, fault.Received = s.visible, s.Allowed.Received()
		fault.RequestID = cmp.Or(fault.RequestID, id)
		fault.Usage = usage
		s.yield(llm.Event{}, fault)
	default:
		s.yield(llm.Event{Type: llm.Complete, Response: resp}, nil)
	}
}

// Malformedf returns an error that is ErrMalformed.
func Malformedf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}
