package model

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// Protocol is which provider's language a request was written in.
type Protocol string

// The protocols.
const (
	Anthropic Protocol = "anthropic" // POST /v1/messages
	OpenAI    Protocol = "openai"    // POST /v1/chat/completions

	OpenAIResponses Protocol = "openai-responses" // POST /v1/responses

	OpenAITranscriptions Protocol = "openai-transcriptions" // POST /v1/audio/transcriptions
)

// Role is who speaks. Tool results have the role of the person in all
// protocols' prompts; System appears in no message.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Prompt is a request as a [Brain] sees it, the same for all protocols. A
// brain must not change what it points to.
type Prompt struct {
	ID        string // request id, as in the bill and the response header
	Protocol  Protocol
	Model     string
	System    string // all system text, blocks joined with a blank line
	Messages  []Message
	Tools     []Tool
	Choice    Choice
	MaxTokens int  // 0: not given
	Thinking  bool // thinking, or a reasoning effort, was asked for
	Stream    bool
	Body      []byte // the request as it came

	usageInStream bool // OpenAI: stream_options.include_usage
	responses     responsesWishes
	kept          time.Duration // OpenAI: how long a cached prefix is kept; 0: nothing said
	segments      []segment
	anthropic
}

// anthropic is what only Anthropic's requests say.
type anthropic struct {
	starts   []int   // where the segments of each message begin
	manual   bool    // a number of thinking tokens was given
	strict   bool    // an open tool loop must begin with its thinking
	display  *string // how thinking is to be shown
	settings string  // what of thinking, effort and tool choice is part of a cached prefix

	bound           bool      // the model's thinking is bound to what stands before it
	bindingControls bool      // the request asks for thinking.block_binding
	dropUnbound     bool      // thinking that stands behind something else is dropped
	dropped         []dropped // of it
}

// dropped is a block that the model did not get to see.
type dropped struct {
	Type   string `json:"type"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Message is one message: its text blocks joined with a line break, and what
// else it holds. OpenAI's tool messages that follow each other are one message
// here, as they are in Anthropic's protocol; so are the items of Responses that
// came from the model one after the other.
type Message struct {
	Role     Role
	Text     string
	Thinking string // readable thinking that was sent back
	Calls    []Call
	Results  []Result
	Others   int // blocks of other kinds: images, documents
	Pictures []Picture
}

// Picture is an image whose bytes a request held. One that a request only names is counted
// among the others of its message, and no more.
type Picture struct {
	MediaType string
	Data      []byte
}

// pictureOf returns the picture in a data: URL.
func pictureOf(url string) []Picture {
	rest, ok := strings.CutPrefix(url, "data:")
	kind, text, ok2 := strings.Cut(rest, ";base64,")
	if !ok || !ok2 {
		return nil
	}
	return decodePicture(kind, text)
}

func decodePicture(kind, text string) []Picture {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		return nil
	}
	return []Picture{{kind, data}}
}

// Call is a tool call that the model made earlier. Input is its arguments as
// they came back; in OpenAI's protocol they may be no JSON at all.
type Call struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// Result is what a tool gave back. Name is found through the call.
type Result struct {
	CallID string
	Name   string
	Text   string
	Error  bool // Anthropic's is_error; OpenAI has no such thing
}

// Tool is a tool that may be called. Schema is the JSON Schema of its input.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Choice decides whether a tool may, must or must not be called.
type Choice struct {
	Mode    ChoiceMode
	Name    string // the tool, when Mode is ChoiceNamed
	OnlyOne bool   // no parallel calls
}

// ChoiceMode is the kind of a [Choice].
type ChoiceMode string

// The modes; the zero value is automatic.
const (
	ChoiceAuto     ChoiceMode = ""
	ChoiceNone     ChoiceMode = "none"
	ChoiceRequired ChoiceMode = "required"
	ChoiceNamed    ChoiceMode = "named"
)

// LastText returns the text of the last message of the person that has any, so it
// stays the same while tools are called. It is empty if there is none.
func (p *Prompt) LastText() string {
	for i := len(p.Messages) - 1; i >= 0; i-- {
		if m := &p.Messages[i]; m.Role == User && strings.TrimSpace(m.Text) != "" {
			return m.Text
		}
	}
	return ""
}

// Answering are the tool results in the last message: not empty when the model
// is asked to go on after its calls.
func (p *Prompt) Answering() []Result {
	if len(p.Messages) == 0 {
		return nil
	}
	return p.Messages[len(p.Messages)-1].Results
}

// IsFirst reports whether the model has not said anything yet.
func (p *Prompt) IsFirst() bool {
	for i := range p.Messages {
		if p.Messages[i].Role == Assistant {
			return false
		}
	}
	return true
}

// Offers finds a tool that may be called now: false if it is not offered, or
// calling is forbidden or bound to another tool.
func (p *Prompt) Offers(name string) (Tool, bool) {
	if p.Choice.Mode == ChoiceNone || (p.Choice.Mode == ChoiceNamed && p.Choice.Name != name) {
		return Tool{}, false
	}
	for _, t := range p.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}
