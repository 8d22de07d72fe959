package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/wire"
	"parley/transcript"
)

// block is a content block that we write; replayed ones stay raw.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Source    *source         `json:"source,omitempty"`
	Cache     *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// ttlHour is the time that has to be said; without one it is five minutes.
const ttlHour = "1h"

// breakpoint returns a mark up to which the request is kept for that time.
func breakpoint(ttl string) *cacheControl {
	c := &cacheControl{Type: "ephemeral"}
	if ttl == ttlHour {
		c.TTL = ttl
	}
	return c
}

// turn is a message before it is written: raw blocks of the assistant, or our
// own blocks, which may still get a breakpoint.
type turn struct {
	role    string
	results []block // tool results come first in a user message
	blocks  []block
	raw     []json.RawMessage
	begins  int // the message of the history with which it begins
}

// opening stands before the first message of a request.
const opening = `{"messages":[`

// messagesJSON writes the history as alternating messages: neighbours of one
// role become one message, with tool results first. The last block of the last
// two user messages gets a cache breakpoint: the last one for the next
// request, the one before because this request finds there what the previous
// one wrote. What stands before the first breakpoint is the prefix, which is written once for all
// requests of the conversation; rest is what follows, without the bracket that ends it, and nil
// when nothing is left to send. unthought: see [opensUnthought].
func (m *Model) messagesJSON(r llm.Request) (prefix, rest []byte, unthought bool, err error) {
	withThinking := m.sendsThinking(r)
	name := r.CacheKey
	if name != "" && !withThinking {
		name += " unthinking" // it is written otherwise
	}
	p := m.Prefixes().Take(name)
	turns := m.turns(r.Messages, p.Resume(r.Messages), withThinking)
	for p.Written() > 0 && countUser(turns) < breakpoints {
		p.Back()
		turns = m.turns(r.Messages, p.Written(), withThinking)
	}
	if len(turns) == 0 {
		return nil, nil, false, nil
	}
	unthought = opensUnthought(turns)
	stable := markBreakpoints(turns, r.CacheTTL)
	var w writer
	for i, t := range turns[:stable] {
		if err := t.write(&w); err != nil {
			return nil, nil, false, err
		}
		w.WriteByte(',')
		if len(p.JSON) == 0 {
			p.JSON = append(p.JSON, opening...)
		}
		p.JSON = append(p.JSON, w.Bytes()...)
		w.Reset()
		p.Cut(r.Messages, turns[i+1].begins)
	}
	if prefix = p.JSON; len(prefix) == 0 {
		prefix = []byte(opening)
	}
	m.Prefixes().Put(name, p)
	for i, t := range turns[stable:] {
		if i > 0 {
			w.WriteByte(',')
		}
		if err := t.write(&w); err != nil {
			return nil, nil, false, err
		}
	}
	return prefix, w.Bytes(), unthought, nil
}

// turns returns the history from a message on as it is written, neighbours of one role as one.
func (m *Model) turns(ms []transcript.Message, from int, withThinking bool) (turns []*turn) {
	for i := from; i < len(ms); i++ {
		t := m.turn(ms[i], withThinking)
		if len(t.results)+len(t.blocks)+len(t.raw) == 0 {
			continue
		}
		if n := len(turns); n > 0 && turns[n-1].role == t.role {
			turns[n-1].join(t)
			continue
		}
		t.begins = i
		turns = append(turns, t)
	}
	return turns
}

func countUser(turns []*turn) (n int) {
	for _, t := range turns {
		if t.role == "user" {
			n++
		}
	}
	return n
}

// opensUnthought reports whether the calls that the request gives results for stand in a
// message that does not begin with thinking: another model made them, or this one while it
// did not think, or a person permitted them.
func opensUnthought(turns []*turn) bool {
	for _, t := range slices.Backward(turns) {
		if t.role == "assistant" {
			return !isThinking(t.raw[0]) && slices.ContainsFunc(t.raw, isToolUse)
		}
	}
	return false
}

func (t *turn) join(next *turn) {
	t.results = append(t.results, next.results...)
	t.blocks = append(t.blocks, next.blocks...)
	t.raw = append(t.raw, next.raw...)
}

// breakpoints is how many of them the messages get.
const breakpoints = 2

// markBreakpoints puts a breakpoint on the last block of the last two user turns, and returns how
// many turns stand before the first of them.
func markBreakpoints(turns []*turn, ttl string) (before int) {
	free := breakpoints
	before = len(turns) - 1
	for i := len(turns) - 1; i >= 0 && free > 0; i-- {
		t := turns[i]
		if t.role != "user" {
			continue
		}
		last := &t.blocks
		if len(t.blocks) == 0 {
			last = &t.results
		}
		(*last)[len(*last)-1].Cache = breakpoint(ttl)
		free--
		before = i
	}
	return before
}

// write writes the turn as a message.
func (t *turn) write(w *writer) error {
	w.WriteString(`{"role":"` + t.role + `","content":`)
	if err := t.content(w); err != nil {
		return err
	}
	w.WriteByte('}')
	return nil
}

