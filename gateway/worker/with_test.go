package worker_test

import (
	"testing"

	"parley/agent"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
)

// Summaries are asked of the model that the operator names for them, unless that one answers
// itself.
func TestTheModelThatAnswersNeedsNoOtherForSummaries(t *testing.T) {
	t.Parallel()
	small, large := &llmtest.Script{ModelName: "small"}, &llmtest.Script{ModelName: "large"}
	own := worker.Agent{Model: small, Choices: []agent.Fallback{{Model: small}, {Model: large}}, Summariser: &agent.Fallback{Model: small}}
	name := func(m llm.Model) string { return m.Provider() + "/" + m.Name() }
	if got := own.With(name(large)); got.Model != large || got.Summariser == nil || got.Summariser.Model != small {
		t.Errorf("with the large model: %+v", got)
	}
	if got := own.With(name(small)); got.Model != small || got.Summariser != nil {
		t.Errorf("with its own model: %+v", got)
	}
	if own.Summariser == nil {
		t.Error("the agent was changed")
	}
}
