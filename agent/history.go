package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/costs"
	"parley/tools"
	"parley/transcript"
)

func answerID(turn string, step int) string {
	return transcript.MessageID{Turn: turn, Kind: transcript.Answer, Step: step}.String()
}

func resultID(turn string, step, index int) string {
	return transcript.MessageID{Turn: turn, Kind: transcript.Result, Step: step, Index: index}.String()
}

// stepOf returns which answer of the turn has the id; ok is false when none has.
func stepOf(turn, id string) (step int, ok bool) {
	m, ok := transcript.ParseMessageID(id)
	return m.Step, ok && m.Kind == transcript.Answer && m.Turn == turn
}

// beginPermitted adds the call with which the turn begins to the history, if it has one that
// is not there yet: as the answer of a step before the first, so that it has its result as any
// other call.
func (r *run) beginPermitted(ctx context.Context, history []transcript.Message) (begun bool, err error) {
	c := r.turn.Permitted
	if c == nil || hasAnswer(history, r.turn.ID) {
		return false, nil
	}
	m := transcript.Message{
		ID: answerID(r.turn.ID, 0), Role: transcript.Assistant, CreatedAt: r.Now(),
		Parts: []transcript.Part{*c, transcript.Finish{Reason: transcript.ToolUse, Time: r.Now()}},
	}
	commit, done := r.commitContext(ctx)
	defer done()
	if err := r.Journal.Append(commit, m); err != nil {
		return false, fmt.Errorf("begin with the call that waited: %w", err)
	}
	return true, nil
}

// maxCalls is how many calls of one answer are run. (abuse M2)
const maxCalls = costs.MaxToolCalls

// batch is the calls of one answer that have no result yet, in order.
type batch struct {
	step     int
	calls    []call
	text     string // what the answer said beside them
	failures *failures
}

type call struct {
	transcript.ToolCall
	index     int  // its place among the calls of the answer
	truncated bool // the answer was cut before the call was surely complete
}

func (b batch) isEmpty() bool { return len(b.calls) == 0 }

// pendingCalls finds what the last answer asked for and did not get. Only this
// turn's calls count: a call before the newest message of a user belongs to a
// turn that is over, unless the answer bears this turn's id.
func pendingCalls(history []transcript.Message, t Turn) batch {
	at, fromUser := -1, false
	for i, m := range slices.Backward(history) {
		if m.Role == transcript.Assistant {
			at = i
			break
		}
		fromUser = fromUser || m.Role == transcript.User
	}
	if at < 0 {
		return batch{}
	}
	step, own := stepOf(t.ID, history[at].ID)
	if !own {
		if fromUser {
			return batch{}
		}
		step = max(t.Steps, 1)
	}
	answered := map[string]bool{}
	for _, m := range history[at+1:] {
		for _, p := range m.Parts {
			if res, ok := p.(transcript.ToolResult); ok {
				answered[res.ToolCallID] = true
			}
		}
	}
	b := callsOf(history[at], step)
	b.calls = slices.DeleteFunc(b.calls, func(c call) bool { return answered[c.ID] })
	b.failures = countFailures(history, t.ID)
	return b
}

// callsOf returns all calls of an answer.
func callsOf(answer transcript.Message, step int) batch {
	why := answer.Finish().Reason
	short := why == transcript.MaxTokens || why == transcript.ContextLimit
	b := batch{step: step, text: answer.Text()}
	for i, c := range answer.Calls() {
		b.calls = append(b.calls, call{c, i, short && !isWhole(answer, c)})
	}
	return b
}

// isWhole reports whether the call c of an answer that was cut surely stands before the
// cut. The last one may not if it has no arguments: they may have been about to come.
func isWhole(answer transcript.Message, c transcript.ToolCall) bool {
	if !c.Finished || !json.Valid([]byte(c.Input)) {
		return false
	}
	for _, p := range slices.Backward(answer.Parts) {
		switch p := p.(type) {
		case transcript.Finish:
		case transcript.ToolCall:
			return p.ID != c.ID || strings.Trim(c.Input, " {}") != ""
		default:
			return true
		}
	}
	return true
}

