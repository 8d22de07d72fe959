package llm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"math"
	"unicode/utf8"

	"parley/transcript"
)

// RequestTemplate is what a request says besides its messages and how long the answer may
// be: who is asked, the system message, the tools, the options. Few calls differ
// in it, so it is kept once for many. CacheKey is no part of it: it is a hint to
// the provider that no model sees.
type RequestTemplate struct {
	Provider string
	Model    string
	System   []SystemBlock
	Tools    []Definition
	Choice   ToolChoice
	Parameters
}

// TemplateOf returns what r says to m besides its messages.
func TemplateOf(m Model, r Request) RequestTemplate {
	return RequestTemplate{
		Provider: m.Provider(), Model: m.Name(), System: r.System, Tools: r.Tools, Choice: r.Choice, Parameters: r.Parameters,
	}
}

// Request returns a request of this frame again.
func (f RequestTemplate) Request(ms []transcript.Message, maxTokens int, cacheKey string) Request {
	return Request{
		System: f.System, Messages: ms, Tools: f.Tools, Choice: f.Choice, MaxTokens: maxTokens,
		Parameters: f.Parameters, CacheKey: cacheKey,
	}
}

// Name is 64 hex digits that only this frame has.
func (f RequestTemplate) Name() string {
	d := newDigest("parley frame 1")
	d.writeStrings(f.Provider, f.Model)
	d.writeInt(len(f.System))
	for _, b := range f.System {
		d.writeStrings(b.Text)
		d.writeBool(b.Cache)
	}
	d.writeInt(len(f.Tools))
	for _, t := range f.Tools {
		d.writeStrings(t.Name, t.Description, string(t.Schema))
	}
	d.writeStrings(string(f.Choice), f.Effort)
	d.writeFloat(f.Temperature)
	d.writeFloat(f.TopP)
	if f.Thinking != "" || f.Summary != "" { // frames of before could not say it, and keep their names
		d.writeStrings("thinking", string(f.Thinking), f.Summary)
		d.writeInt(f.Budget)
	}
	return d.sum()
}

// Digest is 64 hex digits that stand for all that a model is asked: the frame of
// that name with these messages. What no model sees of a message is no part of
// it: its id, its times, what a tool result says to people only.
func Digest(frame string, ms []transcript.Message) string {
	d := newDigest("parley request 1")
	d.writeStrings(frame)
	d.writeInt(len(ms))
	for _, m := range ms {
		d.writeStrings(string(m.Role))
		d.writeInt(len(m.Parts))
		for _, p := range m.Parts {
			d.writePart(p)
		}
		d.writeBool(m.Native != nil)
		if n := m.Native; n != nil {
			d.writeStrings(n.Provider, n.Model)
			d.writeInt(len(n.Blocks))
			for _, b := range n.Blocks {
				d.writeBytes(b)
			}
		}
	}
	return d.sum()
}

// storedTemplate is Frame as it is kept. Schemas are texts, so that they stay as they
// are to the byte.
type storedTemplate struct {
	Provider string       `json:"provider"`
	Model    string       `json:"model"`
	System   []block      `json:"system"`
	Tools    []definition `json:"tools"`
	Choice   ToolChoice   `json:"choice,omitempty"`
	Parameters
}

type block struct {
	Text  string `json:"text"`
	Cache bool   `json:"cache,omitempty"`
}

type definition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Schema      string `json:"schema"`
}

// MarshalJSON returns the form in which stores keep a frame; what UnmarshalJSON
// makes of it has the same Name.
func (f RequestTemplate) MarshalJSON() ([]byte, error) {
	w := storedTemplate{
		Provider: f.Provider, Model: f.Model, System: []block{}, Tools: []definition{}, Choice: f.Choice, Parameters: f.Parameters,
	}
	for _, b := range f.System {
		w.System = append(w.System, block(b))
	}
	for _, t := range f.Tools {
		w.Tools = append(w.Tools, definition{t.Name, t.Description, string(t.Schema)})
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *RequestTemplate) UnmarshalJSON(b []byte) error {
	var w storedTemplate
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("decode a frame: %w", err)
	}
	*f = RequestTemplate{Provider: w.Provider, Model: w.Model, Choice: w.Choice, Parameters: w.Parameters}
	for _, b := range w.System {
		f.System = append(f.System, SystemBlock(b))
	}
	for _, t := range w.Tools {
		f.Tools = append(f.Tools, Definition{t.Name, t.Description, json.RawMessage(t.Schema)})
	}
	return nil
}

// digest hashes values so that no two lists of them look alike.
type digest struct {
	h   hash.Hash
	buf [512]byte
}

func newDigest(what string) *digest {
	d := &digest{h: sha256.New()}
	d.writeStrings(what)
	return d
}

func (d *digest) sum() string { return hex.EncodeToString(d.h.Sum(nil)) }

func (d *digest) writeInt(n int) {
	binary.BigEndian.PutUint64(d.buf[:8], uint64(n))
	_, _ = d.h.Write(d.buf[:8]) // a hash takes everything
}

func (d *digest) writeBool(b bool) {
	n := 0
	if b {
		n = 1
	}
	d.writeInt(n)
}

func (d *digest) writeFloat(f *float64) {
	d.writeBool(f != nil)
	if f != nil {
		binary.BigEndian.PutUint64(d.buf[:8], math.Float64bits(*f))
		_, _ = d.h.Write(d.buf[:8])
	}
}

func (d *digest) writeBytes(b []byte) {
	d.writeInt(len(b))
	_, _ = d.h.Write(b)
}

// writeStrings takes texts as JSON keeps them: a byte that is no UTF-8 is U+FFFD there.
func (d *digest) writeStrings(ss ...string) {
	for _, s := range ss {
		if !utf8.ValidString(s) {
			s = string([]rune(s))
		}
		d.writeInt(len(s))
		for len(s) > 0 { // a hash takes bytes: made of s as a whole they would be garbage as large as the request
			n := copy(d.buf[:], s)
			_, _ = d.h.Write(d.buf[:n])
			s = s[n:]
		}
	}
}

func (d *digest) writePart(p transcript.Part) {
	switch p := p.(type) {
	case transcript.Text:
		d.writeStrings("text", p.Text)
	case transcript.Reasoning:
		d.writeStrings("reasoning", p.Thinking)
	case transcript.ToolCall:
		d.writeStrings("tool_call", p.ID, p.Name, p.Input)
		d.writeBool(p.Finished)
	case transcript.ToolResult:
		d.writeStrings("tool_result", p.ToolCallID, p.Name, p.Content)
		d.writeBool(p.IsError)
	case transcript.Finish:
		d.writeStrings("finish", string(p.Reason))
	case transcript.Binary:
		d.writeStrings("binary", p.Path, p.MIMEType)
		if p.Sum != "" { // which says what the content is; the history has no more
			d.writeStrings(p.Sum)
			return
		}
		d.writeBytes(p.Data)
	case transcript.ImageURL:
		d.writeStrings("image_url", p.URL, p.Detail)
	case transcript.Unknown:
		d.writeStrings("unknown", p.Type)
		d.writeBytes(p.Data)
	}
}
