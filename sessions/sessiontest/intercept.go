package sessiontest

import (
	"context"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// Call is an operation of a store that is about to be performed.
type Call struct {
	Op    string          // its name in [sessions.Store]
	Token string          // of the mailbox that it names; "": none
	Fence *sessions.Fence // under which it writes; nil: none
	Args  []any           // all but the context; those that are variadic are one slice
}

// Around stands between a store and who uses it. It may perform the operation or not,
// late, or elsewhere, and what it returns is what the caller is told: with an error the
// caller gets no value, and perform may still be running. It returns nil only when
// perform has returned, or to swallow the operation.
type Around func(ctx context.Context, c Call, perform func() error) error

// Intercept returns s as it is reached through around. It is for faults: an operation
// that fails, whose answer is lost, that waits, or after which a process is dead.
// Operations that no turn and no delivery needs go to s directly.
func Intercept(s sessions.Store, around Around) sessions.Store {
	s = interceptedDispatch{s, around}
	s = interceptedTurns{s, around}
	s = interceptedOutbox{s, around}
	s = interceptedChats{s, around}
	s = interceptedMoney{s, around}
	return interceptedRecords{s, around}
}

// layer intercepts the operations of one part of a store and passes all others on.
type layer struct {
	sessions.Store
	around Around
}

type (
	interceptedDispatch layer
	interceptedTurns    layer
	interceptedOutbox   layer
	interceptedChats    layer
	interceptedMoney    layer
	interceptedRecords  layer
)

// one performs an operation with one result.
func one[T any](ctx context.Context, around Around, c Call, perform func() (T, error)) (T, error) {
	v, _, err := two(ctx, around, c, func() (T, struct{}, error) {
		v, err := perform()
		return v, struct{}{}, err
	})
	return v, err
}

// two performs an operation with two results.
func two[A, B any](ctx context.Context, around Around, c Call, perform func() (A, B, error)) (A, B, error) {
	var result struct {
		a A
		b B
	}
	err := around(ctx, c, func() (err error) {
		result.a, result.b, err = perform()
		return err
	})
	if err != nil { // perform may be running, and writing the result
		var noA A
		var noB B
		return noA, noB, err
	}
	return result.a, result.b, nil
}

func (i interceptedDispatch) Heartbeat(ctx context.Context, w sessions.Worker, until time.Time) error {
	return i.around(ctx, Call{Op: "Heartbeat", Args: []any{w, until}}, func() error { return i.Store.Heartbeat(ctx, w, until) })
}

func (i interceptedDispatch) Leave(ctx context.Context, w sessions.Worker) error {
	return i.around(ctx, Call{Op: "Leave", Args: []any{w}}, func() error { return i.Store.Leave(ctx, w) })
}

func (i interceptedDispatch) Lease(ctx context.Context, w sessions.Worker) (time.Time, error) {
	return one(ctx, i.around, Call{Op: "Lease", Args: []any{w}}, func() (time.Time, error) { return i.Store.Lease(ctx, w) })
}

func (i interceptedDispatch) EndLease(ctx context.Context, w sessions.Worker, until, now time.Time) (int, bool, error) {
	return two(ctx, i.around, Call{Op: "EndLease", Args: []any{w, until, now}}, func() (int, bool, error) { return i.Store.EndLease(ctx, w, until, now) })
}

func (i interceptedDispatch) Touch(ctx context.Context, t sessions.Touch) (sessions.Mailbox, bool, error) {
	return two(ctx, i.around, Call{Op: "Touch", Token: t.Token, Args: []any{t}}, func() (sessions.Mailbox, bool, error) { return i.Store.Touch(ctx, t) })
}

func (i interceptedDispatch) Reacquire(ctx context.Context, f sessions.Fence, now time.Time) (sessions.Mailbox, error) {
	return one(ctx, i.around, Call{Op: "Reacquire", Token: f.Token, Fence: &f, Args: []any{f, now}}, func() (sessions.Mailbox, error) { return i.Store.Reacquire(ctx, f, now) })
}

func (i interceptedDispatch) Recover(ctx context.Context, w sessions.Worker, now time.Time, limit int) ([]sessions.Mailbox, error) {
	return one(ctx, i.around, Call{Op: "Recover", Args: []any{w, now, limit}}, func() ([]sessions.Mailbox, error) { return i.Store.Recover(ctx, w, now, limit) })
}

func (i interceptedDispatch) Held(ctx context.Context, w sessions.Worker) ([]sessions.Mailbox, error) {
	return one(ctx, i.around, Call{Op: "Held", Args: []any{w}}, func() ([]sessions.Mailbox, error) { return i.Store.Held(ctx, w) })
}

func (i interceptedDispatch) Release(ctx context.Context, f sessions.Fence) (sessions.Mailbox, bool, error) {
	return two(ctx, i.around, Call{Op: "Release", Token: f.Token, Fence: &f, Args: []any{f}}, func() (sessions.Mailbox, bool, error) { return i.Store.Release(ctx, f) })
}

func (i interceptedDispatch) Handover(ctx context.Context, f sessions.Fence) error {
	return i.around(ctx, Call{Op: "Handover", Token: f.Token, Fence: &f, Args: []any{f}}, func() error { return i.Store.Handover(ctx, f) })
}

func (i interceptedDispatch) Yield(ctx context.Context, f sessions.Fence, now time.Time) (bool, error) {
	return one(ctx, i.around, Call{Op: "Yield", Token: f.Token, Fence: &f, Args: []any{f, now}}, func() (bool, error) { return i.Store.Yield(ctx, f, now) })
}

func (i interceptedDispatch) Mailbox(ctx context.Context, token string) (sessions.Mailbox, error) {
	return one(ctx, i.around, Call{Op: "Mailbox", Token: token, Args: []any{token}}, func() (sessions.Mailbox, error) { return i.Store.Mailbox(ctx, token) })
}

func (i interceptedDispatch) Controls(ctx context.Context, token string) ([]sessions.Control, error) {
	return one(ctx, i.around, Call{Op: "Controls", Token: token, Args: []any{token}}, func() ([]sessions.Control, error) { return i.Store.Controls(ctx, token) })
}

func (i interceptedDispatch) ApplyControls(ctx context.Context, f sessions.Fence, ids []string, read uint64, replies []sessions.Outgoing) error {
	return i.around(ctx, Call{Op: "ApplyControls", Token: f.Token, Fence: &f, Args: []any{f, ids, read, replies}}, func() error { return i.Store.ApplyControls(ctx, f, ids, read, replies) })
}

func (i interceptedTurns) Open(ctx context.Context, f sessions.Fence, o sessions.OpenTurn) (sessions.Turn, bool, error) {
	return two(ctx, i.around, Call{Op: "Open", Token: f.Token, Fence: &f, Args: []any{f, o}}, func() (sessions.Turn, bool, error) { return i.Store.Open(ctx, f, o) })
}

func (i interceptedTurns) Join(ctx context.Context, f sessions.Fence, j sessions.JoinTurn) (bool, error) {
	return one(ctx, i.around, Call{Op: "Join", Token: f.Token, Fence: &f, Args: []any{f, j}}, func() (bool, error) { return i.Store.Join(ctx, f, j) })
}

func (i interceptedTurns) Resume(ctx context.Context, f sessions.Fence, now time.Time) (sessions.Turn, error) {
	return one(ctx, i.around, Call{Op: "Resume", Token: f.Token, Fence: &f, Args: []any{f, now}}, func() (sessions.Turn, error) { return i.Store.Resume(ctx, f, now) })
}

func (i interceptedTurns) LastTextHash(ctx context.Context, w sessions.TextHash) (string, bool, error) {
	return two(ctx, i.around, Call{Op: "LastTextHash", Args: []any{w}}, func() (string, bool, error) { return i.Store.LastTextHash(ctx, w) })
}

func (i interceptedTurns) Known(ctx context.Context, events ...sessions.InboxID) ([]bool, error) {
	return one(ctx, i.around, Call{Op: "Known", Args: []any{events}}, func() ([]bool, error) { return i.Store.Known(ctx, events...) })
}

func (i interceptedTurns) Skip(ctx context.Context, f sessions.Fence, seq uint64) error {
	return i.around(ctx, Call{Op: "Skip", Token: f.Token, Fence: &f, Args: []any{f, seq}}, func() error { return i.Store.Skip(ctx, f, seq) })
}

func (i interceptedTurns) Answer(ctx context.Context, f sessions.Fence, c sessions.Command) (bool, error) {
	return one(ctx, i.around, Call{Op: "Answer", Token: f.Token, Fence: &f, Args: []any{f, c}}, func() (bool, error) { return i.Store.Answer(ctx, f, c) })
}

func (i interceptedTurns) Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error) {
	return one(ctx, i.around, Call{Op: "Messages", Args: []any{id}}, func() ([]transcript.Message, error) { return i.Store.Messages(ctx, id) })
}

