package model_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"parley/simulators/model"
)

// claudeAsk is a request to a Claude model with more keys.
func claudeAsk(name, more string) string {
	return strings.Replace(anth(hi, more), `"model":"m"`, `"model":"`+name+`"`, 1)
}

const (
	adaptive = `,"thinking":{"type":"adaptive"}`
	budgeted = `,"thinking":{"type":"enabled","budget_tokens":1024}`
	disabled = `,"thinking":{"type":"disabled"}`
	between  = `,"thinking":{"type":"between_tools"}`
	forced   = `,"tools":[` + toolF + `],"tool_choice":{"type":"any"}`
)

// unquoted is a body with its quotation marks as people read them.
func unquoted(body string) string { return strings.ReplaceAll(body, `\"`, `"`) }

func effort(s string) string { return `,"output_config":{"effort":"` + s + `"}` }

func TestEachClaudeRefusesWhatItsPageSays(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	for _, c := range []struct {
		model, more string
		words       string // of the refusal; "": it is taken
	}{
		{"claude-opus-4-8", `,"temperature":0.5`, "`temperature` is deprecated for this model."},
		{"claude-opus-4-8", `,"temperature":1`, ""},
		{"claude-opus-4-8", `,"top_p":1`, "`top_p` is deprecated"},
		{"claude-haiku-5-5", `,"top_k":5`, "`top_k` is deprecated"},
		{"claude-sonnet-4-5", `,"temperature":0.5`, ""},
		{"claude-sonnet-4-5", `,"temperature":0.5,"top_p":0.9`, "cannot both be specified"},
		{"claude-sonnet-4-5", `,"temperature":0.5` + budgeted, "`temperature` may only be set to 1"},
		{"claude-sonnet-4-6", `,"temperature":0.5` + adaptive, "`temperature` may only be set to 1"},
		{"m", `,"temperature":0.5` + adaptive, "`temperature` may only be set to 1"},
		{"claude-sonnet-4-5", `,"top_p":0.9` + budgeted, "greater than or equal to 0.95"},
		{"claude-sonnet-4-5", `,"top_p":0.95` + budgeted, ""},
		{"claude-sonnet-4-5", `,"top_k":5` + budgeted, "`top_k` must be unset"},
		{"claude-sonnet-4-5", `,"temperature":2`, "range: 0..1"},
		{"claude-sonnet-4-5", `,"top_p":2`, "range: 0..1"},

		{"claude-haiku-4-5", effort("low"), "does not support the effort parameter"},
		{"claude-opus-4-5", effort("max"), "does not support effort level 'max'"},
		{"claude-opus-4-6", effort("xhigh"), "does not support effort level 'xhigh'"},
		{"claude-opus-5-5", effort("max"), ""},
		{"claude-opus-5-5", effort("minimal"), "Input should be 'low'"},

		{"claude-haiku-4-5", adaptive, "adaptive thinking is not supported"},
		{"claude-opus-4-6", budgeted, ""},
		{"claude-opus-4-7", budgeted, `"thinking.type.enabled" is not supported`},
		{"claude-opus-5-5", disabled, `"thinking.type.disabled" is not supported`},
		{"claude-sonnet-5-5", disabled, "between_tools"},
		{"claude-sonnet-5-5", between + effort("high"), ""},
		{"claude-sonnet-5-5", between + effort("max"), "is not supported at effort 'max'"},
		{"claude-opus-5", disabled + effort("xhigh"), "is not supported at effort 'xhigh'"},
		{"claude-haiku-5-5", disabled + effort("low"), ""},
		{"m", `,"thinking":{"type":"enabled","budget_tokens":1000}`, "greater than or equal to 1024"},
		{"m", `,"thinking":{"type":"adaptive","budget_tokens":2000}`, "Extra inputs"},
		{"m", `,"thinking":{"type":"adaptive","display":"loud"}`, "'summarized' or 'omitted'"},
		{"m", `,"thinking":{"type":"disabled","display":"omitted"}`, "Extra inputs"},
		{"m", `,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`, "Extra inputs"},

		{"claude-opus-5-5", forced, "forces tool use"},
		{"claude-haiku-5-5", forced, ""},
	} {
		status, _, body, _ := h.post(messages, claudeAsk(c.model, c.more))
		body = unquoted(body)
		if taken := c.words == ""; taken != (status == http.StatusOK) || !strings.Contains(body, c.words) {
			t.Errorf("%s %s: %d %s", c.model, c.more, status, body)
		}
	}
}

