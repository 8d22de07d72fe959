package llm

import (
	"encoding/json"
	"fmt"

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
