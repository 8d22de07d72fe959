package agent

import (
	"errors"
	"time"

	"parley/costs"
	"parley/llm"
	"parley/transcript"
)

// Meter counts what turns do. Calls must not block; many turns may call at once.
type Meter interface {
	ModelCalled(r CallReport)
	ModelRetried(l costs.Labels, reason llm.Kind)
	ModelFellBack(r FallbackReport)
	// Compacted counts an overlay that was committed at that time.
	Compacted(o transcript.Overlay, at time.Time)
	ToolCalled(tool string, p costs.Purpose, status string, took time.Duration)
}

// Measure counts e, an event of a turn of purpose p, where it is one to count.
func Measure(m Meter, p costs.Purpose, e Event) {
	switch e.Type {
	case ModelCalled:
		m.ModelCalled(*e.Call)
	case Retrying:
		if le, ok := errors.AsType[*llm.Error](e.Err); ok {
			m.ModelRetried(costs.Labels{Provider: le.Provider, Model: le.Model}, le.Kind)
		}
	case FellBack:
		m.ModelFellBack(*e.Fallback)
	case Compacted:
		m.Compacted(*e.Overlay, e.At)
	case ToolResulted:
		m.ToolCalled(e.Tool, p, e.Status, e.Took)
	}
}
