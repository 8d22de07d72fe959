package sessiontest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"parley/sessions"
	"parley/transcript"
)

// requirements S03, S08
func messages(t *testing.T, open opener) {
	cases{
		"two sessions may have messages of one id": func(h *fixture) {
			for _, p := range []string{"one", "two"} {
				f, turn := h.working(p)
				h.ok(h.s.Append(h.ctx, f, turn.ID, said("same", p)))
				h.same("history", len(h.history(turn.Session)), 2)
			}
		},
	}.run(t, open)
	turnCases{
		"every kind of part comes back as it was": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			m := transcript.Message{
				ID: "m1", Role: transcript.Assistant, Model: "model-1", CreatedAt: noon.Add(7 * time.Millisecond),
				Parts: []transcript.Part{
					transcript.Text{Text: "naïve \x00 ☃"},
					transcript.Reasoning{Thinking: "hm"},
					transcript.ToolCall{ID: "c1", Name: "bash", Input: `{"broken`, Finished: true},
					transcript.Binary{Path: "a.png", MIMEType: "image/png", Data: []byte{0, 1, 255}},
					transcript.ImageURL{URL: "https://example.org/x.png", Detail: "low"},
					transcript.Finish{Reason: transcript.ToolUse, Time: noon.Truncate(time.Second)},
				},
				Native: &transcript.Native{Provider: "maker", Model: "model-1", Blocks: []json.RawMessage{json.RawMessage(`{"type":"thinking", "thinking":"a<b && b>c", "signature":"s=="}`)}},
			}
			result := transcript.Message{ID: "m2", Role: transcript.Tool, CreatedAt: noon, Parts: []transcript.Part{
				transcript.ToolResult{ToolCallID: "c1", Name: "bash", Content: "no", Metadata: "{}", IsError: true},
			}}
			h.ok(h.s.Append(h.ctx, f, turn.ID, m, result))
			h.same("messages", must(h.s.Messages(h.ctx, turn.Session))[1:], []transcript.Message{m, result})
		},
		"a message is added once and order is that of adding": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.ok(h.s.Append(h.ctx, f, turn.ID, said("b", "b"), said("a", "a")))
			h.ok(h.s.Append(h.ctx, f, turn.ID, said("a", "other"), said("c", "c"), said("c", "c")))
			h.same("history", h.history(turn.Session), []string{turn.ID + "-said", "b", "a", "c"})
			h.same("counted", h.session(turn.Session).Messages, 4)
		},
		"nothing is appended to a closed turn": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 2)
			h.finish(f, turn.ID)
			h.is(h.s.Append(h.ctx, f, turn.ID, said("late", "late")), sessions.ErrFenced)
			h.is(failed(h.s.Begin(h.ctx, f, turn.ID, 1, "late")), sessions.ErrFenced)
			h.same("history", len(h.history(turn.Session)), 2)
		},
		"nothing is appended to another mailbox's turn": func(h *fixture, f sessions.Fence, _ sessions.Turn) {
			_, other := h.working("two")
			h.is(h.s.Append(h.ctx, f, other.ID, said("x", "x")), sessions.ErrFenced)
			h.same("history", len(h.history(other.Session)), 1)
		},
		"a history of 300 messages comes back whole": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			want := []string{turn.ID + "-said"}
			for i := range 299 {
				id := fmt.Sprint("m", i)
				want = append(want, id)
				h.ok(h.s.Append(h.ctx, f, turn.ID, said(id, id)))
			}
			h.same("history", h.history(turn.Session), want)
		},
	}.run(t, open)
}

func health(t *testing.T, open opener) {
	cases{
		"a store that works takes a probe, and nothing is changed by it": func(h *fixture) {
			h.take(h.ann, "a", 5)
			before := h.mailbox("a")
			for range 2 {
				h.ok(h.s.Probe(h.ctx))
			}
			name, highest := must2(h.s.Generation(h.ctx))
			h.same("generation", name, "")
			h.same("highest", highest, uint64(5))
			h.same("mailbox", h.mailbox("a"), before)
		},
		"the store's clock goes on, near everybody's": func(h *fixture) {
			first := must(h.s.Clock(h.ctx))
			if d := time.Since(first); d < -time.Hour || d > time.Hour {
				h.t.Errorf("it is %v off", d)
			}
			for range 100 {
				next := must(h.s.Clock(h.ctx))
				if next.Before(first) {
					h.t.Fatalf("%v after %v", next, first)
				}
				first = next
			}
		},
	}.run(t, open)
}
