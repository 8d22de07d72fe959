package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// workload thinks before each step: it writes a large file, reads it, hands a task to a
// sub-agent, and answers.
func workload(_ context.Context, p *model.Prompt) model.Answer {
	if strings.Contains(p.LastText(), "small task") {
		return model.Reply(model.Think("small thought"), model.Say("small done"))
	}
	calls := 0
	for _, m := range p.Messages {
		calls += len(m.Calls)
	}
	switch calls {
	case 0:
		return model.Reply(model.Think("first thought"), model.Use("write_file", map[string]string{"path": "a", "content": strings.Repeat("word ", 1000)}))
	case 1:
		return model.Reply(model.Think("second thought"), model.Redact("hidden"), model.Use("read_file", map[string]string{"path": "a"}))
	case 2:
		return model.Reply(model.Think("third thought"), model.Use("sessions_spawn", map[string]string{"task": "small task"}))
	default:
		return model.Reply(model.Think("fourth thought"), model.Say("done"))
	}
}

func decimal(f float64) *float64 { return &f }

// requirements B02, A08, E04, F22: what the configuration says reaches each request, those of
// sub-agents too, and the model server refuses what the provider would refuse: a parameter that
// the model does not take, and thinking that does not come back as it came.
func TestHowAnAgentIsConfiguredIsHowItsModelIsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, model string
		byModel     settings.ModelSettings
		byAgent     settings.ModelSettings
		want        string // of each request, besides what is said
	}{
		{
			settings.KindAnthropic, "claude-opus-5-5",
			settings.ModelSettings{Effort: "low", MaxTokens: 20_000, ToolOutput: 1000},
			settings.ModelSettings{Effort: "max", Summary: "auto"},
			`{"max_tokens":20000,"output_config":{"effort":"max"},"thinking":{"block_binding":{"prefix_mismatch_behavior":"drop_block"},"display":"summarized","type":"adaptive"}}`,
		},
		{
			settings.KindAnthropic, "claude-sonnet-4-5",
			settings.ModelSettings{Thinking: "4000", ToolOutput: 1000},
			settings.ModelSettings{Thinking: "2000", TopP: decimal(0.97), MaxTokens: 9000},
			`{"max_tokens":9000,"thinking":{"budget_tokens":2000,"type":"enabled"},"top_p":0.97}`,
		},
		{
			settings.KindAnthropic, "claude-haiku-5-5",
			settings.ModelSettings{MaxTokens: 3000, ToolOutput: 1000},
			settings.ModelSettings{Thinking: "off"},
			`{"max_tokens":3000,"thinking":{"type":"disabled"}}`,
		},
		{
			settings.KindOpenAI, "gpt-4.1",
			settings.ModelSettings{Temperature: decimal(0.9), MaxTokens: 7000, ToolOutput: 1000},
			settings.ModelSettings{Temperature: decimal(0), TopP: decimal(0.8)},
			`{"max_completion_tokens":7000,"temperature":0,"top_p":0.8}`,
		},
		{
			settings.KindOpenAI, "gpt-5.2",
			settings.ModelSettings{Effort: "xhigh", MaxTokens: 7000},
			settings.ModelSettings{ToolOutput: 1000},
			`{"max_completion_tokens":7000,"reasoning_effort":"xhigh"}`,
		},
		{
			settings.KindOpenAIResponses, "gpt-5.6-sol",
			settings.ModelSettings{Effort: "low", MaxTokens: 7000},
			settings.ModelSettings{Effort: "xhigh", Summary: "detailed", ToolOutput: 1000},
			`{"max_output_tokens":7000,"reasoning":{"effort":"xhigh","summary":"detailed"}}`,
		},
	} {
		t.Run(c.model, func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{Brain: workload, Change: func(cfg *settings.Config) {
				base := cfg.Providers["sim"].BaseURL
				if c.kind != settings.KindAnthropic {
					base += "/v1"
				}
				cfg.Providers["sim"] = settings.ProviderConfig{Kind: c.kind, BaseURL: base, Models: []settings.ModelConfig{{Name: c.model, ModelSettings: c.byModel}}}
				cfg.Agents = map[string]settings.AgentConfig{"main": {Model: "sim/" + c.model, ModelSettings: c.byAgent}}
			}})
			gw := env.Start()
			if got := gw.Ask(gatewaytest.Ann, "go"); got != "done" {
				t.Fatalf("Ann was told %q", got)
			}
			requests := env.Model.Requests()
			if len(requests) != 5 {
				t.Fatalf("%d requests, not 5", len(requests))
			}
			for i, r := range requests {
				if d := cmp.Diff(c.want, parametersOf(t, r.Body)); d != "" {
					t.Errorf("request %d (-want +got):\n%s", i+1, d)
				}
			}
			if last := string(requests[4].Body); strings.Count(last, "word ") > 1000+210 {
				t.Errorf("more than 1000 bytes of a result were kept: %s", last)
			}
		})
	}
}

