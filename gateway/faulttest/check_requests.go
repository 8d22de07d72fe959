package faulttest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/simulators/model"
)

// conversation is what requests to the model said of one.
type conversation struct {
	done    map[string]bool // calls of tools whose result was no error
	unknown map[string]bool // calls whose outcome nobody knows
}

// block is a part of a message on Anthropic's wire.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Input     json.RawMessage `json:"input"`
	Content   json.RawMessage `json:"content"` // of a result
}

// message is one on Anthropic's wire, whose content is a text or blocks.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func (m message) blocks() ([]block, error) {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []block{{Type: "text", Text: text}}, nil
	}
	var bs []block
	if err := json.Unmarshal(m.Content, &bs); err != nil {
		return nil, fmt.Errorf("content of a message: %w", err)
	}
	return bs, nil
}

// checkRequests looks at everything that the model was sent, and gives what it says of
// each conversation, by canary.
func (r *Report) checkRequests(b Evidence) map[string]conversation {
	entries := map[string]model.Entry{}
	for _, e := range b.Bill.Entries {
		entries[e.ID] = e
		if e.Outcome == model.Refused && e.Fault == "" {
			r.add(History, "request %s was refused: %s", e.ID, e.Error)
		}
	}
	finished := map[[32]byte][]string{}
	calls := newCalls(b)
	started := map[string][]time.Time{} // by canary
	cut := map[string][]time.Time{}
	seen := map[string]conversation{}
	for _, q := range b.Requests {
		canary := r.checkRequest(q, seen)
		if canary != "" && !asksTitle(q) {
			started[canary] = append(started[canary], q.At)
		}
		switch e := entries[q.ID]; e.Outcome {
		case model.Complete:
			if canary == "" || asksTitle(q) { // not of the load, or not of its turns
				break
			}
			if asksSummary(q) {
				r.Summaries++
			}
			sum := sha256.Sum256(q.Body)
			finished[sum] = append(finished[sum], q.ID)
		case model.Aborted:
			r.Aborted++
			if canary != "" {
				cut[canary] = append(cut[canary], e.At)
			}
		}
	}
	for _, ids := range finished {
		slices.SortFunc(ids, func(a, b string) int { return entries[a].At.Compare(entries[b].At) })
		for i, id := range ids[:len(ids)-1] {
			if why := calls.repaidReason(id, ids[i+1]); why != "" {
				r.add(Repaid, "request %s of %s was answered in full, and asked again as %s of %s: %s",
					id, entries[id].Client, ids[i+1], entries[ids[i+1]].Client, why)
			}
		}
	}
	r.checkTitles(b)
	r.measureResumption(b.Faults, started, cut)
	for _, c := range seen {
		r.Unknown += len(c.unknown)
	}
	return seen
}

// checkRequest looks at one request, and gives whose it is.
func (r *Report) checkRequest(q model.Recorded, seen map[string]conversation) string {
	canary := ""
	for _, found := range canaryIn.FindAll(q.Body, -1) {
		switch {
		case canary == "":
			canary = string(found)
		case canary != string(found):
			r.add(Stray, "request %s holds %s and %s", q.ID, canary, found)
			return canary
		}
	}
	var body struct {
		Messages []message `json:"messages"`
	}
	if err := json.Unmarshal(q.Body, &body); err != nil {
		r.add(History, "request %s cannot be read: %v", q.ID, err)
		return canary
	}
	c, ok := seen[canary]
	if !ok {
		c = conversation{map[string]bool{}, map[string]bool{}}
		seen[canary] = c
	}
	newest := -1
	var open map[string]string // calls of the message before: their name in the file
	for i, m := range body.Messages {
		bs, err := m.blocks()
		if err != nil {
			r.add(History, "request %s: %v", q.ID, err)
			return canary
		}
		open = r.checkPairs(q.ID, i, bs, open, c)
		if m.Role != "user" {
			continue
		}
		for _, b := range bs {
			for _, f := range questionIn.FindAllStringSubmatch(b.Text, -1) {
				var n int
				_, _ = fmt.Sscan(f[2], &n)
				if n <= newest {
					r.add(Doubled, "request %s has question %d after question %d of conversation %s", q.ID, n, newest, f[1])
				}
				newest = max(newest, n)
			}
		}
	}
	if len(open) > 0 {
		r.add(History, "request %s ends with %d calls that have no result", q.ID, len(open))
	}
	return canary
}

// checkPairs holds the calls of one message to exactly one result each, in the next.
func (r *Report) checkPairs(id string, i int, bs []block, open map[string]string, c conversation) (next map[string]string) {
	next = map[string]string{}
	for _, b := range bs {
		switch b.Type {
		case "tool_use":
			if _, twice := next[b.ID]; twice {
				r.add(History, "message %d of request %s has two calls %s", i, id, b.ID)
			}
			next[b.ID] = callIn.FindString(string(b.Input))
		case "tool_result":
			name, ok := open[b.ToolUseID]
			if !ok {
				r.add(History, "message %d of request %s has a result for %s, which was not called or has one", i, id, b.ToolUseID)
				continue
			}
			delete(open, b.ToolUseID)
			switch {
			case name == "" || strings.Contains(string(b.Content), waitsForPermission):
			case !b.IsError:
				c.done[name] = true
			case strings.Contains(string(b.Content), "interrupted, outcome unknown"):
				c.unknown[name] = true
			}
		}
	}
	for call := range open {
		r.add(History, "message %d of request %s has no result for the call %s", i, id, call)
	}
	return next
}

// measureResumption measures how long conversations stood still after faults.
func (r *Report) measureResumption(faults []Fault, started, cut map[string][]time.Time) {
	for canary, ats := range cut {
		for _, at := range ats {
			i := slices.IndexFunc(faults, func(f Fault) bool { return f.At.After(at) })
			if i < 0 {
				continue
			}
			j := slices.IndexFunc(started[canary], func(t time.Time) bool { return t.After(faults[i].At) })
			if j >= 0 {
				r.Resumed = append(r.Resumed, started[canary][j].Sub(faults[i].At))
			}
		}
	}
	slices.Sort(r.Resumed)
}
