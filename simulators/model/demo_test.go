package model_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley/simulators/model"
)

var fileTools = []model.Tool{
	{Name: "list_directory", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
	{Name: "read_file", Schema: json.RawMessage(`{"type":"object","required":["file_path"],"properties":{"file_path":{"type":"string"}}}`)},
	{Name: "write_file", Schema: json.RawMessage(`{"type":"object","required":["path","content"],"properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)},
}

// later is a prompt in the middle of a conversation.
func later(text string) *model.Prompt {
	return &model.Prompt{Tools: fileTools, Messages: []model.Message{
		{Role: model.User, Text: "hi"},
		{Role: model.Assistant, Text: "hello"},
		{Role: model.User, Text: text},
	}}
}

func TestTheDemonstrationKnowsItsTricks(t *testing.T) {
	t.Parallel()
	demo := model.Demo(0)
	for text, want := range map[string]string{
		"please list files":          `call list_directory {"path":"."}`,
		"What files are there?":      `call list_directory {"path":"."}`,
		"show me the directory":      `call list_directory {"path":"."}`,
		"read notes.txt":             `call read_file {"file_path":"notes.txt"}`,
		"now read the file `a/b.md`": `call read_file {"file_path":"a/b.md"}`,
		"Read notes.txt.":            `call read_file {"file_path":"notes.txt"}`,
		"set COLOUR=blue":            `call write_file {"content":"COLOUR=blue\n","path":".env"}`,
		"what is 12*7":               "text 12 * 7 = 84",
		"12 x 7?":                    "text 12 x 7 = 84",
		"7/2":                        "text 7 / 2 = 3, and 1 remains.",
		"1/0":                        "text Nobody can divide by zero",
		"99999999999999999999 + 1":   "text 99999999999999999999 + 1 = 100000000000000000000",
		"thanks":                     "text You are welcome.",
		"The wind is blowing":        "text You said: “The wind is blowing”.",
		"already along the longing":  "text You said:",
	} {
		a := demo(t.Context(), later(text))
		b := a.Blocks[len(a.Blocks)-1]
		got := string(b.Kind) + " " + b.Text
		if b.Kind == model.CallBlock {
			got = "call " + b.Name + " " + b.Input
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestTheDemonstrationOnlyCallsToolsThatAreOffered(t *testing.T) {
	t.Parallel()
	demo := model.Demo(0)
	none := later("list files")
	none.Choice.Mode = model.ChoiceNone
	bare := later("read a.txt")
	bare.Tools = nil
	for _, p := range []*model.Prompt{none, bare} {
		if a := demo(t.Context(), p); len(a.Blocks) != 1 || !strings.Contains(a.Blocks[0].Text, "nobody gave me a tool") {
			t.Errorf("%+v", a)
		}
	}
}

func TestTheDemonstrationSaysAtFirstThatItIsNoRealModel(t *testing.T) {
	t.Parallel()
	demo := model.Demo(0)
	for _, text := range []string{"hello", "list files", "long"} {
		p := later(text)
		p.Messages = p.Messages[2:]
		a := demo(t.Context(), p)
		if a.Blocks[0].Kind != model.TextBlock || !strings.Contains(a.Blocks[0].Text, "scripted demonstration, not a real model") {
			t.Errorf("%q: %+v", text, a.Blocks)
		}
		if again := demo(t.Context(), later(text)); strings.Contains(again.Blocks[0].Text, "not a real model") {
			t.Errorf("%q: says it again", text)
		}
	}
}

func TestTheDemonstrationIsLongOrSlowWhenAsked(t *testing.T) {
	t.Parallel()
	demo := model.Demo(10 * time.Millisecond)
	long := demo(t.Context(), later("something long, please"))
	if n := utf8.RuneCountInString(long.Blocks[0].Text); n <= 4096 || strings.Count(long.Blocks[0].Text, "\n\n") < 10 {
		t.Errorf("%d characters", n)
	}
	if slow := demo(t.Context(), later("slowly")); slow.Pace < 10*long.Pace {
		t.Errorf("slow %v, else %v", slow.Pace, long.Pace)
	}
}

func TestTheDemonstrationTalksThroughToolsOverBothProtocols(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Brain: model.Demo(time.Microsecond)})
	listing := "notes.txt\nplan.md"
	_, _, body, _ := h.post(messages, anth(`{"role":"user","content":"list files"}`, `,"tools":[{"name":"list_directory","input_schema":{"type":"object"}}]`))
	var m struct {
		Content []struct{ ID, Type string }
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || len(m.Content) != 2 || m.Content[1].Type != "tool_use" {
		t.Fatalf("%v %s", err, body)
	}
	_, _, body, _ = h.post(messages, anth(`{"role":"user","content":"list files"},{"role":"assistant","content":[{"type":"tool_use","id":"`+m.Content[1].ID+
		`","name":"list_directory","input":{"path":"."}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+m.Content[1].ID+`","content":`+compact(t, listing)+`}]}`, ""))
	if !strings.Contains(body, `Here is what I found, 2 lines of it:\n\n`+"```"+`\nnotes.txt\nplan.md`) {
		t.Errorf("%s", body)
	}
	_, _, body, _ = h.post(completions, oai(hi+`,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"read_file","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"one\ntwo"}`, ""))
	if !strings.Contains(body, "I got 7 characters in 2 lines from `read_file`") {
		t.Errorf("%s", body)
	}
	_, _, body, _ = h.post(completions, ask(completions, "list files", true))
	if names, _ := events(t, body); len(names) < 20 || !strings.Contains(body, `"content":"scripted "`) {
		t.Errorf("not word by word: %s", body)
	}
}

func TestTheDemonstrationReportsAToolThatFailed(t *testing.T) {
	t.Parallel()
	p := later("read x")
	p.Messages = append(p.Messages,
		model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "a", Name: "read_file"}}},
		model.Message{Role: model.User, Results: []model.Result{{CallID: "a", Name: "read_file", Text: "no such file", Error: true}}})
	if a := model.Demo(0)(context.Background(), p); !strings.Contains(a.Blocks[0].Text, "did not work: no such file") {
		t.Errorf("%+v", a)
	}
}

func TestTheDemonstrationResearchesWithSubAgents(t *testing.T) {
	t.Parallel()
	demo := model.Demo(0)
	tools := append([]model.Tool{{Name: "sessions_spawn"}}, fileTools...)
	ask := func(text string) *model.Prompt {
		p := later(text)
		p.Tools = tools
		return p
	}
	for _, text := range []string{"research the Blue Heron", "[Ann] Please research: the Blue Heron!", "Look into “the Blue Heron”."} {
		bs := demo(t.Context(), ask(text)).Blocks
		if len(bs) != 3 || bs[1].Name != "sessions_spawn" || bs[2].Name != "sessions_spawn" || !strings.Contains(bs[2].Input, "“the Blue Heron”") {
			t.Fatalf("%q: %+v", text, bs)
		}
	}
	for _, text := range []string{"I love researchers", "look in to it"} {
		if bs := demo(t.Context(), ask(text)).Blocks; len(bs) != 1 {
			t.Errorf("%q: %+v", text, bs)
		}
	}
	if bs := demo(t.Context(), later("research it")).Blocks; len(bs) != 1 || !strings.Contains(bs[0].Text, "nobody gave me a tool that starts them") {
		t.Errorf("without the tool: %+v", bs)
	}

	// The sub-agents, whatever the topic, play their parts and end.
	for _, topic := range []string{"the Blue Heron", "read a.txt", "how to research “quotes” ” “", "12*7", "", strings.Repeat("long ", 100), "two\nlines"} {
		todo, played := []*model.Prompt{ask("research " + topic)}, 0
		for len(todo) > 0 {
			p := todo[0]
			todo = todo[1:]
			if played++; played > 4 {
				t.Fatalf("%q: sub-agents without end", topic)
			}
			for _, b := range demo(t.Context(), p).Blocks {
				if strings.Contains(b.Text, "beyond my script") || strings.Contains(b.Text, "not a real model") {
					t.Errorf("%q: %q is answered with %q", topic, p.LastText(), b.Text)
				}
				var in struct{ Task, Label string }
				if b.Name != "sessions_spawn" {
					continue
				}
				if err := json.Unmarshal([]byte(b.Input), &in); err != nil || in.Label == "" {
					t.Fatalf("%q: %s: %v", topic, b.Input, err)
				}
				todo = append(todo, &model.Prompt{Tools: tools, Messages: []model.Message{{Role: model.User, Text: in.Task}}})
			}
		}
		if played != 4 {
			t.Errorf("%q: %d parts were played, not 4", topic, played)
		}
	}

	p := ask("research x")
	p.Messages = append(p.Messages,
		model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "a", Name: "sessions_spawn", Input: json.RawMessage(`{"label":"the files"}`)}, {ID: "b", Name: "sessions_spawn"}}},
		model.Message{Role: model.User, Results: []model.Result{
			{CallID: "a", Name: "sessions_spawn", Text: "{\"status\":\"ok\"}\nWhat it said, untrusted, up to the mark 0123456789abcdef:\nnothing there\n0123456789abcdef"},
			{CallID: "b", Name: "sessions_spawn", Text: "too many", Error: true},
		}})
	want := "**the files**, says my sub-agent: nothing there\n\nThat did not work: too many"
	if a := demo(t.Context(), p); a.Blocks[0].Text != want {
		t.Errorf("%q", a.Blocks[0].Text)
	}
}
