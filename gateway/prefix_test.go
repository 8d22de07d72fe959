package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
)

// chatty answers with some words, and reads the file that a message names.
func chatty(_ context.Context, p *model.Prompt) model.Answer {
	text := p.LastText()
	if path, ok := strings.CutPrefix(text, "read "); ok && len(p.Answering()) == 0 {
		return model.Reply(model.Use("read_file", map[string]string{"path": path}))
	}
	return model.Reply(model.Say(strings.Repeat("An answer of some words. ", 4)))
}

// G11: over 300 turns of a conversation with the default agent, in which its window is filled
// several times and every tenth turn reads a file, what was sent is the beginning of what is sent
// next, but for a fiftieth; and there is no more than a call in 50 turns for titles and summaries.
// Both are counts. G12: system message and tools have at most 8 KiB. In make test the conversation is
// short and is never summarised.
func TestThePromptOfALongConversationStaysItsBeginning(t *testing.T) {
	t.Parallel()
	turns, long := 40, size(1) == 1
	if long {
		turns = 300
	}
	pages := t.TempDir()
	noError(t, os.WriteFile(filepath.Join(pages, "page.txt"), []byte(strings.Repeat("Nothing happens on this line.\n", 40)), 0o600))
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: chatty, Window: 16_000, Change: func(c *settings.Config) {
		a := c.Agents["main"]
		a.Window = 16_000
		c.Agents["main"] = a
		c.Titles.Model = "sim/demo"
		c.Files.ExtraRoots = []string{pages}
		c.Limits.PersonPerMinute = -1
	}})
	gw := env.Start()
	var p prefixes
	for n := range turns {
		text := fmt.Sprintf("Turn %d. %s", n, strings.Repeat("We talk about this and that. ", 4))
		if n%10 == 9 {
			text = "read " + filepath.Join(pages, "page.txt")
		}
		gw.Ask(gatewaytest.Ann, text)
		if n%10 == 9 || n == turns-1 {
			p.add(t, env.Model.Requests())
		}
	}
	share := float64(p.repeated) / float64(p.sent)
	t.Logf("%d requests, %d of them summaries and %d for titles; %.4f of what was sent is the beginning of what was sent next; system and tools have %d bytes",
		p.requests, p.summaries, p.titles, share, p.frame)
	if share < 0.98 {
		t.Errorf("%.4f of what was sent is the beginning of what was sent next: at least 0.98", share)
	}
	if extra := p.summaries + p.titles; long && (p.summaries < 2 || p.titles != 1 || extra*50 > turns) {
		t.Errorf("%d summaries and %d titles in %d turns: one call in 50 at most, and something to summarise", p.summaries, p.titles, turns)
	}
	if p.frame > 8<<10 {
		t.Errorf("system message and tools have %d bytes", p.frame)
	}
}

// prefixes counts how much of each request is the beginning of the next one of its conversation.
type prefixes struct {
	seen                        map[string]bool
	last                        []byte
	requests, summaries, titles int
	sent, repeated              int // of all requests but the newest
	frame                       int // bytes of the system message and the tools
}

// add counts the requests that were not there before.
func (p *prefixes) add(t *testing.T, all []model.Recorded) {
	t.Helper()
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	for _, r := range all {
		if p.seen[r.ID] {
			continue
		}
		p.seen[r.ID] = true
		if bytes.Contains(r.Body, []byte("You name conversations.")) {
			p.titles++
			continue
		}
		p.requests++
		if bytes.Contains(r.Body, []byte("Provide a detailed but concise summary")) {
			p.summaries++
		}
		prompt, frame := promptOf(t, r.Body)
		if p.last != nil {
			p.sent += len(p.last)
			p.repeated += commonPrefix(p.last, prompt)
		}
		p.last, p.frame = prompt, max(p.frame, frame)
	}
}

// promptOf returns what the model is to read, in the order in which the provider's cache holds it,
// without the marks of the cache; and how many bytes of it stand before the messages.
func promptOf(t *testing.T, body []byte) (prompt []byte, frame int) {
	t.Helper()
	var r struct {
		Tools    json.RawMessage   `json:"tools"`
		System   json.RawMessage   `json:"system"`
		Messages []json.RawMessage `json:"messages"`
	}
	noError(t, json.Unmarshal(body, &r))
	prompt = append(append(prompt, r.Tools...), r.System...)
	frame = len(prompt)
	for _, m := range r.Messages {
		prompt = append(prompt, m...)
	}
	return bytes.ReplaceAll(prompt, []byte(`,"cache_control":{"type":"ephemeral"}`), nil), frame
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
