package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"parley/llm/wire"
)

// item is an item of the output that is being received.
type item struct {
	index   int
	id      string
	kind    string // message, reasoning, function_call, or what the provider did by itself
	done    bool
	status  string
	raw     json.RawMessage // as it came when it was done
	text    strings.Builder // text, thinking or arguments
	refused bool

	source string // of the thinking
	part   int    // of the summary

	callID, name string
	started      bool // ToolUseStart was sent
}

// itemState is an item as events have it, as far as we read it.
type itemState struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Status    string          `json:"status"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
}

func decodeItem(raw json.RawMessage) (itemState, error) {
	var s itemState
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, wire.Malformedf("item: %v", err)
	}
	if s.Type == "" {
		return s, wire.Malformedf("item without a type")
	}
	return s, nil
}

// add begins a new item.
func (a *responsesAnswer) add(raw json.RawMessage) (*item, error) {
	s, err := decodeItem(raw)
	if err != nil {
		return nil, err
	}
	return a.begin(&item{index: len(a.items), id: s.ID, kind: s.Type, callID: s.CallID, name: s.Name})
}

func (a *responsesAnswer) begin(it *item) (*item, error) {
	if len(a.items) >= maxItems {
		return nil, wire.Malformedf("more than %d items", maxItems)
	}
	a.items = append(a.items, it)
	a.Allowed.CountFrame(len(it.id) + len(it.kind) + len(it.callID) + len(it.name))
	return it, nil
}

// findItem returns the item that raw is the end of; a new one if nothing of it came.
func (a *responsesAnswer) findItem(e responseEvent, raw json.RawMessage) (*item, error) {
	s, err := decodeItem(raw)
	if err != nil {
		return nil, err
	}
	e.ItemID = s.ID
	return a.itemFor(e, s.Type)
}

// itemFor returns the item of a kind that an event belongs to: that of its id, else the
// open one in its place, else a new one. There are servers that name an item
// differently in each event, others that number every item 0, and others that
// do not announce it.
func (a *responsesAnswer) itemFor(e responseEvent, kind string) (*item, error) {
	for _, it := range a.items {
		if e.ItemID != "" && it.id == e.ItemID && it.kind == kind {
			return it, nil
		}
	}
	for _, it := range slices.Backward(a.items) {
		if !it.done && it.kind == kind && (e.Index == nil || *e.Index == it.index) {
			return it, nil
		}
	}
	it := &item{index: len(a.items), id: e.ItemID, kind: kind}
	if e.Index != nil {
		it.index = *e.Index
	}
	return a.begin(it)
}

// finishItem takes over an item that is whole, and shows what no delta brought.
func (a *responsesAnswer) finishItem(it *item, raw json.RawMessage) error {
	s, err := decodeItem(raw)
	if err != nil {
		return err
	}
	it.raw, it.status = raw, s.Status
	a.Allowed.CountKept(len(raw))
	switch it.kind {
	case "message":
		whole, refused, err := messageText(s.Content)
		if err != nil {
			return err
		}
		it.refused = it.refused || refused
		if err := a.appendText(it, missingSuffix(&it.text, whole)); err != nil {
			return err
		}
		a.closeText()
	case "reasoning":
		err = a.emitThinking(it, s)
	case "function_call":
		it.name = cmp.Or(it.name, s.Name)
		if !it.started {
			it.callID = cmp.Or(it.callID, cmp.Or(s.CallID, s.ID))
		}
		err = a.appendCall(it, missingSuffix(&it.text, argumentPiece(s.Arguments)))
	}
	it.done = true
	return err
}

// emitThinking shows thinking that came without deltas.
func (a *responsesAnswer) emitThinking(it *item, s itemState) error {
	if it.text.Len() > 0 {
		return nil
	}
	for _, raw := range []json.RawMessage{s.Content, s.Summary} {
		parts, err := contentParts(raw)
		if err != nil {
			return err
		}
		for i, p := range parts {
			if err := a.appendThinking(it, "item", i, p.Text); err != nil {
				return err
			}
		}
		if it.text.Len() > 0 {
			return nil
		}
	}
	return nil
}

// missingSuffix returns what have lacks of whole. When what came before is no beginning of
// whole, whole counts, and nothing of it can be shown again.
func missingSuffix(have *strings.Builder, whole string) string {
	if tail, ok := strings.CutPrefix(whole, have.String()); ok {
		return tail
	}
	if whole != "" {
		have.Reset()
		have.WriteString(whole)
	}
	return ""
}

type outputPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// messageText returns the text of a message.
func messageText(content json.RawMessage) (text string, refused bool, err error) {
	if json.Unmarshal(content, &text) == nil {
		return text, false, nil
	}
	parts, err := contentParts(content)
	for _, p := range parts {
		text += p.Text + p.Refusal
		refused = refused || p.Type == "refusal"
	}
	return text, refused, err
}

func contentParts(raw json.RawMessage) ([]outputPart, error) {
	var parts []outputPart
	if len(raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, wire.Malformedf("content of an item: %v", err)
	}
	return parts, nil
}

// isPresent reports whether a value is there and not null.
func isPresent(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
