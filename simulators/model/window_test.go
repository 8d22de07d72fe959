package model_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/simulators/model"
)

func TestWindow(t *testing.T) {
	t.Parallel()
	text := func(bytes int) string { return strings.Repeat("abc ", bytes/4) }
	turn := func(bytes int) string { return `{"role":"user","content":"` + text(bytes) + `"}` }
	limited := func(bytes, limit int) string {
		return strings.Replace(anth(turn(bytes), ""), `"max_tokens":2000`, fmt.Sprintf(`"max_tokens":%d`, limit), 1)
	}
	h := start(t, model.Options{Window: 1000})
	for name, c := range map[string]struct {
		path, body string
		status     int
		words      string
	}{
		"Anthropic takes what fits":                       {messages, limited(2000, 100), 200, ""},
		"Anthropic refuses a prompt that does not":        {messages, limited(4400, 100), 400, "prompt is too long: 1100 tokens > 1000 maximum"},
		"Anthropic refuses an answer that does not":       {messages, limited(3800, 100), 400, "input length and `max_tokens` exceed context limit: 950 + 100 > 1000"},
		"Chat Completions refuses a prompt that does not": {completions, oai(turn(4400), ""), 400, "maximum context length is 1000 tokens. However, your messages resulted in 1100 tokens."},
		"Chat Completions refuses an answer that does not": {
			completions, oai(turn(3800), `,"max_completion_tokens":100`), 400, "you requested 1050 tokens (950 in the messages, 100 in the completion)",
		},
		"Responses refuses a prompt that does not": {answers, `{"model":"m","input":"` + text(4400) + `"}`, 400, "exceeds the context window"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, _, body, _ := h.post(c.path, c.body)
			if status != c.status || !strings.Contains(strings.ReplaceAll(body, `\u003e`, ">"), c.words) {
				t.Errorf("status %d: %.300s", status, body)
			}
		})
	}
}
