package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// abuse L5: arguments that were refused stayed in the history in full, and jammed the
// conversation.
func TestRefusedArgumentsStayInTheHistoryInAShortForm(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcdefgh", 64<<10) // 512 KiB
	for name, c := range map[string]struct {
		tool, input, want string
	}{
		"too long":      {"echo", `{"text":"` + long + `"}`, "longer than 262144 bytes"},
		"no JSON":       {"echo", `{"text":"` + long[:100_000], "not valid JSON"},
		"unfit":         {"echo", `{"txt":"` + long[:100_000] + `"}`, `did you mean "text"?`},
		"unknown tool":  {"ehco", `{"text":"` + long[:100_000] + `"}`, "Unknown tool 'ehco'"},
		"no valid UTF8": {"echo", strings.Repeat("\xff", 100_000), "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setOf(t, tool(t, "echo", tools.Write, echo)), calls(llmtest.Call{ID: "c1", Name: c.tool, Input: c.input}), text("ok"))
			r.run(t, t.Context())
			wantResult(t, r.journal.results()[0], "c1", c.want, true)
			call := callsOf(r.lastRequest().Messages)[0]
			var short map[string]any
			if err := json.Unmarshal([]byte(call.Input), &short); err != nil || len(call.Input) > 5000 {
				t.Fatalf("%d bytes of arguments went to the model again: %v", len(call.Input), err)
			}
			if short["_bytes"] != float64(len(c.input)) || !strings.Contains(short["_refused"].(string), c.want) {
				t.Errorf("they are %v", short)
			}
			for _, m := range r.lastRequest().Messages {
				if m.Role == transcript.Assistant && m.Native != nil {
					t.Error("the native form has them still")
				}
			}
		})
	}
}

func TestArgumentsThatFitAndShortOnesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	fits, unfit := `{"text":"`+strings.Repeat("x", 100_000)+`"}`, `{"txt":"`+strings.Repeat("x", 2000)+`"}`
	r := newRig(t, setOf(t, tool(t, "echo", tools.Write, echo)),
		calls(llmtest.Call{ID: "c1", Name: "echo", Input: fits}, llmtest.Call{ID: "c2", Name: "echo", Input: unfit}), text("ok"))
	r.run(t, t.Context())
	cs := callsOf(r.lastRequest().Messages)
	if cs[0].Input != fits || cs[1].Input != unfit {
		t.Errorf("they became %d and %d bytes", len(cs[0].Input), len(cs[1].Input))
	}
	if rs := r.journal.results(); rs[0].IsError || !rs[1].IsError {
		t.Errorf("the results are %+v", rs)
	}
}

// Whoever takes the turn over reads the short form, and says why as the first one did.
func TestATakeoverSaysWhyArgumentsWereRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Write, echo)),
		calls(llmtest.Call{ID: "c1", Name: "echo", Input: `{"txt":"` + strings.Repeat("x", 10_000) + `"}`}), text("ok"))
	n := 0
	r.journal.onOp = func(op string) {
		if n++; op == "append" {
			r.journal.killAt = n
		}
	}
	if _, err := r.loop.Run(t.Context(), r.turn, r.emit); err == nil {
		t.Fatal("it did not end at the result")
	}
	r.journal.onOp, r.journal.killAt = nil, 0
	r.turn = r.journal.resume(r.turn)
	r.run(t, t.Context())
	wantResult(t, r.journal.results()[0], "c1", `did you mean "text"?`, true)
}

func callsOf(ms []transcript.Message) (cs []transcript.ToolCall) {
	for _, m := range ms {
		cs = append(cs, m.Calls()...)
	}
	return cs
}