func TestEachReasoningModelOfOpenAIRefusesWhatItsPageSays(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	chatTools := `,"tools":[` + oTool + `]`
	for _, c := range []struct {
		path, model, more string
		words             string
	}{
		{completions, "gpt-5", `,"temperature":0.5`, "'temperature' does not support 0.5"},
		{completions, "gpt-5", `,"top_p":0.5`, "'top_p' is not supported"},
		{completions, "gpt-5", `,"reasoning_effort":"minimal"`, ""},
		{completions, "gpt-5", `,"reasoning_effort":"none"`, "Supported values are: 'minimal', 'low', 'medium', 'high'"},
		{completions, "gpt-5.1", `,"reasoning_effort":"minimal"`, "Supported values are: 'none', 'low', 'medium', 'high'"},
		{completions, "gpt-5.1", `,"temperature":0.5`, ""},
		{completions, "gpt-5.2", `,"reasoning_effort":"none","temperature":0.5`, ""},
		{completions, "gpt-5.2", `,"reasoning_effort":"low","temperature":0.5`, "'temperature' does not support"},
		{completions, "gpt-4.1", `,"temperature":0.5,"top_p":0.5`, ""},
		{completions, "gpt-4.1", `,"reasoning_effort":"low"`, "Unsupported parameter: 'reasoning_effort'"},
		{completions, "gpt-4.1", `,"reasoning_effort":"frob"`, "Invalid value: 'frob'"},
		{completions, "m", `,"reasoning_effort":"max","temperature":2,"top_p":0`, ""},
		{completions, "m", `,"top_p":2`, "Invalid 'top_p'"},
		{completions, "gpt-5.4", `,"reasoning_effort":"low"` + chatTools, "use /v1/responses or set reasoning_effort to 'none'"},
		{completions, "gpt-5.4", chatTools, ""},
		{completions, "gpt-5.6-sol", chatTools, "use /v1/responses"},
		{completions, "gpt-5.6-sol", `,"reasoning_effort":"none"` + chatTools, ""},
		{answers, "gpt-5.6-sol", `,"reasoning":{"effort":"max","summary":"auto"}`, ""},
		{answers, "gpt-5.6-sol", `,"reasoning":{"effort":"minimal"}`, "reasoning.effort"},
		{answers, "gpt-5.6-sol", `,"reasoning":{"summary":"frob"}`, "reasoning.summary"},
		{answers, "gpt-6-astra", `,"reasoning":{"effort":"none"}`, "Supported values are: 'low'"},
		{answers, "gpt-6-astra", `,"top_p":0.5`, "'top_p' is not supported"},
	} {
		body := `{"model":"` + c.model + `","input":"hi"` + c.more + `}`
		if c.path == completions {
			body = `{"model":"` + c.model + `","messages":[` + hi + `]` + c.more + `}`
		}
		status, _, text, _ := h.post(c.path, body)
		if taken := c.words == ""; taken != (status == http.StatusOK) || !strings.Contains(text, c.words) {
			t.Errorf("%s %s: %d %s", c.model, c.more, status, text)
		}
	}
}

