package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/faultpoint"
	"parley/gateway/conversations"
	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

const (
	// titleTimeout ends a call for a title.
	titleTimeout = 30 * time.Second
	// titleLost is how long after its beginning a call that nobody ended never will.
	titleLost = 2 * time.Minute
	// titledTurns is in how many of a session's first turns its title is looked after: a
	// first call may fail, or its process die.
	titledTurns = 8
	// titleGrace is for the last commits of a call.
	titleGrace = 5 * time.Second
)

// titles is the calls for titles that run in this process, beside turns and often beyond
// them: no answer waits for one, no mailbox is kept for one, and none fails a turn. At most
// as many run as turns may; where all run already, the next turn of the session asks.
// (docs/decisions/0068)
type titles struct {
	ctx     context.Context // of all of them; set once, before use
	slots   chan struct{}
	running sync.WaitGroup
}

// titleCall looks after the title of one session, beside the turn t. One goroutine uses it.
type titleCall struct {
	w      *Worker
	loop   agent.Loop // of the turn
	j      *journal
	key    sessionkeys.Key
	fence  sessions.Fence
	t      sessions.Turn
	by     agent.Titling
	words  string
	title  conversations.Title // as the store has it, or is to
	signal func()
}

// startTitle looks after the title of the turn's session, if there is something to do, and
// returns a channel that is closed when the turn may end: its end releases the mailbox, and
// with it the right to reserve.
func (a *owner) startTitle(ag Agent, j *journal, history []transcript.Message) <-chan struct{} {
	reserved := make(chan struct{})
	signal := sync.OnceFunc(func() { close(reserved) })
	words := wordsToTitle(history)
	if ag.Title == nil || words == "" || a.w.stopping() {
		signal()
		return reserved
	}
	select {
	case a.w.titles.slots <- struct{}{}:
	default:
		signal()
		return reserved
	}
	q := &titleCall{w: a.w, loop: a.settings.Loop, j: j, key: a.m.Key, fence: j.Fence, t: j.t, by: *ag.Title, words: words, signal: signal}
	a.w.titles.running.Go(func() {
		defer func() { <-a.w.titles.slots }()
		defer signal()
		ctx, cancel := context.WithTimeoutCause(a.w.titles.ctx, titleTimeout, agent.ErrTurnTimeout)
		defer cancel()
		if err := q.runRecovering(ctx); err != nil {
			a.w.Logger.Warn("title not found", "session", q.t.Session, "turn", q.t.ID, "error", err)
		}
	})
	return reserved
}

// wordsToTitle returns the words that a session began with; "": it has none, or goes on for
// so long that its title is settled.
func wordsToTitle(history []transcript.Message) (words string) {
	turns := 0
	for _, m := range history {
		if id, ok := transcript.ParseMessageID(m.ID); ok && id.Kind == transcript.Opening {
			turns++
		}
		if turns > titledTurns {
			return ""
		}
		if words == "" && m.Role == transcript.User && !isTurnCommand(m) {
			words = conversations.OwnWords(m)
		}
	}
	return words
}

// isTurnCommand reports whether a message is a command that a turn carried out.
func isTurnCommand(m transcript.Message) bool {
	c, ok := messages.ParseCommand(m.Text())
	return ok && c.IsTurn()
}

func (q *titleCall) runRecovering(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &agent.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return q.run(ctx)
}

func (q *titleCall) run(ctx context.Context) (err error) {
	if q.title, err = conversations.ReadTitle(ctx, q.w.Store, q.t.Session, q.w.Now()); err != nil {
		return err
	}
	if err := q.settleLeft(ctx); err != nil {
		return err
	}
	if q.title.Text != "" || q.title.Asking != nil || q.title.Attempts >= conversations.MaxTitleAttempts {
		return nil
	}
	got, err := q.loop.AskTitle(ctx, agent.Turn{
		ID: q.t.ID, Session: q.t.Session, Key: q.key, Channel: q.t.Channel, Tries: q.title.Attempts,
	}, q.by, q, q.words)
	commit, done := agent.WithGrace(ctx, titleGrace, agent.ErrHandover)
	defer done()
	if errors.Is(err, agent.ErrNoTitle) {
		if q.title.Asking != nil {
			q.title.Asking, q.title.Attempts = nil, q.title.Attempts-1 // nothing was asked
			err = errors.Join(err, q.write(commit))
		}
		return err
	}
	if err != nil {
		return err
	}
	return q.finish(commit, got)
}

