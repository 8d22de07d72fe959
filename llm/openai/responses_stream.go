package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/wire"
	"parley/transcript"
)

// maxItems is how many items one answer may have at most.
const maxItems = 1024

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
	e.Type = cmp.Or(e.Type, name)
	if _, shape := errors.AsType[*json.UnmarshalTypeError](err); shape && data[0] == '{' && !slices.Contains(knownEvents, e.Type) {
		err = nil
	}
	if err != nil {
		return e, wire.Malformedf("event: %v", err)
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

// responsesAnswer is an answer that is being received.
type responsesAnswer struct {
	incoming

	events         int
	status, reason string // how it ended, empty before
	failure        json.RawMessage

	items []*item
	open  *item // the message whose text is being shown
}

// apply works in one event.
func (a *responsesAnswer) apply(e responseEvent) error {
	a.events++
	if e.Response != nil {
		a.learn(e.Response)
	}
	switch e.Type {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		return a.applyEnd(e)
	case "response.output_item.added":
		return a.applyAdded(e)
	case "response.output_item.done":
		it, err := a.findItem(e, e.Item)
		if err != nil {
			return err
		}
		return a.finishItem(it, e.Item)
	case "response.output_text.delta", "response.refusal.delta":
		return a.applyDelta(e, "message")
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		return a.applyDelta(e, "reasoning")
	case "response.function_call_arguments.delta":
		return a.applyDelta(e, "function_call")
	case "response.function_call_arguments.done":
		it, err := a.itemFor(e, "function_call")
		if err != nil || it.done {
			return err
		}
		return a.appendCall(it, missingSuffix(&it.text, argumentPiece(e.Arguments)))
	}
	return nil
}

// learn takes over what is said of the whole response.
func (a *responsesAnswer) learn(r *responseState) {
	a.id = cmp.Or(a.id, r.ID)
	a.reported = cmp.Or(r.Model, a.reported)
	a.tier = cmp.Or(r.Tier, a.tier)
	if r.Usage != nil {
		a.usage = r.Usage.chatCounts()
	}
}

// applyEnd notes how the answer ended, and finishes what no event of its own has:
// a server may leave those out, or the list of the output, but not both. Where
// they differ the event counts, as the provider says of reasoning.
func (a *responsesAnswer) applyEnd(e responseEvent) error {
	a.status = strings.TrimPrefix(e.Type, "response.")
	r := e.Response
	if r == nil {
		return wire.Malformedf("%s without a response", e.Type)
	}
	if r.Status != "" && r.Status != "in_progress" {
		a.status = r.Status
	}
	a.reason = r.Incomplete.Reason
	if isPresent(r.Error) {
		a.failure, a.status = marshalObject(map[string]any{"error": r.Error}), "failed"
	}
	switch a.status {
	case "failed":
		if a.failure == nil {
			a.failure = json.RawMessage("{}")
		}
		return nil
	case "completed", "incomplete", "cancelled":
	default:
		return wire.Malformedf("%s with status %.40q", e.Type, a.status)
	}
	for i, raw := range r.Output {
		switch {
		case i >= len(a.items):
			it, err := a.add(raw)
			if err == nil {
				err = a.finishItem(it, raw)
			}
			if err != nil {
				return err
			}
		case !a.items[i].done && a.items[i].kind == itemType(raw):
			if err := a.finishItem(a.items[i], raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *responsesAnswer) applyAdded(e responseEvent) error {
	it, err := a.add(e.Item)
	if err != nil {
		return err
	}
	if e.Index != nil {
		it.index = *e.Index
	}
	if it.kind == "function_call" {
		return a.appendCall(it, "")
	}
	return nil
}

// applyDelta works in a piece of an item of this kind.
func (a *responsesAnswer) applyDelta(e responseEvent, kind string) error {
	it, err := a.itemFor(e, kind)
	if err != nil || it.done {
		return err
	}
	piece := argumentPiece(e.Delta)
	switch kind {
	case "function_call":
		return a.appendCall(it, piece)
	case "reasoning":
		return a.appendThinking(it, strings.TrimSuffix(e.Type, ".delta"), e.Part, piece)
	}
	it.refused = it.refused || e.Type == "response.refusal.delta"
	return a.appendText(it, piece)
}

func (a *responsesAnswer) appendText(it *item, piece string) error {
	if piece == "" {
		return nil
	}
	if a.open != it {
		a.closeText()
		a.open = it
		a.Emit(llm.Event{Type: llm.ContentStart})
	}
	it.text.WriteString(piece)
	a.EmitOutput(llm.ContentDelta, piece)
	return nil
}

// closeText ends the text that is being shown.
func (a *responsesAnswer) closeText() {
	if a.open != nil {
		a.open = nil
		a.Emit(llm.Event{Type: llm.ContentStop})
	}
}

// appendThinking takes thinking from one source only: there are servers that give the
// same as text and as summary. The parts of a summary are paragraphs. (TX08)
func (a *responsesAnswer) appendThinking(it *item, source string, part int, piece string) error {
	if piece == "" || it.source != "" && it.source != source {
		return nil
	}
	if it.source = source; part != it.part && it.text.Len() > 0 {
		piece = "\n\n" + piece
	}
	it.part = part
	it.text.WriteString(piece)
	a.EmitOutput(llm.ThinkingDelta, piece)
	return nil
}

// appendCall starts a call when its name is known, and adds to its arguments.
func (a *responsesAnswer) appendCall(it *item, piece string) error {
	if it.name != "" && !it.started {
		it.started = true
		it.callID = a.freshID(it)
		a.Emit(llm.Event{Type: llm.ToolUseStart, ToolCall: &transcript.ToolCall{ID: it.callID, Name: it.name}})
	}
	if piece == "" {
		return nil
	}
	it.text.WriteString(piece)
	a.EmitOutput(llm.ToolUseDelta, piece)
	if it.text.Len() > maxArguments {
		return wire.Malformedf("arguments longer than %d bytes", maxArguments)
	}
	return nil
}

// freshID returns a call's id if no other call has it, else a new one.
func (a *responsesAnswer) freshID(it *item) string {
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