// Preserved thinking: a block counts only behind what it was thought behind.
func TestThinkingOfNewModelsIsBoundToItsConversation(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Brain: func(_ context.Context, _ *model.Prompt) model.Answer {
		return model.Reply(model.Think("I think"), model.Say("said"))
	}})
	post := func(system, turns, thinking, beta string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL()+messages,
			strings.NewReader(`{"model":"claude-haiku-5-5","max_tokens":2000,"system":"`+system+`","messages":[`+turns+`]`+thinking+`}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Anthropic-Version", "1")
		if beta != "" {
			r.Header.Set("Anthropic-Beta", beta)
		}
		res, err := h.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, text(t, res)
	}
	said := func(body string) string {
		var m struct{ Content json.RawMessage }
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		return `{"role":"assistant","content":` + string(m.Content) + `}`
	}
	_, body := post("s", hi, "", "")
	first := said(body)
	if !strings.Contains(first, `"thinking":""`) {
		t.Errorf("thinking is shown though nobody asked: %s", first)
	}
	_, body = post("s", hi+","+first+","+hi, "", "")
	second := said(body)
	bare := `{"role":"assistant","content":"said"}`
	const drop = `,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`
	const beta = "other, thinking-binding-controls-2026-08-01"
	const bound = "The block is bound to a different conversation."
	for _, c := range []struct {
		name                          string
		system, turns, thinking, beta string
		status                        int
		words                         string
	}{
		{"unchanged", "s", hi + "," + first + "," + hi + "," + second + "," + hi, "", "", 200, ""},
		{"other settings", "s", hi + "," + first + "," + hi, effort("low"), "", 200, ""},
		{"another breakpoint", "s", `{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},` + first + "," + hi, "", "", 200, ""},
		{"the first thinking taken away", "s", hi + "," + bare + "," + hi + "," + second + "," + hi, "", "", 200, ""},
		{"another system message", "t", hi + "," + first + "," + hi, "", "", 400, bound + " Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires"},
		{"another beginning", "s", `{"role":"user","content":"ho"},` + first + "," + hi, "", "", 400, "messages.1.content.0: Invalid `signature` in `thinking` block. " + bound},
		{"another turn between", "s", hi + "," + first + `,{"role":"user","content":"ho"},` + second + "," + hi, "", "", 400, "messages.3.content.0"},
		{"in another order", "s", hi + "," + second + "," + hi + "," + first + "," + hi, "", "", 400, bound},
		{"dropped", "t", hi + "," + first + "," + hi + "," + second + "," + hi, drop, beta, 200, `"input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"prefix_binding_mismatch"},{"type":"thinking_dropped","path":"messages.3.content.0"`},
		{"dropped from where it changes", "s", hi + "," + first + `,{"role":"user","content":"ho"},` + second + "," + hi, drop, beta, 200, `"input_transformations":[{"type":"thinking_dropped","path":"messages.3.content.0","reason":"prefix_binding_mismatch"}]`},
		{"nothing to drop", "s", hi + "," + first + "," + hi, drop, beta, 200, `"input_transformations":[]`},
		{"without the header", "s", hi, drop, "", 400, "block_binding: Extra inputs"},
	} {
		if status, body := post(c.system, c.turns, c.thinking, c.beta); status != c.status || !strings.Contains(unquoted(body), c.words) {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
}

// Prompt caching: thinking and effort are part of what is cached of the messages.
func TestAnotherWayOfThinkingMissesTheCacheOfMessages(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{MinCacheTokens: 1})
	ask := func(more string) (read int64) {
		t.Helper()
		turn := `{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("long ", 100) + `","cache_control":{"type":"ephemeral"}}]}`
		body := strings.Replace(anth(turn, more), `"model":"m"`, `"model":"claude-haiku-5-5"`, 1)
		if status, _, text, _ := h.post(messages, body); status != http.StatusOK {
			t.Fatal(text)
		}
		return h.last().Usage.CacheRead
	}
	ask("")
	for more, reads := range map[string]bool{"": true, adaptive: true, effort("low"): false, disabled: false} {
		if got := ask(more) > 0; got != reads {
			t.Errorf("%q: read from the cache: %v", more, got)
		}
	}
}

func TestThinkingThatIsNotShownIsBilled(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Brain: model.Scripted(
		model.Reply(model.Think("twelve bytes"), model.Say("four")), model.Reply(model.Think("twelve bytes"), model.Say("four")),
	)})
	for _, stream := range []string{"true", "false"} {
		_, _, body, _ := h.post(messages, claudeAsk("claude-opus-5-5", `,"stream":`+stream))
		if strings.Contains(body, "twelve") || !strings.Contains(body, "signature") {
			t.Errorf("stream %s: %s", stream, body)
		}
		if u := h.last().Usage; u.Output != 4 || u.Reasoning != 3 {
			t.Errorf("stream %s: billed %+v", stream, u)
		}
	}
}
