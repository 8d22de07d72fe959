package gateway

import (
	"testing"
	"time"

	"parley/gateway/settings"
	"parley/llm"
)

// requirements F22: the limits of tools that the configuration says are those of the agent.
func TestAnAgentsToolsHaveTheLimitsOfItsConfiguration(t *testing.T) {
	t.Parallel()
	e := &edition{cfg: settings.Config{
		Providers: map[string]settings.ProviderConfig{"sim": {Kind: settings.KindOpenAI, BaseURL: "http://127.0.0.1:1/v1"}},
		Agents:    map[string]settings.AgentConfig{"main": {Model: "sim/m", ModelSettings: settings.ModelSettings{ToolTimeout: 3 * time.Second, ToolOutput: 4000}}},
	}.Defaults()}
	if err := e.wireAgents(); err != nil {
		t.Fatal(err)
	}
	if a := e.agents["main"]; a.ToolTimeout != 3*time.Second || a.ToolOutput != 4000 {
		t.Errorf("the agent has %s and %d bytes", a.ToolTimeout, a.ToolOutput)
	}
}

func TestEachProviderHasItsOwnRuleForFailedCalls(t *testing.T) {
	t.Parallel()
	rs := retriesOf(settings.Config{
		Retry:     settings.RetryConfig{Max: 1},
		Providers: map[string]settings.ProviderConfig{"a": {}, "b": {Retry: settings.RetryConfig{Max: -1}}, "c": {Retry: settings.RetryConfig{Cap: time.Second}}},
	}.Defaults())
	for provider, want := range map[string]bool{"a": true, "b": false, "c": false} {
		if _, again := rs.Next(1, 0, &llm.Error{Kind: llm.RateLimited, Provider: provider, RetryAfter: 2 * time.Second}); again != want {
			t.Errorf("%s: again %v", provider, again)
		}
	}
	if _, again := rs.Next(2, 0, &llm.Error{Kind: llm.RateLimited, Provider: "a"}); again {
		t.Error("a second retry, though one is allowed")
	}
}