func (i interceptedTurns) MessagesAfter(ctx context.Context, id sessionkeys.SessionID, after, limit int) ([]transcript.Message, error) {
	return one(ctx, i.around, Call{Op: "MessagesAfter", Args: []any{id, after, limit}}, func() ([]transcript.Message, error) { return i.Store.MessagesAfter(ctx, id, after, limit) })
}

func (i interceptedTurns) Append(ctx context.Context, f sessions.Fence, turn string, ms ...transcript.Message) error {
	return i.around(ctx, Call{Op: "Append", Token: f.Token, Fence: &f, Args: []any{f, turn, ms}}, func() error { return i.Store.Append(ctx, f, turn, ms...) })
}

func (i interceptedTurns) Begin(ctx context.Context, f sessions.Fence, turn string, step int, callID string) (bool, error) {
	return one(ctx, i.around, Call{Op: "Begin", Token: f.Token, Fence: &f, Args: []any{f, turn, step, callID}}, func() (bool, error) { return i.Store.Begin(ctx, f, turn, step, callID) })
}

func (i interceptedTurns) Post(ctx context.Context, f sessions.Fence, turn string, replies ...sessions.Outgoing) error {
	return i.around(ctx, Call{Op: "Post", Token: f.Token, Fence: &f, Args: []any{f, turn, replies}}, func() error { return i.Store.Post(ctx, f, turn, replies...) })
}

