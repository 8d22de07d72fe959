package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/costs"
	"parley/gateway/recording"
	"parley/llm"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// compare holds what the replay left in its store to the recording.
func (s *stage) compare(ctx context.Context) error {
	for _, was := range s.o.Recording.Sessions {
		if err := s.compareSession(ctx, was.ID); err != nil {
			return err
		}
	}
	for _, t := range s.script.r.Turns {
		if err := s.compareTurn(ctx, t); err != nil {
			return err
		}
	}
	if err := s.compareCosts(ctx); err != nil {
		return err
	}
	if err := s.compareReplies(ctx); err != nil {
		return err
	}
	if s.inexact > 0 {
		s.report.Notes = append(s.report.Notes, fmt.Sprintf(
			"%d requests are not in the recording to the letter: secrets were taken out, the file was changed, or histories are put together otherwise now", s.inexact))
	}
	slices.Sort(s.report.Notes)
	s.report.Notes = slices.Compact(s.report.Notes)
	slices.SortStableFunc(s.report.Differences, func(a, b Difference) int { return cmp.Compare(order(a.Kind), order(b.Kind)) })
	for i := range s.report.Differences {
		slices.Sort(s.report.Differences[i].Where)
	}
	return nil
}

// order of kinds in a report: causes before what follows from them.
func order(k Kind) int {
	return slices.Index([]Kind{Requests, ToolCalls, Turns, Messages, Costs, Replies}, k)
}

