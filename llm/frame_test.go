package llm_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/llm"
	"parley/transcript"
)

func aFrame() llm.RequestTemplate {
	t := 0.5
	return llm.RequestTemplate{
		Provider: "maker", Model: "model-1", System: []llm.SystemBlock{{Text: "be\xff kind <&>", Cache: true}, {Text: "today"}},
		Tools:  []llm.Definition{{Name: "look", Description: "looks", Schema: json.RawMessage(`{"type": "object"}`)}},
		Choice: llm.None, Parameters: llm.Parameters{Temperature: &t, Effort: "low", Thinking: llm.Budgeted, Budget: 2000, Summary: "auto"},
	}
}

func TestAFrameThatWasKeptHasTheSameName(t *testing.T) {
	t.Parallel()
	f := aFrame()
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back llm.RequestTemplate
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f.Parameters, back.Parameters); d != "" {
		t.Errorf("the parameters (-was +is):\n%s", d)
	}
	if back.Name() != f.Name() {
		t.Errorf("the name is %s, was %s", back.Name(), f.Name())
	}
	if got := string(back.Tools[0].Schema); got != `{"type": "object"}` {
		t.Errorf("the schema is %s", got)
	}
}

func TestEveryPieceOfAFrameChangesItsName(t *testing.T) {
	t.Parallel()
	half := 0.25
	seen := map[string]string{aFrame().Name(): "nothing"}
	var names llm.TemplateNames
	names.Name(aFrame())
	for what, change := range map[string]func(*llm.RequestTemplate){
		"provider":     func(f *llm.RequestTemplate) { f.Provider = "other" },
		"model":        func(f *llm.RequestTemplate) { f.Model = "other" },
		"system text":  func(f *llm.RequestTemplate) { f.System[1].Text = "today." },
		"system cache": func(f *llm.RequestTemplate) { f.System[1].Cache = true },
		"a block less": func(f *llm.RequestTemplate) { f.System = f.System[:1] },
		"tool name":    func(f *llm.RequestTemplate) { f.Tools[0].Name = "see" },
		"description":  func(f *llm.RequestTemplate) { f.Tools[0].Description = "sees" },
		"schema":       func(f *llm.RequestTemplate) { f.Tools[0].Schema = json.RawMessage(`{"type":"object"}`) },
		"no tools":     func(f *llm.RequestTemplate) { f.Tools = nil },
		"choice":       func(f *llm.RequestTemplate) { f.Choice = llm.Auto },
		"temperature":  func(f *llm.RequestTemplate) { f.Temperature = nil },
		"top p":        func(f *llm.RequestTemplate) { f.TopP = &half },
		"effort":       func(f *llm.RequestTemplate) { f.Effort = "high" },
		"thinking":     func(f *llm.RequestTemplate) { f.Thinking = llm.NoThinking },
		"budget":       func(f *llm.RequestTemplate) { f.Budget = 2001 },
		"summary":      func(f *llm.RequestTemplate) { f.Summary = "" },
	} {
		f := aFrame()
		change(&f)
		if before, ok := seen[f.Name()]; ok {
			t.Errorf("a change of %s looks like a change of %s", what, before)
		}
		seen[f.Name()] = what
		for range 2 { // when it is new, and when it is known
			if got := names.Name(f); got != f.Name() {
				t.Errorf("with a change of %s the frame is taken for that with a change of %s", what, seen[got])
			}
		}
	}
}

func TestTheNamesOfFramesAreKnownForAWhile(t *testing.T) { // it counts allocations
	var names llm.TemplateNames
	f := aFrame()
	for i := range 100 {
		other := aFrame()
		other.Model = fmt.Sprint("model-", i)
		if names.Name(other) != other.Name() || names.Name(f) != f.Name() {
			t.Fatal("a wrong name")
		}
	}
	if n := testing.AllocsPerRun(10, func() { names.Name(f) }); n > 0 {
		t.Errorf("the name of a frame that is used all the time is computed again, with %v allocations", n)
	}
	if nobody := (*llm.TemplateNames)(nil); nobody.Name(f) != f.Name() {
		t.Error("without memory the name is another")
	}
}

func TestAFrameWithoutThinkingKeepsTheNameThatItHadBeforeItCouldSayThat(t *testing.T) {
	t.Parallel()
	f := aFrame()
	f.Thinking, f.Budget, f.Summary = "", 0, ""
	if got, want := f.Name(), "13fc7d05f44b48b5181f4f5f26df48aea636d73b7ea61b13b07b356b21b25922"; got != want {
		t.Errorf("the name is %s", got)
	}
}

func TestADigestSeesWhatAModelSees(t *testing.T) {
	t.Parallel()
	text := func(role transcript.Role, s ...string) transcript.Message {
		m := transcript.Message{Role: role}
		for _, s := range s {
			m.Parts = append(m.Parts, transcript.Text{Text: s})
		}
		return m
	}
	result := func(r transcript.ToolResult) []transcript.Message {
		return []transcript.Message{{Role: transcript.Tool, Parts: []transcript.Part{r}}}
	}
	for what, pair := range map[string]struct {
		a, b []transcript.Message
		same bool
	}{
		"the same":              {[]transcript.Message{text(transcript.User, "a")}, []transcript.Message{text(transcript.User, "a")}, true},
		"another text":          {[]transcript.Message{text(transcript.User, "a")}, []transcript.Message{text(transcript.User, "b")}, false},
		"another role":          {[]transcript.Message{text(transcript.User, "a")}, []transcript.Message{text(transcript.Assistant, "a")}, false},
		"parts glued":           {[]transcript.Message{text(transcript.User, "a", "b")}, []transcript.Message{text(transcript.User, "ab")}, false},
		"a message more":        {[]transcript.Message{text(transcript.User, "a")}, []transcript.Message{text(transcript.User, "a"), text(transcript.User)}, false},
		"an id":                 {[]transcript.Message{{ID: "1", Role: transcript.User}}, []transcript.Message{{ID: "2", Role: transcript.User}}, true},
		"what people see of it": {result(transcript.ToolResult{Content: "x", Metadata: "1"}), result(transcript.ToolResult{Content: "x", Metadata: "2"}), true},
		"an error":              {result(transcript.ToolResult{Content: "x"}), result(transcript.ToolResult{Content: "x", IsError: true}), false},
		"a native form": {[]transcript.Message{{Role: transcript.Assistant, Native: &transcript.Native{Blocks: []json.RawMessage{json.RawMessage("1")}}}}, []transcript.Message{
			{Role: transcript.Assistant, Native: &transcript.Native{Blocks: []json.RawMessage{json.RawMessage("2")}}},
		}, false},
	} {
		if got := llm.Digest("f", pair.a) == llm.Digest("f", pair.b); got != pair.same {
			t.Errorf("%s: the digests are the same: %v, want %v", what, got, pair.same)
		}
	}
	if llm.Digest("f", nil) == llm.Digest("g", nil) {
		t.Error("the frame is no part of the digest")
	}
}
