package openai

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/wire"
	"parley/transcript"
)

// mostItems is how many items one answer may have at most.
const mostItems = 1024

// responseEvent is one event of the stream as far as we read it. Events of
// types that we do not know may look like anything and mean nothing to us.
type responseEvent struct {
	Type  string          `json:"type"`
	Error json.RawMessage `json:"error"`

	Index     *int            `json:"output_index"`
	ItemID    string          `json:"item_id"`
	Part      int             `json:"summary_index"`
	Item      json.RawMessage `json:"item"`
	Delta     json.RawMessage `json:"delta"`
	Arguments json.RawMessage `json:"arguments"`
	Response  *responseState  `json:"response"`
}

// responseState is the response as events at its beginning and end have it.
type responseState struct {
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Status     string            `json:"status"`
	Tier       string            `json:"service_tier"`
	Output     []json.RawMessage `json:"output"`
	Usage      *responseCounts   `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// decodeEvent reads an event. Its type stands in the data; name, that of the
// event stream, is for servers that leave it out there.
func decodeEvent(name string, data []byte) (responseEvent, error) {
	var e responseEvent
	err := json.Unmarshal(data, &e)
	e.Type = firstOf(e.Type, name)
	if _, shape := errors.AsType[*json.UnmarshalTypeError](err); shape && data[0] == '{' && !slices.Contains(knownEvents, e.Type) {
		err = nil
	}
	if err != nil {
		return e, broken("event: %v", err)
	}
	return e, nil
}

var knownEvents = []string{
	"response.created", "response.queued", "response.in_progress",
	"response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done",
	"response.output_item.added", "response.output_item.done",
	"response.output_text.delta", "response.refusal.delta",
	"response.reasoning_text.delta", "response.reasoning_summary_text.delta",
	"response.function_call_arguments.delta", "response.function_call_arguments.done",
}

// turn is an answer that is being received.
type turn struct {
	incoming

	events         int
	status, reason string // how it ended, empty before
	failure        json.RawMessage

	items []*item
	open  *item // the message whose text is being shown
}

// take works in one event.
func (a *turn) take(e responseEvent) error {
	a.events++
	if e.Response != nil {
		a.learn(e.Response)
	}
	switch e.Type {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		return a.end(e)
	case "response.output_item.added":
		return a.added(e)
	case "response.output_item.done":
		it, err := a.find(e, e.Item)
		if err != nil {
			return err
		}
		return a.finish(it, e.Item)
	case "response.output_text.delta", "response.refusal.delta":
		return a.delta(e, "message")
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		return a.delta(e, "reasoning")
	case "response.function_call_arguments.delta":
		return a.delta(e, "function_call")
	case "response.function_call_arguments.done":
		it, err := a.item(e, "function_call")
		if err != nil || it.done {
			return err
		}
		return a.call(it, rest(&it.text, argumentPiece(e.Arguments)))
	}
	return nil
}

// learn takes over what is said of the whole response.
func (a *turn) learn(r *responseState) {
	a.id = firstOf(a.id, r.ID)
	a.reported = firstOf(r.Model, a.reported)
	a.tier = firstOf(r.Tier, a.tier)
	if r.Usage != nil {
		a.usage = r.Usage.plain()
	}
}

// end notes how the answer ended, and finishes what no event of its own has:
// a server may leave those out, or the list of the output, but not both. Where
// they differ the event counts, as the provider says of reasoning.
func (a *turn) end(e responseEvent) error {
	a.status = strings.TrimPrefix(e.Type, "response.")
	r := e.Response
	if r == nil {
		return broken("%s without a response", e.Type)
	}
	if r.Status != "" && r.Status != "in_progress" {
		a.status = r.Status
	}
	a.reason = r.Incomplete.Reason
	if given(r.Error) {
		a.failure, a.status = object(map[string]any{"error": r.Error}), "failed"
	}
	switch a.status {
	case "failed":
		if a.failure == nil {
			a.failure = json.RawMessage("{}")
		}
		return nil
	case "completed", "incomplete", "cancelled":
	default:
		return broken("%s with status %.40q", e.Type, a.status)
	}
	for i, raw := range r.Output {
		switch {
		case i >= len(a.items):
			it, err := a.add(raw)
			if err == nil {
				err = a.finish(it, raw)
			}
			if err != nil {
				return err
			}
		case !a.items[i].done && a.items[i].kind == itemType(raw):
			if err := a.finish(a.items[i], raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *turn) added(e responseEvent) error {
	it, err := a.add(e.Item)
	if err != nil {
		return err
	}
	if e.Index != nil {
		it.index = *e.Index
	}
	if it.kind == "function_call" {
		return a.call(it, "")
	}
	return nil
}

// delta works in a piece of an item of this kind.
func (a *turn) delta(e responseEvent, kind string) error {
	it, err := a.item(e, kind)
	if err != nil || it.done {
		return err
	}
	piece := argumentPiece(e.Delta)
	switch kind {
	case "function_call":
		return a.call(it, piece)
	case "reasoning":
		return a.think(it, strings.TrimSuffix(e.Type, ".delta"), e.Part, piece)
	}
	it.refused = it.refused || e.Type == "response.refusal.delta"
	return a.say(it, piece)
}

func (a *turn) say(it *item, piece string) error {
	if piece == "" {
		return nil
	}
	if a.open != it {
		a.close()
		a.open = it
		a.emit(llm.Event{Type: llm.ContentStart})
	}
	it.text.WriteString(piece)
	a.piece(llm.ContentDelta, piece)
	return nil
}

// close ends the text that is being shown.
func (a *turn) close() {
	if a.open != nil {
		a.open = nil
		a.emit(llm.Event{Type: llm.ContentStop})
	}
}

// think takes thinking from one source only: there are servers that give the
// same as text and as summary. The parts of a summary are paragraphs. (TX08)
func (a *turn) think(it *item, source string, part int, piece string) error {
	if piece == "" || it.source != "" && it.source != source {
		return nil
	}
	if it.source = source; part != it.part && it.text.Len() > 0 {
		piece = "\n\n" + piece
	}
	it.part = part
	it.text.WriteString(piece)
	a.piece(llm.ThinkingDelta, piece)
	return nil
}

// call starts a call when its name is known, and adds to its arguments.
func (a *turn) call(it *item, piece string) error {
	if it.name != "" && !it.started {
		it.started = true
		it.callID = a.freshID(it)
		a.emit(llm.Event{Type: llm.ToolUseStart, ToolCall: &transcript.ToolCall{ID: it.callID, Name: it.name}})
	}
	if piece == "" {
		return nil
	}
	it.text.WriteString(piece)
	a.piece(llm.ToolUseDelta, piece)
	if it.text.Len() > mostArguments {
		return broken("arguments longer than %d bytes", mostArguments)
	}
	return nil
}

// freshID is a call's id if no other call has it, else a new one.
func (a *turn) freshID(it *item) string {
	if it.callID == "" {
		return wire.NewID()
	}
	id := wire.SafeID(it.callID)
	for _, other := range a.items {
		if other != it && other.started && other.callID == id {
			return wire.NewID()
		}
	}
	return id
}