// dedupeCallIDs gives the calls of an answer ids that differ, where the provider's
// do not (some number from zero in each answer, some send none). The message
// then loses its native form, which has the provider's.
func dedupeCallIDs(m transcript.Message, id string) transcript.Message {
	seen := map[string]bool{}
	var parts []transcript.Part
	for i, p := range m.Parts {
		c, ok := p.(transcript.ToolCall)
		if !ok {
			continue
		}
		if c.ID == "" || seen[c.ID] {
			if parts == nil {
				parts = slices.Clone(m.Parts)
			}
			c.ID = "call_" + strings.NewReplacer("#", "_", ".", "_").Replace(id) + "_" + strconv.Itoa(i)
			parts[i] = c
		}
		seen[c.ID] = true
	}
	if parts != nil {
		m.Parts, m.Native = parts, nil
	}
	return m
}

// failures counts how often in a row the same call failed. Any success in
// between starts the count anew: something may have changed; so does a message of a person.
// (2.7.1) It also counts the bytes of all results of the turn.
type failures struct {
	row   map[string]failedRow
	bytes int
}

// failedRow is a call that failed so many times in a row.
type failedRow struct {
	times     int
	weight    int // of all of them
	permanent bool
}

// Failures of the same call in a row that weigh maxFailures are the last: it is not run
// again. One of which its tool says that the same call cannot succeed is enough; one of which
// it says that it may counts half. (F24)
const (
	maxFailures     = 4
	failureWeight   = maxFailures / 2
	transientWeight = 1
)

func failureKey(c transcript.ToolCall) string { return c.Name + "\x00" + c.Input }

func (f *failures) note(c transcript.ToolCall, failed bool, kind tools.Kind) {
	if !failed {
		clear(f.row)
		return
	}
	r := f.row[failureKey(c)]
	if r.weight >= maxFailures { // it did not run
		return
	}
	r.times++
	switch kind {
	case tools.Permanent:
		r.weight, r.permanent = maxFailures, true
	case tools.Transient:
		r.weight += transientWeight
	default:
		r.weight += failureWeight
	}
	f.row[failureKey(c)] = r
}

// refusal returns what the model reads about a call that failed too often; "" when it may
// run.
func (f *failures) refusal(c transcript.ToolCall) string {
	switch r := f.row[failureKey(c)]; {
	case r.weight < maxFailures:
		return ""
	case r.permanent:
		return "Error: this exact call failed, would fail in the same way, and was not run again; change the arguments or try another way"
	default:
		return fmt.Sprintf("Error: this exact call failed %d times in a row and was not run again; change the arguments or try another way", r.times)
	}
}

// maxResults is the most bytes that the tools of one turn give to the model; that
// is more than a model's window holds. What comes later is cut to minResult.
const (
	maxResults = 2 << 20
	minResult  = 512
)

// truncate cuts the result of a call to what is left for the turn, and counts it.
func (f *failures) truncate(c *finishedCall) {
	for i, p := range c.message.Parts {
		res, ok := p.(transcript.ToolResult)
		if !ok {
			continue
		}
		if left := max(maxResults-f.bytes, minResult); len(res.Content) > left {
			const note = "\n[the tools of this turn have returned as much as fits: ask for less at a time]"
			res.Content = tools.Truncate(res.Content, left-len(note)) + note
			c.message.Parts[i] = res
		}
		f.bytes += len(res.Content)
	}
}

// countFailures counts in the turn's part of the history.
func countFailures(history []transcript.Message, turn string) *failures {
	f := &failures{row: map[string]failedRow{}}
	open := map[string]transcript.ToolCall{}
	for _, m := range turnPart(history, turn) {
		if m.Role == transcript.User { // who may have changed something
			clear(f.row)
		}
		if m.Role == transcript.Assistant {
			clear(open)
			if _, own := stepOf(turn, m.ID); own {
				cs := m.Calls()
				for _, c := range cs[:min(len(cs), maxCalls)] { // the others were not run
					open[c.ID] = c
				}
			}
		}
		for _, p := range m.Parts {
			if res, ok := p.(transcript.ToolResult); ok {
				if c, ok := open[res.ToolCallID]; ok {
					f.note(c, res.IsError, tools.Kind(res.Kind))
					f.bytes += len(res.Content)
				}
			}
		}
	}
	return f
}
