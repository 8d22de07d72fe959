package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"parley/costs"
	"parley/gateway/messages"
	"parley/gateway/recording"
	"parley/llm"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// comparison holds a replay to its recording. Its methods may be called concurrently
// until compare is.
type comparison struct {
	store  sessions.Store // the replay's own
	script *script

	mu      sync.Mutex // guards what follows
	report  *Report
	inexact int // requests that cannot be made again to the letter
}

// compare holds what the replay left in its store to the recording.
func (c *comparison) compare(ctx context.Context) error {
	for _, was := range c.script.r.Sessions {
		if err := c.compareSession(ctx, was.ID); err != nil {
			return err
		}
	}
	for _, t := range c.script.r.Turns {
		if err := c.compareTurn(ctx, t); err != nil {
			return err
		}
	}
	if err := c.compareCosts(ctx); err != nil {
		return err
	}
	if err := c.compareReplies(ctx); err != nil {
		return err
	}
	if c.inexact > 0 {
		c.report.Notes = append(c.report.Notes, fmt.Sprintf(
			"%d requests are not in the recording to the letter: secrets were taken out, the file was changed, or histories are put together otherwise now", c.inexact))
	}
	slices.Sort(c.report.Notes)
	c.report.Notes = slices.Compact(c.report.Notes)
	slices.SortStableFunc(c.report.Differences, func(a, b Difference) int { return cmp.Compare(kindOrder(a.Kind), kindOrder(b.Kind)) })
	for i := range c.report.Differences {
		slices.Sort(c.report.Differences[i].Where)
	}
	return nil
}

// kindOrder of kinds in a report: causes before what follows from them.
func kindOrder(k Kind) int {
	return slices.Index([]Kind{Requests, ToolCalls, Turns, Messages, Costs, Replies}, k)
}

func (c *comparison) compareSession(ctx context.Context, id sessionkeys.SessionID) error {
	was := c.script.r.Messages[id]
	is, err := c.store.Messages(ctx, id)
	if errors.Is(err, sessions.ErrNotFound) {
		c.addDifference(ToolCalls, "sub-agent "+string(id), "started in the recording, not now")
		return nil
	}
	if err != nil {
		return fmt.Errorf("compare session %s: %w", id, err)
	}
	for i := range max(len(was), len(is)) {
		where := fmt.Sprintf("message %d of session %s", i+1, id)
		switch {
		case i >= len(is):
			c.addDifference(kindOf(was[i]), where, diffValue("message", messageDump(was[i]), "(none)"))
			return nil
		case i >= len(was):
			c.addDifference(kindOf(is[i]), where, diffValue("message", "(none)", messageDump(is[i])))
			return nil
		case was[i].ID != is[i].ID || llm.Digest("", was[i:i+1]) != llm.Digest("", is[i:i+1]):
			d := diffText("message", messageDump(was[i]), messageDump(is[i]))
			if d == "" {
				d = diffValue("message, in the provider's own form", nativeText(was[i]), nativeText(is[i]))
			}
			if d == "" {
				d = diffValue("id of the message", was[i].ID, is[i].ID)
			}
			c.addDifference(kindOf(was[i]), where, d)
			return nil // the rest comes of it
		}
	}
	return nil
}

func kindOf(m transcript.Message) Kind {
	if m.Role == transcript.Tool || len(m.Calls()) > 0 {
		return ToolCalls
	}
	return Messages
}

func (c *comparison) compareTurn(ctx context.Context, was recording.Turn) error {
	is, err := c.store.Turn(ctx, was.ID)
	where := "turn " + was.ID
	if errors.Is(err, sessions.ErrNotFound) {
		c.addDifference(Turns, where, "opened in the recording, not now")
		return nil
	}
	if err != nil {
		return fmt.Errorf("compare turn %s: %w", was.ID, err)
	}
	c.report.Turns++
	if was.State != string(sessions.Done) {
		return nil
	}
	if d := diffValue("outcome", string(was.Outcome), or(string(is.Outcome), string(is.State))); d != "" {
		c.addDifference(Turns, where, d)
	}
	if d := diffValue("answered model calls", was.Steps, is.Steps); d != "" {
		c.addDifference(Turns, where, d)
	}
	return nil
}

