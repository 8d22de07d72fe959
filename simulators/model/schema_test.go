package model_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"parley/simulators/model"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// unicodeEscape is how ECMA's regular expressions write a character.
var unicodeEscape = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`)

// anthropicSchema finds schemas in what parley's tests keep of Anthropic's own
// description of its API.
func anthropicSchema(t *testing.T) func(name string) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open("../../llm/llmtest/anthropic.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	spec, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseRegexpEngine(func(s string) (jsonschema.Regexp, error) {
		return regexp.Compile(unicodeEscape.ReplaceAllString(s, `\x{$1}`))
	})
	if err := c.AddResource("spec.json", spec); err != nil {
		t.Fatal(err)
	}
	return func(name string) *jsonschema.Schema {
		s, err := c.Compile("spec.json#/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestAnswersFitAnthropicsOwnDescription(t *testing.T) {
	t.Parallel()
	schema := anthropicSchema(t)
	message, event, problem := schema("Message"), schema("MessageStreamEvent"), schema("ErrorResponse")
	h := start(t, model.Options{Brain: func(_ context.Context, p *model.Prompt) model.Answer {
		a := rich()
		if p.LastText() == "plain" {
			a = model.Reply(model.Say("plain"))
		}
		return a
	}})
	for _, text := range []string{"rich", "plain"} {
		_, _, body, _ := h.post(messages, ask(messages, text, false))
		conform(t, message, body)
		_, _, body, _ = h.post(messages, ask(messages, text, true))
		names, data := events(t, body)
		for i, name := range names {
			if name != "ping" { // documented, but not in the description
				conform(t, event, compact(t, data[i]))
			}
		}
	}
	for _, status := range []int{400, 401, 402, 403, 404, 429, 500, 504, 529} {
		h.plan(model.Fault{Kind: model.FaultStatus, Status: status})
		_, _, body, _ := h.post(messages, ask(messages, "x", true))
		conform(t, problem, body)
	}
	if message.Validate(map[string]any{"id": "x"}) == nil || event.Validate(map[string]any{"type": "frob"}) == nil {
		t.Error("the description takes anything")
	}
}

func conform(t *testing.T, s *jsonschema.Schema, body string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%s: %v", body, err)
	}
}