// parametersOf returns how a model is asked by a request, beside what it is asked.
func parametersOf(t *testing.T, body []byte) string {
	t.Helper()
	var all map[string]any
	noError(t, json.Unmarshal(body, &all))
	how := map[string]any{}
	for _, key := range []string{
		"max_tokens", "max_completion_tokens", "max_output_tokens", "temperature", "top_p", "output_config", "thinking", "reasoning_effort", "reasoning",
	} {
		if v, ok := all[key]; ok {
			how[key] = v
		}
	}
	text, err := json.Marshal(how)
	noError(t, err)
	return string(text)
}

// Retry statuses of an agent, of a model where the agent says nothing, and of its provider where
// neither does.
func TestAnAgentAndAModelSayAfterWhichStatusesTheyAreAskedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent, model, other []int
		status, want        int
	}{
		"the agent's":                      {[]int{521}, []int{522}, nil, 521, 2},
		"not the model's besides":          {[]int{521}, []int{522}, nil, 522, 1},
		"the model's":                      {nil, []int{522}, nil, 522, 2},
		"not the provider's besides":       {nil, []int{522}, nil, 520, 1},
		"none":                             {[]int{}, []int{522}, nil, 520, 1},
		"the provider's":                   {nil, nil, []int{522}, 520, 2},
		"not those of another model's":     {nil, nil, []int{522}, 522, 1},
		"the provider's, not the defaults": {nil, nil, nil, 503, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{Change: func(cfg *settings.Config) {
				p := cfg.Providers["sim"]
				p.Retry = settings.RetryConfig{Statuses: []int{520}, Base: time.Millisecond}
				p.Models = []settings.ModelConfig{
					{Name: "demo", ModelSettings: settings.ModelSettings{RetryStatuses: c.model}},
					{Name: "other", ModelSettings: settings.ModelSettings{RetryStatuses: c.other}},
				}
				cfg.Providers["sim"] = p
				a := cfg.Agents["main"]
				a.RetryStatuses = c.agent
				cfg.Agents["main"] = a
			}})
			noError(t, env.Model.Plan(model.Fault{Kind: model.FaultStatus, Status: c.status, Next: 1}))
			gw := env.Start()
			env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "hello")
			gw.NextDelivered()
			if got := len(env.Model.Requests()); got != c.want {
				t.Errorf("after %d: %d requests, not %d", c.status, got, c.want)
			}
		})
	}
}