func (c *comparison) compareCosts(ctx context.Context) error {
	is := map[string]costs.Entry{}
	err := c.store.Ledger(ctx, "", func(_ sessionkeys.SessionID, e costs.Entry) bool {
		if e.Call.Purpose != costs.Tool || !wasCutOff(e) {
			is[firstTry(e.Call).String()] = e
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("compare the costs: %w", err)
	}
	for _, id := range slices.Sorted(maps.Keys(c.script.r.Costs)) {
		was := c.script.r.Costs[id]
		e, ok := is[id]
		if !ok {
			if c.script.requests[id] == nil && was.Call.Purpose != costs.Tool {
				c.report.Notes = append(c.report.Notes, fmt.Sprintf("what call %s asked was not kept yet when it was made", id))
			}
			c.addDifference(Costs, "call "+id, fmt.Sprintf("- %s\n+ it is not made", was.Amount))
			continue
		}
		if was.Call.Purpose != costs.Tool {
			c.report.Calls++
		}
		c.report.Cost += e.Amount
		if d := diffEntry(was, e); d != "" {
			c.addDifference(Costs, "call "+id, d)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(is)) {
		if _, ok := c.script.r.Costs[id]; !ok && c.script.requests[id] == nil {
			c.addDifference(Costs, "call "+id, fmt.Sprintf("- it was not made\n+ %s", is[id].Amount))
		}
	}
	return nil
}

// diffEntry returns what differs in the cost of a call.
func diffEntry(was, is costs.Entry) string {
	pico := func(a costs.Amount) string { return fmt.Sprintf("%d pico-dollars (%s)", int64(a), a) }
	var b strings.Builder
	b.WriteString(diffValue("cost", pico(was.Amount), pico(is.Amount)))
	b.WriteString(diffValue("what it may have cost", pico(was.Upper), pico(is.Upper)))
	b.WriteString(diffValue("outcome", was.Outcome, is.Outcome))
	b.WriteString(diffValue("state", string(was.State), string(is.State)))
	b.WriteString(diffValue("price known", was.Priced, is.Priced))
	b.WriteString(diffValue("tokens", formatTokens(was.Usage), formatTokens(is.Usage)))
	b.WriteString(diffValue("labels", fmt.Sprintf("%+v", was.Labels), fmt.Sprintf("%+v", is.Labels)))
	return b.String()
}

func formatTokens(u costs.Usage) string {
	return fmt.Sprintf("%d in, %d cached, %d+%d written, %d out (%s)", u.Input, u.CacheRead, u.CacheWrite5m, u.CacheWrite1h, u.Output, u.Source)
}

func (c *comparison) compareReplies(ctx context.Context) error {
	skipped := 0
	for i := range c.script.r.Deliveries {
		was := &c.script.r.Deliveries[i]
		if !c.script.isReplayable(was) {
			skipped++
			continue
		}
		id := was.ID
		if note, ok := messages.ParseID(id); ok && c.script.isStop(id) { // an older version gave it another kind
			id = messages.ID{Kind: messages.Stopped, About: note.About}.String()
		}
		is, err := c.store.Delivery(ctx, id)
		where := "answer " + was.ID
		if errors.Is(err, sessions.ErrNotFound) {
			c.addDifference(Replies, where, describeMissing(was))
			continue
		}
		if err != nil {
			return fmt.Errorf("compare answer %s: %w", was.ID, err)
		}
		c.report.Replies++
		c.compareReply(where, was, is)
	}
	if skipped > 0 {
		c.report.Notes = append(c.report.Notes, fmt.Sprintf("%d answers that were given at once, as to /status, were not asked for again", skipped))
	}
	for _, t := range c.script.roots {
		d, err := c.store.Delivery(ctx, t.ID)
		switch {
		case errors.Is(err, sessions.ErrNotFound):
		case err != nil:
			return fmt.Errorf("compare the answer of turn %s: %w", t.ID, err)
		case c.script.answers[t.ID] == nil:
			c.addDifference(Replies, "turn "+t.ID, diffValue("text", "(none)", d.Text))
		}
	}
	return nil
}

// describeMissing returns an answer that is not given now.
func describeMissing(was *recording.Delivery) string {
	if was.File != nil {
		return diffValue("file", recordedFileText(was.File), "(it is not sent)")
	}
	return diffValue("text", was.Text, "(it is not given)")
}

func recordedFileText(f *recording.File) string {
	if f == nil {
		return "(none)"
	}
	return fmt.Sprintf("%s, %s, %d bytes", f.Name, f.MIME, f.Size)
}

func storedFileText(f *sessions.File) string {
	if f == nil {
		return recordedFileText(nil)
	}
	return recordedFileText(&recording.File{Name: f.Name, MIME: f.MIME, Size: f.Size})
}

func (c *comparison) compareReply(where string, was *recording.Delivery, is sessions.Delivery) {
	if d := diffValue("file", recordedFileText(was.File), storedFileText(is.File)); d != "" {
		c.addDifference(Replies, where, d)
	}
	if d := diffText("text", was.Text, is.Text); d != "" {
		c.addDifference(Replies, where, d)
	}
	if was.To != is.To || was.ReplyTo != is.ReplyTo {
		c.addDifference(Replies, where, diffValue("place", fmt.Sprintf("%+v, answering %q", was.To, was.ReplyTo), fmt.Sprintf("%+v, answering %q", is.To, is.ReplyTo)))
	}
	if len(was.Parts) == 0 {
		return // it was not rendered yet, or there was nothing to show
	}
	if d := diffValue("messages it takes", len(was.Parts), len(is.Parts)); d != "" {
		c.addDifference(Replies, where, d)
		return
	}
	for i, p := range was.Parts {
		if d := diffText(fmt.Sprintf("part %d as it is sent", i+1), string(p.Body), string(is.Parts[i].Body)); d != "" {
			c.addDifference(Replies, where, d)
		}
		failed := p.State == string(sessions.Failed)
		if d := diffValue(fmt.Sprintf("part %d failed", i+1), failed, is.Parts[i].State == sessions.Failed); d != "" {
			c.addDifference(Replies, where, d)
		}
	}
}
