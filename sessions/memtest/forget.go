package memtest

import (
	"context"
	"slices"
	"time"

	"parley/sessions"
	"parley/sessions/rules"
)

// Rule is one rule of the protocol that a store can be made to forget.
type Rule string

// The rules that can be left out.
const (
	Every Rule = "" // none is left out

	EpochCheck   Rule = "epoch check"       // a write needs no more than a fence of the mailbox
	EpochGrows   Rule = "epoch grows"       // who takes a mailbox gets a higher epoch
	LeaseCheck   Rule = "lease check"       // a mailbox is taken from the dead only
	TakerCheck   Rule = "taker check"       // a mailbox is taken by the living only
	InboxDedupe  Rule = "inbox dedupe"      // an event makes one turn
	ReleaseCheck Rule = "release condition" // a mailbox that is owed work is not released
	OpenTurnOwed Rule = "open turn owed"    // an open turn is work that is owed
	AttemptCount Rule = "attempt count"     // taking work up counts an attempt
	BeginNote    Rule = "begin note"        // it is known that a tool had begun
	SendingMark  Rule = "outbox mark"       // a part moves from the state that it is in
	OutboxOrder  Rule = "outbox order"      // answers are pending in the order they were queued
	QueueCheck   Rule = "queue check"       // an answer is begun with the end of its turn only when none waits before it
)

// The rules themselves are parley/sessions/rules and know nothing of this. A rule is
// forgotten by showing it rows on which it decides wrongly, and by putting right what
// it then writes.

// forgetful is a driver that shows such rows.
type forgetful struct {
	*database
	without Rule
}

// UpdateEarly implements [rules.EarlyDriver].
func (d *forgetful) UpdateEarly(ctx context.Context, f sessions.Fence, fn func(*rules.Tx) error, visible func() bool) error {
	err := d.Update(ctx, f, fn)
	if err == nil {
		visible()
	}
	return err
}