func (i interceptedTurns) Reserve(ctx context.Context, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	return i.around(ctx, Call{Op: "Reserve", Token: f.Token, Fence: &f, Args: []any{f, c, r}}, func() error { return i.Store.Reserve(ctx, f, c, r) })
}

func (i interceptedTurns) Settle(ctx context.Context, f sessions.Fence, s costs.Settlement, ms ...transcript.Message) error {
	return i.around(ctx, Call{Op: "Settle", Token: f.Token, Fence: &f, Args: []any{f, s, ms}}, func() error { return i.Store.Settle(ctx, f, s, ms...) })
}

func (i interceptedTurns) Finish(ctx context.Context, f sessions.Fence, e sessions.FinishTurn) (sessions.Finished, error) {
	return one(ctx, i.around, Call{Op: "Finish", Token: f.Token, Fence: &f, Args: []any{f, e}}, func() (sessions.Finished, error) { return i.Store.Finish(ctx, f, e) })
}

func (i interceptedTurns) Spawn(ctx context.Context, f sessions.Fence, s sessions.Session) (sessions.Session, bool, error) {
	return two(ctx, i.around, Call{Op: "Spawn", Token: f.Token, Fence: &f, Args: []any{f, s}}, func() (sessions.Session, bool, error) { return i.Store.Spawn(ctx, f, s) })
}

func (i interceptedTurns) Restore(ctx context.Context, r sessions.Restored) error {
	return i.around(ctx, Call{Op: "Restore", Token: r.Token, Args: []any{r}}, func() error { return i.Store.Restore(ctx, r) })
}

func (i interceptedTurns) Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	return one(ctx, i.around, Call{Op: "Session", Args: []any{id}}, func() (sessions.Session, error) { return i.Store.Session(ctx, id) })
}

func (i interceptedTurns) Tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error) {
	return one(ctx, i.around, Call{Op: "Tree", Args: []any{id}}, func() ([]sessions.Session, error) { return i.Store.Tree(ctx, id) })
}