func (s *stage) compareSession(ctx context.Context, id sessionkeys.SessionID) error {
	was := s.script.r.Messages[id]
	is, err := s.o.Store.Messages(ctx, id)
	if errors.Is(err, sessions.ErrNotFound) {
		s.differ(ToolCalls, "sub-agent "+string(id), "it was started, and is not now")
		return nil
	}
	if err != nil {
		return fmt.Errorf("compare session %s: %w", id, err)
	}
	for i := range max(len(was), len(is)) {
		where := fmt.Sprintf("message %d of session %s", i+1, id)
		switch {
		case i >= len(is):
			s.differ(kindOf(was[i]), where, value("message", shown(was[i]), "(none)"))
			return nil
		case i >= len(was):
			s.differ(kindOf(is[i]), where, value("message", "(none)", shown(is[i])))
			return nil
		case was[i].ID != is[i].ID || llm.Digest("", was[i:i+1]) != llm.Digest("", is[i:i+1]):
			d := changed("message", shown(was[i]), shown(is[i]))
			if d == "" {
				d = value("message, in the provider's own form", native(was[i]), native(is[i]))
			}
			if d == "" {
				d = value("id of the message", was[i].ID, is[i].ID)
			}
			s.differ(kindOf(was[i]), where, d)
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

func (s *stage) compareTurn(ctx context.Context, was recording.Turn) error {
	is, err := s.o.Store.Turn(ctx, was.ID)
	where := "turn " + was.ID
	if errors.Is(err, sessions.ErrNotFound) {
		s.differ(Turns, where, "it was opened, and is not now")
		return nil
	}
	if err != nil {
		return fmt.Errorf("compare turn %s: %w", was.ID, err)
	}
	s.report.Turns++
	if was.State != string(sessions.Done) {
		return nil
	}
	if d := value("outcome", string(was.Outcome), or(string(is.Outcome), string(is.State))); d != "" {
		s.differ(Turns, where, d)
	}
	if d := value("answered model calls", was.Steps, is.Steps); d != "" {
		s.differ(Turns, where, d)
	}
	return nil
}

func (s *stage) compareCosts(ctx context.Context) error {
	is := map[string]costs.Entry{}
	err := s.o.Store.Ledger(ctx, "", func(_ sessionkeys.SessionID, e costs.Entry) bool {
		is[e.ID] = e
		return true
	})
	if err != nil {
		return fmt.Errorf("compare the costs: %w", err)
	}
	for _, id := range slices.Sorted(maps.Keys(s.script.r.Costs)) {
		was := s.script.r.Costs[id]
		e, ok := is[id]
		if !ok {
			if s.script.requests[id] == nil {
				s.report.Notes = append(s.report.Notes, fmt.Sprintf("what call %s asked was not kept yet when it was made", id))
			}
			s.differ(Costs, "call "+id, fmt.Sprintf("- %s\n+ it is not made", was.Amount))
			continue
		}
		s.report.Calls++
		s.report.Cost += e.Amount
		if d := entryDiff(was, e); d != "" {
			s.differ(Costs, "call "+id, d)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(is)) {
		if _, ok := s.script.r.Costs[id]; !ok && s.script.requests[id] == nil {
			s.differ(Costs, "call "+id, fmt.Sprintf("- it was not made\n+ %s", is[id].Amount))
		}
	}
	return nil
}

// entryDiff is what differs in the cost of a call.
func entryDiff(was, is costs.Entry) string {
	pico := func(a costs.Amount) string { return fmt.Sprintf("%d pico-dollars (%s)", int64(a), a) }
	var b strings.Builder
	b.WriteString(value("cost", pico(was.Amount), pico(is.Amount)))
	b.WriteString(value("what it may have cost", pico(was.Upper), pico(is.Upper)))
	b.WriteString(value("outcome", was.Outcome, is.Outcome))
	b.WriteString(value("state", string(was.State), string(is.State)))
	b.WriteString(value("price known", was.Priced, is.Priced))
	b.WriteString(value("tokens", tokens(was.Usage), tokens(is.Usage)))
	b.WriteString(value("labels", fmt.Sprintf("%+v", was.Labels), fmt.Sprintf("%+v", is.Labels)))
	return b.String()
}

func tokens(u costs.Usage) string {
	return fmt.Sprintf("%d in, %d cached, %d+%d written, %d out (%s)", u.Input, u.CacheRead, u.CacheWrite5m, u.CacheWrite1h, u.Output, u.Source)
}

func (s *stage) compareReplies(ctx context.Context) error {
	skipped := 0
	for i := range s.script.r.Deliveries {
		was := &s.script.r.Deliveries[i]
		if !s.script.answered(was) {
			skipped++
			continue
		}
		is, err := s.o.Store.Delivery(ctx, was.ID)
		where := "answer " + was.ID
		if errors.Is(err, sessions.ErrNotFound) {
			s.differ(Replies, where, missing(was))
			continue
		}
		if err != nil {
			return fmt.Errorf("compare answer %s: %w", was.ID, err)
		}
		s.report.Replies++
		s.compareReply(where, was, is)
	}
	if skipped > 0 {
		s.report.Notes = append(s.report.Notes, fmt.Sprintf("%d answers that were given at once, as to /status, were not asked for again", skipped))
	}
	for _, t := range s.script.roots {
		d, err := s.o.Store.Delivery(ctx, t.ID)
		switch {
		case errors.Is(err, sessions.ErrNotFound):
		case err != nil:
			return fmt.Errorf("compare the answer of turn %s: %w", t.ID, err)
		case s.script.answers[t.ID] == nil:
			s.differ(Replies, "turn "+t.ID, value("text", "(none)", d.Text))
		}
	}
	return nil
}

// missing is an answer that is not given now.
func missing(was *recording.Delivery) string {
	if was.File != nil {
		return value("file", fileOf(was.File), "(it is not sent)")
	}
	return value("text", was.Text, "(it is not given)")
}

func fileOf(f *recording.File) string {
	if f == nil {
		return "(none)"
	}
	return fmt.Sprintf("%s, %s, %d bytes", f.Name, f.MIME, f.Size)
}

func fileIs(f *sessions.File) string {
	if f == nil {
		return fileOf(nil)
	}
	return fileOf(&recording.File{Name: f.Name, MIME: f.MIME, Size: f.Size})
}

func (s *stage) compareReply(where string, was *recording.Delivery, is sessions.Delivery) {
	if d := value("file", fileOf(was.File), fileIs(is.File)); d != "" {
		s.differ(Replies, where, d)
	}
	if d := changed("text", was.Text, is.Text); d != "" {
		s.differ(Replies, where, d)
	}
	if was.To != is.To || was.ReplyTo != is.ReplyTo {
		s.differ(Replies, where, value("place", fmt.Sprintf("%+v, answering %q", was.To, was.ReplyTo), fmt.Sprintf("%+v, answering %q", is.To, is.ReplyTo)))
	}
	if len(was.Parts) == 0 {
		return // it was not rendered yet, or there was nothing to show
	}
	if d := value("messages it takes", len(was.Parts), len(is.Parts)); d != "" {
		s.differ(Replies, where, d)
		return
	}
	for i, p := range was.Parts {
		if d := changed(fmt.Sprintf("part %d as it is sent", i+1), string(p.Body), string(is.Parts[i].Body)); d != "" {
			s.differ(Replies, where, d)
		}
		failed := p.State == string(sessions.Failed)
		if d := value(fmt.Sprintf("part %d failed", i+1), failed, is.Parts[i].State == sessions.Failed); d != "" {
			s.differ(Replies, where, d)
		}
	}
}
