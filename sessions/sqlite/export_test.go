package sqlite

import (
	"context"
	"errors"
	"os"
	"syscall"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// DupLock is another descriptor of the open lock file.
func (s *Store) DupLock() (*os.File, error) {
	fd, err := syscall.Dup(int(s.lock.f.Fd()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "lock"), nil
}

// Work is how many statements the writer of a closed store has run, and how
// many transactions it committed.
func (s *Store) Work() (statements, commits int64) {
	<-s.w.done
	return s.w.tx.conn.ran, s.w.tx.commits
}

// Statements are what the queries of people run, with their arguments.
func Statements() map[string][]any {
	all := map[string][]any{turnsOf: args("s"), staleSessions: args(0), laterAnswers: args(0, "s")}
	for _, q := range []sessions.SessionQuery{{}, {ByCost: true}, {Channel: "tg"}, {Channel: "tg", ByCost: true}} {
		query, a := sessionsStatement(q)
		all[query] = a
	}
	for _, by := range sessions.Groupings() {
		for _, tree := range []sessionkeys.SessionID{"", "s"} {
			query, a, _ := usageStatement(sessions.UsageQuery{By: by, Tree: tree})
			all[query] = a
		}
	}
	return all
}

// QueueInVain queues an answer in a write that fails behind that, and returns its error.
func (s *Store) QueueInVain(ctx context.Context, o sessions.Outgoing) error {
	_, err := write(ctx, s, func(t *tx) (struct{}, error) {
		if err := t.apply(&rules.WriteSet{Rows: []rules.Row{rules.Answer{Outgoing: o}}}); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, errors.New("in vain")
	})
	return err
}
