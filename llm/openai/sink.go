package openai

import (
	"fmt"

	"parley/llm"
	"parley/llm/wire"
)

const maxWarnings = 32

// sink is where the events of an answer go, and what has gone there.
type sink struct {
	yield   func(llm.Event, error) bool
	stopped bool // the consumer does not want more
	visible bool
	allowed wire.Allowance
	warned  map[string]bool
}

func (s *sink) emit(e llm.Event) {
	if s.stopped {
		return
	}
	if e.Type != llm.Warning {
		s.visible = true
	}
	s.stopped = !s.yield(e, nil)
}

// emitOutput is an event that brings bytes for which the output is paid.
func (s *sink) emitOutput(kind llm.EventType, text string) {
	s.allowed.CountOutput(len(text))
	s.emit(llm.Event{Type: kind, Text: text})
}

func (s *sink) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.warned == nil {
		s.warned = map[string]bool{}
	}
	if !s.warned[text] && len(s.warned) < maxWarnings {
		s.warned[text] = true
		s.emit(llm.Event{Type: llm.Warning, Text: text})
	}
}

func malformedf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", wire.ErrMalformed, fmt.Sprintf(format, args...))
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