func (i interceptedTurns) Turn(ctx context.Context, id string) (sessions.Turn, error) {
	return one(ctx, i.around, Call{Op: "Turn", Args: []any{id}}, func() (sessions.Turn, error) { return i.Store.Turn(ctx, id) })
}

func (i interceptedTurns) AppendWith(ctx context.Context, f sessions.Fence, turn string, rs []sessions.Record, ms ...transcript.Message) error {
	return i.around(ctx, Call{Op: "AppendWith", Token: f.Token, Fence: &f, Args: []any{turn, rs, ms}}, func() error { return i.Store.AppendWith(ctx, f, turn, rs, ms...) })
}

func (i interceptedTurns) Notice(ctx context.Context, e sessions.InboxID, replies []sessions.Outgoing, at time.Time) (bool, error) {
	return one(ctx, i.around, Call{Op: "Notice", Args: []any{e, replies, at}}, func() (bool, error) { return i.Store.Notice(ctx, e, replies, at) })
}

func (i interceptedTurns) TurnsOf(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Turn, error) {
	return one(ctx, i.around, Call{Op: "TurnsOf", Args: []any{id}}, func() ([]sessions.Turn, error) { return i.Store.TurnsOf(ctx, id) })
}

func (i interceptedOutbox) Pending(ctx context.Context, channel string, after uint64, limit int) ([]sessions.Delivery, error) {
	return one(ctx, i.around, Call{Op: "Pending", Args: []any{channel, after, limit}}, func() ([]sessions.Delivery, error) { return i.Store.Pending(ctx, channel, after, limit) })
}

func (i interceptedOutbox) Advance(ctx context.Context, id string, p sessions.Progress) error {
	return i.around(ctx, Call{Op: "Advance", Args: []any{id, p}}, func() error { return i.Store.Advance(ctx, id, p) })
}

func (i interceptedOutbox) Delivery(ctx context.Context, id string) (sessions.Delivery, error) {
	return one(ctx, i.around, Call{Op: "Delivery", Args: []any{id}}, func() (sessions.Delivery, error) { return i.Store.Delivery(ctx, id) })
}

func (i interceptedChats) Chat(ctx context.Context, id sessions.ChatID) (sessions.Chat, error) {
	return one(ctx, i.around, Call{Op: "Chat", Args: []any{id}}, func() (sessions.Chat, error) { return i.Store.Chat(ctx, id) })
}

func (i interceptedMoney) Spent(ctx context.Context, s sessions.Scope, at time.Time) (costs.Amount, costs.Amount, error) {
	return two(ctx, i.around, Call{Op: "Spent", Args: []any{s, at}}, func() (costs.Amount, costs.Amount, error) { return i.Store.Spent(ctx, s, at) })
}

func (i interceptedRecords) Record(ctx context.Context, id sessions.RecordID, now time.Time) (sessions.Record, error) {
	return one(ctx, i.around, Call{Op: "Record", Args: []any{id, now}}, func() (sessions.Record, error) { return i.Store.Record(ctx, id, now) })
}

func (i interceptedRecords) WriteRecord(ctx context.Context, r sessions.Record) (int64, error) {
	return one(ctx, i.around, Call{Op: "WriteRecord", Args: []any{r}}, func() (int64, error) { return i.Store.WriteRecord(ctx, r) })
}

func (i interceptedRecords) DropRecord(ctx context.Context, id sessions.RecordID, revision int64) error {
	return i.around(ctx, Call{Op: "DropRecord", Args: []any{id, revision}}, func() error { return i.Store.DropRecord(ctx, id, revision) })
}

// Records passes on what was found when the operation is over: who has given up is told nothing
// any more.
func (i interceptedRecords) Records(ctx context.Context, kind, prefix string, now time.Time, yield func(sessions.Record) bool) error {
	found, err := one(ctx, i.around, Call{Op: "Records", Args: []any{kind, prefix, now}}, func() (all []sessions.Record, err error) {
		err = i.Store.Records(ctx, kind, prefix, now, func(r sessions.Record) bool {
			all = append(all, r)
			return true
		})
		return all, err
	})
	for _, r := range found {
		if !yield(r) {
			break
		}
	}
	return err
}
