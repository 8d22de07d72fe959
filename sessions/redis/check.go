package redis

import (
	"context"
	"fmt"
	"strings"

	"parley/sessionkeys"
	"parley/sessions"
)

// mostFindings is how many of one kind are named.
const mostFindings = 5

// findings collects what does not add up.
type findings struct {
	problems []string
	counts   map[string]int
}

func (f *findings) add(what, id string) {
	if f.counts == nil {
		f.counts = map[string]int{}
	}
	if f.counts[what]++; f.counts[what] <= mostFindings {
		f.problems = append(f.problems, what+": "+id)
	}
}

// Check implements [sessions.Store]: it reads everything, in pieces between
// which others write, and returns [sessions.ErrDamaged] with what does not fit.
// It takes time in proportion to the data.
func (s *Store) Check(ctx context.Context) error {
	var f findings
	err := s.checkMailboxes(ctx, &f)
	if err == nil {
		err = s.checkHistories(ctx, &f)
	}
	if err == nil {
		err = s.checkOutbox(ctx, &f)
	}
	if err == nil {
		err = s.checkMoney(ctx, &f)
	}
	if err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if len(f.problems) > 0 {
		return fmt.Errorf("check the database: %w", damaged("%s", strings.Join(f.problems, "; ")))
	}
	return nil
}

// after is the request of a script that reads a page.
type after struct {
	After string `json:"after"`
	Limit int    `json:"limit"`
}

// checkMailboxes asks for a page of mailboxes that do not fit; each page begins
// where the last one ended.
func (s *Store) checkMailboxes(ctx context.Context, f *findings) error {
	for at := ""; ; {
		a, err := s.look(ctx, "check_mailboxes", after{at, page})
		if err != nil {
			return err
		}
		for i := range a.list(1) {
			finding := a.list(1).list(i)
			f.add(finding.text(0), finding.text(1))
		}
		if at = a.text(0); at == "" {
			return nil
		}
	}
}

func (s *Store) checkHistories(ctx context.Context, f *findings) error {
	for at := ""; ; {
		a, err := s.look(ctx, "check_sessions", after{at, page})
		if err != nil {
			return err
		}
		for i := range a.list(1) {
			id := sessionkeys.SessionID(a.list(1).text(i))
			if err := s.checkHistory(ctx, id, f); err != nil {
				return err
			}
		}
		if at = a.text(0); at == "" {
			return nil
		}
	}
}

func (s *Store) checkHistory(ctx context.Context, id sessionkeys.SessionID, f *findings) error {
	a, err := s.look(ctx, "messages", struct {
		ID    sessionkeys.SessionID `json:"id"`
		First int                   `json:"first"`
		Last  int                   `json:"last"`
	}{id, 0, -1})
	if err != nil {
		return err
	}
	stored := a.list(1)
	if count, err := a.int(0); err != nil || int(count) != len(stored) {
		f.add("sessions whose history is cut", string(id))
		return err
	}
	for i := range stored {
		if !unchanged(stored.text(i)) {
			f.add("sessions whose history was changed", string(id))
			break
		}
	}
	return nil
}

func (s *Store) checkOutbox(ctx context.Context, f *findings) error {
	a, err := s.look(ctx, "check_outbox", struct{}{})
	if err != nil {
		return err
	}
	for i := range a {
		f.add("answers that are pending and done, or not there", a.text(i))
	}
	return nil
}

var _ sessions.Store = (*Store)(nil)
