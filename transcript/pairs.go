package transcript

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnpaired is the kind of every error of Check.
var ErrUnpaired = errors.New("tool calls and results do not pair")

// Check reports whether every tool call has exactly one result and every result
// its call, adjacent: the results of an assistant message stand in the tool
// messages that directly follow it, in any order, in one message or several.
// Ids must be there and differ within the batch; another batch may use them
// again. The error wraps ErrUnpaired and names the message by its index in ms,
// and the id.
func Check(ms []Message) error {
	for i := 0; i < len(ms); {
		if ms[i].Role == Tool {
			return unpairedError(i, "results without a message that asked for them", "")
		}
		end := batchEnd(ms, i)
		if err := checkBatch(ms, i, end); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// batchEnd returns the index after the tool messages that directly follow ms[i].
func batchEnd(ms []Message, i int) int {
	end := i + 1
	for end < len(ms) && ms[end].Role == Tool {
		end++
	}
	return end
}

// checkBatch checks ms[at], which is no tool message, with the tool messages
// up to end.
func checkBatch(ms []Message, at, end int) error {
	if len(ms[at].Results()) > 0 {
		return unpairedError(at, "a result in a message of role "+string(ms[at].Role), ms[at].Results()[0].ToolCallID)
	}
	open := map[string]bool{}
	calls := ms[at].Calls()
	for _, c := range calls {
		switch {
		case ms[at].Role != Assistant:
			return unpairedError(at, "a call in a message of role "+string(ms[at].Role), c.ID)
		case c.ID == "":
			return unpairedError(at, "a call without an id", "")
		case open[c.ID]:
			return unpairedError(at, "two calls of one id", c.ID)
		}
		open[c.ID] = true
	}
	for i := at + 1; i < end; i++ {
		if c := ms[i].Calls(); len(c) > 0 {
			return unpairedError(i, "a call in a message of role tool", c[0].ID)
		}
		results := ms[i].Results()
		if len(results) == 0 {
			return unpairedError(i, "a tool message without results", "")
		}
		for _, r := range results {
			waiting, asked := open[r.ToolCallID]
			switch {
			case !asked:
				return unpairedError(i, "a result that the message before did not ask for", r.ToolCallID)
			case !waiting:
				return unpairedError(i, "a second result", r.ToolCallID)
			}
			open[r.ToolCallID] = false
		}
	}
	for _, c := range calls {
		if open[c.ID] {
			return unpairedError(at, "a call without a result", c.ID)
		}
	}
	return nil
}

func unpairedError(i int, what, id string) error {
	if id == "" {
		return fmt.Errorf("message %d: %s: %w", i, what, ErrUnpaired)
	}
	return fmt.Errorf("message %d: %s: id %q: %w", i, what, id, ErrUnpaired)
}

// Repair gives ms with its pairs put right, so that Check of the result is nil:
//
//   - a call that no adjacent result answers gets one with IsError set and
//     filler as its content, behind the results that are there. Where a message
//     is made for it, it has no ID: this is a history to send, not to store.
//   - a result that answers no call of the message before is dropped, and so is
//     a second one: the first counts.
//   - a call without an id, with an id that the batch already has, or outside an
//     assistant message is dropped. The Native form of that message, which still
//     holds it, goes too.
//   - messages without content are removed first: those that hold nothing but
//     blank text and a Finish, and have no Native form.
//
// What is in order stays as it is and where it is. ms is not changed. Repairing
// twice changes nothing more.
func Repair(ms []Message, filler string) []Message {
	full := ms
	if slices.ContainsFunc(ms, isEmpty) {
		full = slices.DeleteFunc(slices.Clone(ms), isEmpty)
	}
	out := make([]Message, 0, len(full)+1)
	for i := 0; i < len(full); {
		if full[i].Role == Tool {
			i++ // its assistant message is gone, or never was
			continue
		}
		end := batchEnd(full, i)
		out = appendBatch(out, full[i], full[i+1:end], filler)
		i = end
	}
	return out
}

// appendBatch appends asker, put right, and what of answers belongs to it.
func appendBatch(out []Message, caller Message, answers []Message, filler string) []Message {
	open := map[string]bool{}
	caller = withoutParts(caller, func(p Part) bool {
		switch p := p.(type) {
		case ToolResult:
			return true
		case ToolCall:
			if _, again := open[p.ID]; caller.Role != Assistant || p.ID == "" || again {
				return true
			}
			open[p.ID] = true
		}
		return false
	})
	if isEmpty(caller) {
		return out
	}
	out = append(out, caller)
	last := -1
	for _, m := range answers {
		m = withoutParts(m, func(p Part) bool {
			switch p := p.(type) {
			case ToolCall:
				return true
			case ToolResult:
				drop := !open[p.ToolCallID]
				open[p.ToolCallID] = false
				return drop
			}
			return false
		})
		if len(m.Results()) > 0 {
			last = len(out)
			out = append(out, m)
		}
	}
	var missing []Part
	for _, c := range caller.Calls() {
		if open[c.ID] {
			missing = append(missing, ToolResult{ToolCallID: c.ID, Name: c.Name, Content: filler, IsError: true})
		}
	}
	switch {
	case len(missing) == 0:
	case last >= 0:
		out[last].Parts = slices.Concat(out[last].Parts, missing)
	default:
		out = append(out, Message{Role: Tool, Parts: missing, CreatedAt: caller.CreatedAt})
	}
	return out
}

// withoutParts is m less the parts that drop names. Native goes with the first one:
// it would bring the dropped part back.
func withoutParts(m Message, drop func(Part) bool) Message {
	var kept []Part
	whole := true // nothing was dropped yet: most messages stay as they are
	for i, p := range m.Parts {
		switch dropped := drop(p); {
		case dropped && whole:
			whole = false
			kept = append(kept, m.Parts[:i]...)
		case !dropped && !whole:
			kept = append(kept, p)
		}
	}
	if whole {
		return m
	}
	m.Parts, m.Native = kept, nil
	return m
}

// isEmpty reports whether m holds nothing that a model could read.
func isEmpty(m Message) bool {
	if m.Native != nil {
		return false
	}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case Finish:
		case Text:
			if strings.TrimSpace(p.Text) != "" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// Merge joins adjacent tool messages into one each, and nothing else: stores
// append a tool message per result, a request has one per batch. The joined
// message keeps the ID and time of its first. ms is not changed; it is returned where
// nothing is to be joined.
func Merge(ms []Message) []Message {
	alone := true
	for i := 1; i < len(ms) && alone; i++ {
		alone = ms[i].Role != Tool || ms[i-1].Role != Tool
	}
	if alone {
		return ms
	}
	out := make([]Message, 0, len(ms))
	for _, m := range ms {
		if n := len(out); n > 0 && m.Role == Tool && out[n-1].Role == Tool {
			out[n-1].Parts = slices.Concat(out[n-1].Parts, m.Parts)
			continue
		}
		out = append(out, m)
	}
	return out
}
