package settings_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/gateway/settings"
	"parley/llm"
)

func number(f float64) *float64 { return &f }

// requirements B02, F22: an agent says how its model is asked, else its provider says it.
func TestAnAgentTakesFromItsModelWhatItDoesNotSay(t *testing.T) {
	t.Parallel()
	model := settings.ModelSettings{
		Temperature: number(0.1), TopP: number(0.2), Effort: "low", Thinking: "2000", Summary: "auto",
		MaxTokens: 3000, ToolTimeout: time.Minute, ToolOutput: 4000,
	}
	own := settings.ModelSettings{
		Temperature: number(0), TopP: number(0.9), Effort: "high", Thinking: "adaptive", Summary: "detailed",
		MaxTokens: 5000, ToolTimeout: 2 * time.Second, ToolOutput: 6000,
	}
	none := settings.ModelSettings{ToolTimeout: 2 * time.Minute, ToolOutput: 200_000}
	c := settings.Config{
		Providers: map[string]settings.ProviderConfig{"p": {Models: []settings.ModelConfig{{Name: "other"}, {Name: "maker/m", ModelSettings: model}}}},
		Agents: map[string]settings.AgentConfig{
			"silent": {Model: "p/maker/m"}, "outspoken": {Model: "p/maker/m", ModelSettings: own},
			"elsewhere": {Model: "p/other"}, "nowhere": {Model: "q/m"},
			"half": {Model: "p/maker/m", ModelSettings: settings.ModelSettings{Effort: "max"}},
		},
	}.Defaults()
	half := model
	half.Effort = "max"
	for name, want := range map[string]settings.ModelSettings{"silent": model, "outspoken": own, "elsewhere": none, "nowhere": none, "half": half} {
		for range 2 { // defaults of defaults are the same
			if d := cmp.Diff(want, c.Agents[name].ModelSettings); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
			c = c.Defaults()
		}
	}
	if got, want := own.Parameters(), (llm.Parameters{Temperature: number(0), TopP: number(0.9), Effort: "high", Thinking: llm.AdaptiveThinking, Summary: "detailed"}); !cmp.Equal(got, want) {
		t.Errorf("parameters %+v", got)
	}
	if got, want := model.Parameters(), (llm.Parameters{Temperature: number(0.1), TopP: number(0.2), Effort: "low", Thinking: llm.Budgeted, Budget: 2000, Summary: "auto"}); !cmp.Equal(got, want) {
		t.Errorf("parameters %+v", got)
	}
}

func TestAProviderTakesFromTheRuleForAllWhatItDoesNotSay(t *testing.T) {
	t.Parallel()
	c := settings.Config{
		Retry: settings.RetryConfig{Max: 3, Base: 5 * time.Second},
		Providers: map[string]settings.ProviderConfig{
			"silent": {}, "own": {Retry: settings.RetryConfig{Max: -1, Cap: time.Second, Statuses: []int{520}}},
		},
	}.Defaults()
	all := settings.RetryConfig{Max: 3, Base: 5 * time.Second, Cap: time.Minute, Window: 2 * time.Minute, Statuses: llm.RetryStatuses()}
	if d := cmp.Diff(all, c.Providers["silent"].Retry); d != "" {
		t.Errorf("silent (-want +got):\n%s", d)
	}
	own := settings.RetryConfig{Max: -1, Base: 5 * time.Second, Cap: time.Second, Window: 2 * time.Minute, Statuses: []int{520}}
	if d := cmp.Diff(own, c.Providers["own"].Retry); d != "" {
		t.Errorf("own (-want +got):\n%s", d)
	}
}