// Reserve implements [agent.Reserver]. What is about to be reserved is written down first,
// so that a process that dies behind it leaves nothing that nobody knows of.
func (q *titleCall) Reserve(ctx context.Context, e costs.Estimate, a transcript.RequestRecord) (costs.Reservation, error) {
	r := costs.Reservation{ID: e.Call.String(), Estimate: e, At: q.w.Now()}
	q.title.Attempts, q.title.Asking = e.Call.Attempt, &r
	if err := q.write(ctx); err != nil {
		return r, err
	}
	faultpoint.Hit("worker.title.asking")
	c := sessions.Charge{Session: q.t.Session, Turn: q.t.ID, Request: &a}
	var err error
	if c.Scopes, err = q.j.Scopes(ctx, r.At); err != nil {
		return r, err
	}
	err = q.w.Store.Reserve(ctx, q.fence, c, r)
	if err == nil {
		q.signal()
	}
	faultpoint.Hit("worker.title.reserved")
	return r, err // it names the call
}

// finish commits what the call brought: first the words together with what is owed for them,
// then the money, then that nothing is owed.
func (q *titleCall) finish(ctx context.Context, got agent.Title) error {
	text := conversations.CleanTitle(got.Text)
	err := q.change(ctx, func(t *conversations.Title) {
		t.Asking, t.Owed = nil, &got.Settlement.Entry
		if t.Text == "" && !t.IsErased() {
			t.Text = text
		}
	})
	faultpoint.Hit("worker.title.answered")
	settled := q.settleOwed(ctx, got.Settlement)
	faultpoint.Hit("worker.title.settled")
	if settled == nil {
		q.w.Observer.ModelCalled(got.Report)
		if q.w.Watcher != nil {
			q.w.Watcher.Titled(q.t.ID, got.Report)
		}
		if err == nil {
			err = q.change(ctx, func(t *conversations.Title) { t.Owed = nil })
		}
	}
	e := got.Settlement.Entry
	about := []any{"session", q.t.Session, "turn", q.t.ID, "agent", q.key.Agent(), "model", e.Labels.Provider + "/" + e.Labels.Model, "cost_usd", e.Amount, "outcome", e.Outcome}
	if text == "" {
		q.w.Logger.Warn("conversation not titled", append(about, "attempts", q.title.Attempts)...)
	} else {
		q.w.Logger.Info("conversation titled", about...)
	}
	return errors.Join(err, settled)
}

// settleOwed books an entry. It is booked whoever owns the mailbox by now.
func (q *titleCall) settleOwed(ctx context.Context, s costs.Settlement) error {
	if err := q.w.Store.Settle(ctx, q.fence, s); err != nil && !errors.Is(err, sessions.ErrFenced) {
		return fmt.Errorf("book the call for a title: %w", err)
	}
	return nil
}

// settleLeft ends what a process left that died: an entry that it did not book any more is
// booked as it stands; a call of which nobody knows how it ended is interrupted, as the store
// does with those of an open turn.
func (q *titleCall) settleLeft(ctx context.Context) error {
	t := q.title
	switch now := q.w.Now(); {
	case t.Owed != nil:
		if err := q.settleOwed(ctx, costs.Settlement{Entry: *t.Owed}); err != nil {
			return err
		}
	case t.Asking == nil || now.Sub(t.Asking.At) < titleLost:
		return nil // nothing is left, or another process may be at it
	default:
		e := t.Asking.Estimate
		err := q.settleOwed(ctx, costs.Settlement{Reservation: *t.Asking, Entry: costs.Entry{
			ID: t.Asking.ID, Call: e.Call, Labels: e.Labels, Usage: costs.Usage{Source: costs.Estimated},
			Upper: e.Upper, Priced: e.Priced, State: costs.Interrupted, Outcome: "interrupted", At: now,
		}})
		if err != nil && !errors.Is(err, sessions.ErrNotFound) { // nothing was reserved
			return err
		}
	}
	return q.change(ctx, func(t *conversations.Title) { t.Asking, t.Owed = nil, nil })
}

// change makes a change to the title, also when a person gave another meanwhile.
func (q *titleCall) change(ctx context.Context, to func(*conversations.Title)) error {
	for range 3 {
		to(&q.title)
		err := q.write(ctx)
		if !errors.Is(err, sessions.ErrChanged) {
			return err
		}
		if q.title, err = conversations.ReadTitle(ctx, q.w.Store, q.t.Session, q.w.Now()); err != nil {
			return err
		}
	}
	return fmt.Errorf("title of session %s: %w", q.t.Session, sessions.ErrChanged)
}

// write writes the title over the one that was read.
func (q *titleCall) write(ctx context.Context) error {
	r, err := q.title.Record(q.t.Session, q.w.Now())
	if err != nil {
		return err
	}
	revision, err := q.w.Store.WriteRecord(ctx, r)
	if err != nil {
		return fmt.Errorf("write the title of session %s: %w", q.t.Session, err)
	}
	q.title = q.title.At(revision)
	return nil
}
