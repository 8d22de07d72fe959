package model

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Brain decides what is answered. Many requests ask at once. Its context ends
// when the client goes away or the server stops. A brain that blocks delays
// the response head.
type Brain func(ctx context.Context, p *Prompt) Answer

// Answer is what the model says. The zero value says nothing and ends the
// turn.
type Answer struct {
	Blocks []Block
	Finish Finish // empty: calls if there are any, else the end of the turn

	// Usage replaces the counted usage; it is also what is billed. Start
	// replaces what Anthropic's message_start tells of it, to be corrected at
	// the end as some proxies do.
	Usage *Usage
	Start *Usage

	Latency    time.Duration // before the response head
	FirstToken time.Duration // after the head, before the first content
	Pace       time.Duration // before every further piece of content
	PieceBytes int           // size of a streamed piece; 0: word by word

	// Refuse answers with an error instead.
	Refuse *Refusal
}

// Finish is why the model stopped.
type Finish string

// Finishes.
const (
	EndTurn  Finish = "end"    // end_turn, stop, completed
	ToolUse  Finish = "tools"  // tool_use, tool_calls, completed
	Length   Finish = "length" // max_tokens, length, incomplete for max_output_tokens
	Declined Finish = "filter" // refusal, content_filter, incomplete for content_filter
	Stopped  Finish = "stop"   // stop_sequence, stop, completed
	Paused   Finish = "pause"  // pause_turn; stop and completed for OpenAI
)

// Kind is what a [Block] is.
type Kind string

// The kinds of blocks.
const (
	TextBlock     Kind = "text"
	ThinkingBlock Kind = "thinking"
	RedactedBlock Kind = "redacted"
	CallBlock     Kind = "call"
)

// Block is a part of an answer. OpenAI's Chat Completions shows no thinking: it
// only counts as reasoning. Responses
// shows it as a summary if the request asks for one, and gives it encrypted if
// the request asks for that.
type Block struct {
	Kind Kind
	Text string // text or thinking; for a redacted block what is hidden

	ID    string // of a call; empty: a fresh one
	Name  string // of the tool
	Input string // arguments, normally a JSON object; empty: {}

	// Signature of thinking, data of a redacted block, or encrypted content of
	// either in Responses; empty: made by the server. It must come back
	// unaltered.
	Signature string

	hidden int // bytes of thinking that the request does not want to see
}

// Say returns a block of text.
func Say(text string) Block { return Block{Kind: TextBlock, Text: text} }

// Think returns a block of thinking, with a signature.
func Think(text string) Block { return Block{Kind: ThinkingBlock, Text: text} }

// Redact is thinking that nobody may read.
func Redact(hidden string) Block { return Block{Kind: RedactedBlock, Text: hidden} }

// Use returns a call of a tool. What input cannot be marshalled is sent as its
// text, as a model that gets its JSON wrong would.
func Use(name string, input any) Block {
	b := Block{Kind: CallBlock, Name: name}
	switch v := input.(type) {
	case string:
		b.Input = v
	case json.RawMessage:
		b.Input = string(v)
	default:
		raw, err := json.Marshal(input)
		if err != nil {
			raw = fmt.Append(nil, input)
		}
		b.Input = string(raw)
	}
	return b
}

// Reply returns an answer of blocks.
func Reply(blocks ...Block) Answer { return Answer{Blocks: blocks} }

// Echo says back the last text of the person, or the results of tools if those
// were just given.
func Echo(_ context.Context, p *Prompt) Answer {
	if rs := p.Answering(); len(rs) > 0 {
		text := ""
		for i, r := range rs {
			if i > 0 {
				text += "\n"
			}
			text += r.Text
		}
		return Reply(Say(text))
	}
	return Reply(Say(p.LastText()))
}

// Scripted gives the answers in turn, one for each request that is neither
// refused nor stopped by a fault before it. After the last one requests are
// answered with 500, so that a test notices. It may be used by many requests
// at once; they then share the list.
func Scripted(list ...Answer) Brain {
	var (
		mu   sync.Mutex
		next int // guarded by mu
	)
	return func(context.Context, *Prompt) Answer {
		mu.Lock()
		defer mu.Unlock()
		if next >= len(list) {
			return Answer{Refuse: &Refusal{Status: 500, Message: "the script has no more answers"}}
		}
		next++
		return list[next-1]
	}
}