// A sub-agent is asked again after the statuses of the agent on which it runs.
func TestASubAgentIsAskedAgainAfterTheStatusesOfItsAgent(t *testing.T) {
	t.Parallel()
	var failed atomic.Bool
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			switch {
			case p.LastText() == "small task" && !failed.Swap(true):
				return model.Answer{Refuse: &model.Refusal{Status: 521, Message: "not now"}}
			case p.LastText() == "small task":
				return model.Reply(model.Say("small words"))
			case len(p.Answering()) == 0:
				return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "small task"}))
			}
			return model.Reply(model.Say(p.Answering()[0].Text))
		},
		Change: func(cfg *settings.Config) {
			cfg.Retry.Base = time.Millisecond
			a := cfg.Agents["main"]
			a.RetryStatuses = []int{521}
			cfg.Agents["main"] = a
		},
	})
	if got := env.Start().Ask(gatewaytest.Ann, "ask"); !strings.Contains(got, "small words") {
		t.Errorf("the sub-agent said %q", got)
	}
}

// requirements A11: which statuses are tried again is the provider's to say.
func TestAProviderSaysAfterWhichStatusesItIsAskedAgain(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int{520: 2, 503: 1} {
		env := gatewaytest.Open(t, gatewaytest.Options{Change: func(cfg *settings.Config) {
			p := cfg.Providers["sim"]
			p.Retry = settings.RetryConfig{Statuses: []int{520}, Base: time.Millisecond}
			cfg.Providers["sim"] = p
		}})
		noError(t, env.Model.Plan(model.Fault{Kind: model.FaultStatus, Status: status, Next: 1}))
		gw := env.Start()
		env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "hello")
		gw.NextDelivered()
		if got := len(env.Model.Requests()); got != want {
			t.Errorf("after %d: %d requests, not %d", status, got, want)
		}
	}
}

// A provider keeps what it has read for as long as an agent says, or a model where the agent says
// nothing, and what that costs is in the ledger as on the bill. (issue 13: cache writes)
func TestWhatAProviderHasReadIsKeptForAsLongAsAnAgentSays(t *testing.T) {
	t.Parallel()
	price := demoPrice(t)
	for _, c := range []struct {
		kind           string
		byAgent        string
		byModel        string
		short, forLong bool // what is written, if anything
	}{
		{settings.KindAnthropic, "", "", true, false},
		{settings.KindAnthropic, "1h", "5m", false, true},
		{settings.KindAnthropic, "", "1h", false, true},
		{settings.KindOpenAIResponses, "", "", false, false}, // it is not said what is
		{settings.KindOpenAIResponses, "30m", "12h", true, false},
		{settings.KindOpenAIResponses, "", "12h", false, true},
	} {
		t.Run(c.kind+"/"+c.byAgent+"/"+c.byModel, func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{Prices: map[string]model.Price{"demo": price}, Change: func(cfg *settings.Config) {
				p := cfg.Providers["sim"]
				if p.Kind = c.kind; c.kind != settings.KindAnthropic {
					p.BaseURL += "/v1"
				}
				p.Models = []settings.ModelConfig{{Name: "demo", ModelSettings: settings.ModelSettings{CacheTTL: c.byModel}}}
				cfg.Providers["sim"] = p
				a := cfg.Agents["main"]
				a.CacheTTL = c.byAgent
				cfg.Agents["main"] = a
			}})
			gw := env.Start()
			gw.Ask(gatewaytest.Ann, "one")
			gw.Ask(gatewaytest.Ann, "two")
			var u model.Usage
			var billed int64
			for _, e := range env.Model.Bill().Entries {
				u.CacheRead, u.CacheWrite5m, u.CacheWrite1h = u.CacheRead+e.Usage.CacheRead, u.CacheWrite5m+e.Usage.CacheWrite5m, u.CacheWrite1h+e.Usage.CacheWrite1h
				billed += e.Pico
			}
			if u.CacheRead == 0 || u.CacheWrite5m > 0 != c.short || u.CacheWrite1h > 0 != c.forLong {
				t.Errorf("read and written: %+v", u)
			}
			used, err := admin.NewClient(gw.AdminSocket()).Usage(t.Context(), admin.UsageQuery{By: "model"})
			noError(t, err)
			if int64(used.Total.Cost) != billed {
				t.Errorf("the ledger has %s, the provider's bill %d", used.Total.Cost, billed)
			}
		})
	}
}