// Update implements [rules.Driver].
func (d *forgetful) Update(ctx context.Context, f sessions.Fence, fn func(*rules.Tx) error) error {
	if d.without == Every {
		return d.database.Update(ctx, f, fn)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	hint, _ := ctx.Value(hintKey{}).(hint)
	tx := &rules.Tx{Reader: liar{d, f, hint}}
	if err := fn(tx); err != nil {
		return err
	}
	set := tx.Set
	set.Rows = make([]rules.Row, len(tx.Set.Rows))
	for i, r := range tx.Set.Rows {
		set.Rows[i] = d.truth(r, &tx.Set, f, hint)
	}
	return d.commit(&set)
}

// View implements [rules.Driver].
func (d *forgetful) View(ctx context.Context, fn func(*rules.Tx) error) error {
	if d.without == Every {
		return d.database.View(ctx, fn)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	hint, _ := ctx.Value(hintKey{}).(hint)
	return fn(&rules.Tx{Reader: liar{d, sessions.Fence{}, hint}})
}

// hint is what the driver must know of an operation to have it decide wrongly.
type hint struct {
	taker   sessions.Worker // who would take mailboxes
	release bool            // the operation may release its mailbox
	marks   []sessions.Mark // that are to be made
}

type hintKey struct{}

func with(ctx context.Context, h hint) context.Context { return context.WithValue(ctx, hintKey{}, h) }

// liar is the database as a forgetful one shows it.
type liar struct {
	*forgetful
	f    sessions.Fence
	hint hint
}

// Get implements [rules.Reader].
func (l liar) Get(k rules.Key) (rules.Row, error) {
	r, err := l.database.Get(k)
	switch k := k.(type) {
	case rules.EventKey:
		if l.without == InboxDedupe {
			return nil, err
		}
	case rules.BegunKey:
		if l.without == BeginNote {
			return nil, err
		}
	case rules.WorkerKey:
		w, _ := r.(rules.Worker)
		switch {
		case l.hint.taker == sessions.Worker{}:
		case l.without == LeaseCheck && sessions.Worker(k) != l.hint.taker:
			w.Until = time.Time{}
		case l.without == TakerCheck && sessions.Worker(k) == l.hint.taker:
			w.Until = time.Unix(1<<40, 0)
		}
		return w, err
	case rules.MailboxKey:
		if m, ok := r.(rules.Mailbox); ok {
			return l.mailbox(m), err
		}
	case rules.AnswerKey:
		if a, ok := r.(rules.Answer); ok && l.without == SendingMark {
			for _, m := range l.hint.marks {
				if m.Index >= 0 && m.Index < len(a.Parts) {
					a.Parts[m.Index].State = m.From
				}
			}
			return a, err
		}
	}
	return r, err
}

// List implements [rules.Reader].
func (l liar) List(ix rules.Index, limit int) ([]rules.Key, error) {
	if _, ok := ix.(rules.QueuedAnswers); ok && l.without == QueueCheck {
		return nil, nil
	}
	return l.database.List(ix, limit) // nothing is added
}

func (l liar) mailbox(m rules.Mailbox) rules.Mailbox {
	switch {
	case l.without == EpochCheck && m.Token == l.f.Token && l.f.Nonce != "":
		m.Owner.Nonce, m.Epoch = l.f.Nonce, l.f.Epoch
	case l.without == ReleaseCheck && l.hint.release:
		m.LastSeen, m.Controls, m.OpenTurn = m.LastRead, 0, ""
	case l.without == OpenTurnOwed && l.hint.release:
		m.OpenTurn = ""
	}
	return m
}

// truth puts right what was decided by rows that were not true.
func (d *forgetful) truth(r rules.Row, set *rules.WriteSet, f sessions.Fence, h hint) rules.Row {
	old, _ := d.Get(r.Key())
	switch row := r.(type) {
	case rules.Turn:
		was, ok := old.(rules.Turn)
		if ok && d.without == AttemptCount && row.Attempts > was.Attempts {
			row.Attempts = was.Attempts
		}
		return row
	case rules.Mailbox:
		was, _ := old.(rules.Mailbox) // the zero row of a mailbox that is made
		return d.mailbox(was, row, set, f, h)
	}
	return r
}

func (d *forgetful) mailbox(was, row rules.Mailbox, set *rules.WriteSet, f sessions.Fence, h hint) rules.Mailbox {
	switch d.without {
	case EpochCheck:
		if row.Token == f.Token && f.Nonce != "" {
			row.Epoch += was.Epoch - f.Epoch
			if row.Owner.Nonce == f.Nonce {
				row.Owner = was.Owner
			}
		}
	case EpochGrows:
		row.Epoch = was.Epoch
	case AttemptCount:
		if row.Epoch > was.Epoch {
			row.Attempts = was.Attempts
		}
	case ReleaseCheck:
		if h.release {
			row.LastSeen, row.Controls = was.LastSeen, was.Controls
			row.OpenTurn = stillOpen(was, set)
		}
	case OpenTurnOwed:
		if h.release {
			row.OpenTurn = stillOpen(was, set)
		}
	}
	return row
}

// stillOpen returns the open turn of a mailbox that is released, unless it ends with it.
func stillOpen(was rules.Mailbox, set *rules.WriteSet) string {
	for _, r := range set.Rows {
		if t, ok := r.(rules.Turn); ok && t.ID == was.OpenTurn && t.State == sessions.Done {
			return ""
		}
	}
	return was.OpenTurn
}

// Touch implements [sessions.Dispatch].
func (s *Store) Touch(ctx context.Context, t sessions.Touch) (sessions.Mailbox, bool, error) {
	if s.without == OpenTurnOwed {
		m, err := s.Mailbox(ctx, t.Token)
		t.Take = t.Take && (err != nil || max(m.LastSeen, t.Seq) > m.LastRead || m.Controls > 0)
	}
	if tell := t.Taken; tell != nil {
		t.Taken = func(m sessions.Mailbox) { tell(s.taken(m)) }
	}
	m, got, err := s.Operations.Touch(with(ctx, hint{taker: t.By}), t)
	if got {
		m = s.taken(m)
	}
	return m, got, err
}

// Recover implements [sessions.Dispatch].
func (s *Store) Recover(ctx context.Context, w sessions.Worker, now time.Time, limit int) ([]sessions.Mailbox, error) {
	ms, err := s.Operations.Recover(with(ctx, hint{taker: w}), w, now, limit)
	for i, m := range ms {
		ms[i] = s.taken(m)
	}
	return ms, err
}

// Reacquire implements [sessions.Dispatch].
func (s *Store) Reacquire(ctx context.Context, f sessions.Fence, now time.Time) (sessions.Mailbox, error) {
	m, err := s.Operations.Reacquire(ctx, f, now)
	return s.taken(m), err
}

// taken returns a mailbox that was taken as its row stands.
func (s *Store) taken(m sessions.Mailbox) sessions.Mailbox {
	switch s.without {
	case EpochGrows:
		m.Epoch--
	case AttemptCount:
		m.Attempts--
		if m.Turn != nil { // who was told early reads it
			was := *m.Turn
			was.Attempts--
			m.Turn = &was
		}
	}
	return m
}

// Release implements [sessions.Dispatch].
func (s *Store) Release(ctx context.Context, f sessions.Fence) (sessions.Mailbox, bool, error) {
	return s.Operations.Release(with(ctx, hint{release: true}), f)
}

// Finish implements [sessions.Turns].
func (s *Store) Finish(ctx context.Context, f sessions.Fence, e sessions.FinishTurn) (sessions.Finished, error) {
	if s.without == OpenTurnOwed {
		return s.Operations.Finish(ctx, f, e)
	}
	return s.Operations.Finish(with(ctx, hint{release: true}), f, e)
}

// Advance implements [sessions.Outbox].
func (s *Store) Advance(ctx context.Context, id string, p sessions.Progress) error {
	return s.Operations.Advance(with(ctx, hint{marks: slices.Clone(p.Marks)}), id, p)
}