// content writes the turn's blocks in wire order. What the provider said
// itself goes out as it came, byte for byte.
func (t *turn) content(w *writer) error {
	w.begin('[')
	for _, raw := range t.raw {
		w.next()
		w.Write(raw)
	}
	for _, bs := range [][]block{t.results, t.blocks} {
		for _, b := range bs {
			w.next()
			if err := w.value(b); err != nil {
				return err
			}
		}
	}
	w.end(']')
	return nil
}

func (m *Model) turn(h transcript.Message, withThinking bool) *turn {
	if h.Role == transcript.Assistant {
		return &turn{role: "assistant", raw: m.encodeAssistant(h, withThinking)}
	}
	t := &turn{role: "user"}
	for _, p := range h.Parts {
		switch p := p.(type) {
		case transcript.Text:
			if strings.TrimSpace(p.Text) != "" {
				t.blocks = append(t.blocks, block{Type: "text", Text: p.Text})
			}
		case transcript.ToolResult:
			t.results = append(t.results, block{
				Type: "tool_result", ToolUseID: safeID(p.ToolCallID), Content: p.Content, IsError: p.IsError,
			})
		case transcript.Binary:
			t.blocks = append(t.blocks, m.encodeAttachment(p))
		case transcript.ImageURL:
			if m.Info().Vision {
				t.blocks = append(t.blocks, block{Type: "image", Source: &source{Type: "url", URL: p.URL}})
			} else {
				t.blocks = append(t.blocks, block{Type: "text", Text: "[picture: " + p.URL + "]"})
			}
		}
	}
	return t
}

// encodeAttachment returns a picture as a picture; anything else only by its name, since
// the model reads files with tools.
func (m *Model) encodeAttachment(b transcript.Binary) block {
	switch b.MIMEType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		if m.Info().Vision && len(b.Data) > 0 {
			return block{Type: "image", Source: &source{
				Type: "base64", MediaType: b.MIMEType, Data: base64.StdEncoding.EncodeToString(b.Data),
			}}
		}
	}
	return block{Type: "text", Text: wire.Mention(b)}
}

// encodeAssistant returns what the model said: in the provider's own words when they come
// from this provider and model; else rebuilt from the parts, without thinking,
// which only its maker can verify.
func (m *Model) encodeAssistant(h transcript.Message, withThinking bool) []json.RawMessage {
	if native, ok := m.NativeBlocks(h); ok {
		var out []json.RawMessage
		for _, b := range native {
			if !isEmptyText(b) && (withThinking || !isThinking(b)) {
				out = append(out, withSafeID(b))
			}
		}
		return out
	}
	var out []json.RawMessage
	for _, p := range h.Parts {
		var b block
		switch p := p.(type) {
		case transcript.Text:
			if strings.TrimSpace(p.Text) == "" {
				continue
			}
			b = block{Type: "text", Text: p.Text}
		case transcript.ToolCall:
			b = block{Type: "tool_use", ID: safeID(p.ID), Name: p.Name, Input: inputObject(p.Input)}
		default:
			continue
		}
		if raw, err := marshalUnescaped(b); err == nil {
			out = append(out, raw)
		}
	}
	return out
}

// withSafeID returns a block as it goes back. A call that was stored with an id which the API
// does not take gets the one that its result has.
func withSafeID(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"tool_use"`)) {
		return raw
	}
	var b struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	if json.Unmarshal(raw, &b) != nil || b.Type != "tool_use" || safeID(b.ID) == b.ID {
		return raw
	}
	return overlay(raw, map[string]any{"id": safeID(b.ID)})
}

// isEmptyText reports whether a block is a text without words, which the API
// returns but does not take.
func isEmptyText(raw json.RawMessage) bool {
	const usual = `{"type":"text","text":"`
	if rest, ok := bytes.CutPrefix(raw, []byte(usual)); ok && len(rest) > 0 && rest[0] > ' ' && rest[0] < 0x80 && rest[0] != '"' && rest[0] != '\\' {
		return false // as nearly all begin
	}
	var b struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return json.Unmarshal(raw, &b) == nil && b.Type == "text" && strings.TrimSpace(b.Text) == ""
}

// isThinking reports whether a block is thinking, to be read or not.
func isThinking(raw json.RawMessage) bool {
	t := typeOf(raw)
	return t == "thinking" || t == "redacted_thinking"
}

func isToolUse(raw json.RawMessage) bool { return typeOf(raw) == "tool_use" }

// typeOf returns the type of a block; "": it is none.
func typeOf(raw json.RawMessage) string {
	var b struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &b) != nil {
		return ""
	}
	return b.Type
}

// inputObject returns a tool call's arguments as an object, whatever the model wrote. (F10)
func inputObject(s string) json.RawMessage {
	trimmed := strings.TrimSpace(s)
	if strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	if trimmed == "" {
		return json.RawMessage(`{}`)
	}
	raw, _ := marshalUnescaped(map[string]string{"_raw": s}) // a map of strings always encodes
	return raw
}

// safeID returns a call id in the alphabet that the API takes. Ids from other
// providers may have dots and colons; the same one always becomes the same,
// and a hash keeps different ones apart.
func safeID(id string) string {
	return wire.SafeID(id)
}
