package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/gateway/commands"
	"parley/gateway/intake"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// actor owns one mailbox for a while. Only its own goroutine touches its
// fields.
type actor struct {
	w      *Worker
	token  string
	m      sessions.Mailbox
	ctx    context.Context
	cancel context.CancelCauseFunc
	poked  chan struct{} // look for control requests
	done   chan struct{}

	halted bool // the last turn ended because somebody said stop
}

// start gives m, which this worker has just taken, an actor. The caller holds
// the mailbox and a slot; the slot is the actor's from now on.
func (w *Worker) start(m sessions.Mailbox) {
	ctx, cancel := context.WithCancelCause(w.actors.base)
	w.actors.start(&actor{
		w: w, token: m.Token, m: m, ctx: ctx, cancel: cancel,
		poked: make(chan struct{}, 1), done: make(chan struct{}),
	})
}

// How long a mailbox rests after work on it failed, before it is given back:
// what is wrong with the store, the log or the configuration is rarely mended
// in a moment. It rests without a slot.
const (
	restFirst = 100 * time.Millisecond
	restMost  = 15 * time.Second
)

func (a *actor) run() {
	defer a.cancel(nil)
	err := a.guarded()
	a.w.freeSlot()
	var p *agent.PanicError
	switch {
	case err == nil:
		a.w.actors.well(a.token)
		return
	case errors.Is(err, sessions.ErrFenced):
		a.w.actors.well(a.token)
		a.w.Logger.Info("another worker has the session", "session", a.m.Session)
		return
	case errors.As(err, &p):
		// The mailbox stays in this worker's name: it is adopted again and the
		// attempt counts, until the message goes to the dead letters.
		a.w.Logger.Error("panic in a session", "session", a.m.Session, "panic", p.Value, "stack", string(p.Stack))
		return
	case errors.Is(err, agent.ErrHandover):
		a.handover()
		return
	}
	n := a.w.actors.fail(a.token)
	wait := min(restFirst<<min(n-1, 10), restMost)
	a.w.Logger.Error("a session is given back and tried again", "session", a.m.Session, "failures", n, "wait", wait, "error", err)
	a.rest(wait)
	for !a.handover() && a.rest(wait) {
		wait = min(2*wait, restMost)
	}
	a.w.backlog.Store(true)
	a.w.lookNow()
}

// guarded is work, and a panic as an error.
func (a *actor) guarded() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &agent.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return a.work()
}

// rest waits for d; false when there is no time left, because the process ends
// or lost its lease. Somebody who says stop is not kept waiting.
func (a *actor) rest(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.poked:
	case <-a.ctx.Done():
		return false
	case <-a.w.closing:
		return false
	}
	return true
}

// handover gives the mailbox back with its attempt; false when the store does
// not do so.
func (a *actor) handover() bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), 5*time.Second)
	defer cancel()
	err := a.w.Store.Handover(ctx, a.m.Fence())
	if err == nil || errors.Is(err, sessions.ErrFenced) {
		return true
	}
	a.w.Logger.Warn("handing a session over", "session", a.m.Session, "error", err)
	return false
}

// work goes on until nothing is owed or this process goes away.
func (a *actor) work() error {
	for {
		if a.w.ending() || a.ctx.Err() != nil {
			return agent.ErrHandover
		}
		released, err := a.step()
		if err != nil || released {
			return err
		}
	}
}

func (a *actor) step() (released bool, err error) {
	stop := a.m.Controls > 0
	switch {
	case a.m.Turn != nil:
		return a.resume(stop)
	case stop:
		return a.comply()
	case a.m.Touched > a.m.Read:
		return a.next()
	}
	return a.release()
}

func (a *actor) release() (bool, error) {
	m, released, err := a.w.Store.Release(a.ctx, a.m.Fence())
	if err != nil {
		return false, fmt.Errorf("release the mailbox: %w", err)
	}
	a.m = m
	return released, nil
}

// next takes up the first message that no turn has read.
func (a *actor) next() (bool, error) {
	e, err := a.w.Log.NextAtLeast(a.ctx, a.token, a.m.Read, a.m.Touched)
	if errors.Is(err, broker.ErrNone) {
		// The log knew of messages that it does not have any more.
		a.w.Observer.Lost(1)
		a.w.Logger.Error("messages of a session are missing from the log", "key", a.m.Key, "after", a.m.Read, "until", a.m.Touched)
		return a.skip(a.m.Touched)
	}
	if err != nil {
		return false, fmt.Errorf("read the mailbox: %w", err)
	}
	msg, err := a.read(e)
	if err != nil {
		if err := a.bury(e, "", "encoding", err.Error()); err != nil {
			return false, err
		}
		return a.skip(e.Seq)
	}
	if a.m.Attempts > a.w.Config.Attempts {
		return a.giveUp(e, msg)
	}
	if c, ok := commands.Parse(msg.Text); ok && c.Kind() == commands.Queued {
		return a.command(e, msg, c)
	}
	return a.open(e, msg)
}

// read is the message in e, which must be one of this conversation: its
// address is where the answer goes.
func (a *actor) read(e broker.Envelope) (msg channels.Message, err error) {
	if err := json.Unmarshal(e.Body, &msg); err != nil {
		return msg, fmt.Errorf("read the message: %w", err)
	}
	if msg.Address != a.m.Key.Address() {
		return msg, errors.New("the message is not of this conversation")
	}
	return msg, nil
}

func (a *actor) skip(seq uint64) (bool, error) {
	if err := a.w.Store.Skip(a.ctx, a.m.Fence(), seq); err != nil {
		return false, fmt.Errorf("pass over a message: %w", err)
	}
	return a.release()
}

// giveUp sends a message that was taken up too often to the dead letters, and
// tells who sent it, once.
func (a *actor) giveUp(e broker.Envelope, msg channels.Message) (bool, error) {
	problem := fmt.Sprintf("taken up %d times without an end", a.m.Attempts-1)
	if err := a.bury(e, msg.Channel, "attempts", problem); err != nil {
		return false, err
	}
	return a.answer(e, msg, "", gaveUpText)
}

const gaveUpText = "I could not handle that message: it failed every time I tried. It was put aside for the operator."

func (a *actor) bury(e broker.Envelope, channel, reason, problem string) error {
	if err := a.w.Log.DeadLetter(a.ctx, broker.DeadLetter{
		ID: e.ID, Reason: reason, Channel: channel, Key: e.Key, Problem: problem, Body: e.Body, At: a.w.Now(),
	}); err != nil {
		return fmt.Errorf("keep a dead letter: %w", err)
	}
	a.w.Observer.DeadLettered(channel, reason)
	return nil
}

func (a *actor) command(e broker.Envelope, msg channels.Message, c commands.Command) (bool, error) {
	var fresh sessionkeys.SessionID
	if c.Fresh() {
		fresh = sessionkeys.NewSessionID(a.w.Now())
	}
	return a.answer(e, msg, fresh, commands.FreshText)
}

func (a *actor) answer(e broker.Envelope, msg channels.Message, fresh sessionkeys.SessionID, text string) (bool, error) {
	done, err := a.w.Store.Answer(a.ctx, a.m.Fence(), sessions.Command{
		Seq: e.Seq, Event: intake.Inbox(msg), Fresh: fresh, At: a.w.Now(),
		Replies: []sessions.Outgoing{{
			ID: "n-" + a.turnID(e.Seq), Channel: msg.Channel, Session: a.m.Session,
			To: msg.Address, ReplyTo: intake.ReplyTo(msg), Text: text, At: a.w.Now(),
		}},
	})
	if err != nil {
		return false, fmt.Errorf("answer a command: %w", err)
	}
	if !done {
		a.w.Observer.Deduplicated(msg.Channel, "message_id")
	} else {
		a.w.signalOutbox(msg.Channel)
	}
	return a.release()
}

// comply carries out /stop: what waits is discarded, and how much is said. A
// turn that ran has ended before.
func (a *actor) comply() (bool, error) {
	cs, err := a.w.Store.Controls(a.ctx, a.token)
	if err != nil {
		return false, fmt.Errorf("read control requests: %w", err)
	}
	if len(cs) == 0 {
		return a.release()
	}
	halted, err := a.stopped(cs[0])
	if err != nil {
		return false, err
	}
	read := a.m.Read
	var ids []string
	var replies []sessions.Outgoing
	for _, c := range cs {
		discarded := 0
		for c.Through > read {
			e, err := a.w.Log.NextAtLeast(a.ctx, a.token, read, c.Through)
			if errors.Is(err, broker.ErrNone) {
				break
			}
			if err != nil {
				return false, fmt.Errorf("count what is discarded: %w", err)
			}
			if e.Seq > c.Through {
				break
			}
			read = e.Seq
			discarded++
		}
		ids = append(ids, c.ID)
		replies = append(replies, sessions.Outgoing{
			ID: "n-" + c.ID, Channel: c.Channel, Session: a.m.Session,
			To: c.From, ReplyTo: c.ReplyTo, Text: stoppedText(halted, discarded), At: a.w.Now(),
		})
		halted = false
	}
	if err := a.w.Store.Comply(a.ctx, a.m.Fence(), ids, read, replies); err != nil {
		return false, fmt.Errorf("end control requests: %w", err)
	}
	a.halted = false
	for _, c := range cs {
		a.w.signalOutbox(c.Channel)
	}
	return a.release()
}

// stopped says whether a turn was ended by the request c, also when an earlier
// owner of the mailbox did so and got no further.
func (a *actor) stopped(c sessions.Control) (bool, error) {
	if a.halted || a.m.Read == 0 {
		return a.halted, nil
	}
	t, err := a.w.Store.Turn(a.ctx, a.turnID(a.m.Read))
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the last turn: %w", err)
	}
	return t.Outcome == transcript.Canceled && !t.EndedAt.Before(c.At.Truncate(time.Microsecond)), nil
}

func stoppedText(ran bool, discarded int) string {
	text := "Nothing was running."
	if ran {
		text = "Stopped."
	}
	switch discarded {
	case 0:
	case 1:
		text += " One waiting message was dropped."
	default:
		text += fmt.Sprintf(" %d waiting messages were dropped.", discarded)
	}
	return text
}

// open commits the message and runs its turn.
func (a *actor) open(e broker.Envelope, msg channels.Message) (bool, error) {
	now := a.w.Now()
	id := a.turnID(e.Seq)
	question := transcript.Message{
		ID: id + "-user", Role: transcript.User, CreatedAt: now,
		Parts: []transcript.Part{transcript.Text{Text: said(msg)}},
	}
	t, opened, err := a.w.Store.Open(a.ctx, a.m.Fence(), sessions.Opening{
		Turn: sessions.Turn{
			ID: id, Seq: e.Seq, Channel: msg.Channel, From: msg.Address, ReplyTo: intake.ReplyTo(msg),
			Sender: msg.Sender.ID, ReceivedAt: msg.ReceivedAt, OpenedAt: now,
		},
		Event:   intake.Inbox(msg),
		Message: question,
	})
	if err != nil {
		return false, fmt.Errorf("open a turn: %w", err)
	}
	if !opened {
		a.w.Observer.Deduplicated(msg.Channel, "message_id")
		return a.release()
	}
	a.w.Observer.TurnStarted(t.Channel, now.Sub(t.ReceivedAt))
	j := a.journal(t)
	if before, ok := a.w.histories.take(t.Session, j.f.Epoch); ok && t.Attempts <= 1 {
		j.history, j.known = append(before, question), true
	}
	return a.turn(t, j, false)
}

// resume goes on with a turn that an earlier owner left open.
func (a *actor) resume(stop bool) (bool, error) {
	t, err := a.w.Store.Resume(a.ctx, a.m.Fence(), a.w.Now())
	if errors.Is(err, sessions.ErrNotFound) {
		return a.release()
	}
	if err != nil {
		return false, fmt.Errorf("resume a turn: %w", err)
	}
	if t.Attempts > a.w.Config.Attempts && !stop {
		return a.abandon(t)
	}
	return a.turn(t, a.journal(t), stop)
}

// abandon ends a turn that was taken up too often: its message goes to the
// dead letters, the person is told once.
func (a *actor) abandon(t sessions.Turn) (bool, error) {
	problem := fmt.Sprintf("its turn was taken up %d times without an end", t.Attempts-1)
	e, err := a.w.Log.NextAtLeast(a.ctx, a.token, t.Seq-1, t.Seq)
	if err == nil && a.turnID(e.Seq) == t.ID { // else it is gone, or was in another log
		err = a.bury(e, t.Channel, "attempts", problem)
	}
	if err != nil && !errors.Is(err, broker.ErrNone) {
		return false, err
	}
	j := a.journal(t)
	if err := j.Finish(a.ctx, nil, agent.Outcome{
		Finish: transcript.Failed, Text: gaveUpText, Err: errors.New(problem), Steps: t.Steps, Priced: true,
	}); err != nil {
		return false, err
	}
	a.w.Observer.TurnEnded(TurnReport{
		Channel: t.Channel, DM: t.From.Kind == sessionkeys.DM, Outcome: transcript.Failed, Took: a.w.Now().Sub(t.OpenedAt),
	})
	return a.ended(j)
}

// turnID is a pure function of where the message stands in the log, so that
// a repeated Open finds its turn.
func (a *actor) turnID(seq uint64) string {
	b, _ := json.Marshal([]string{"turn", a.w.Generation, a.token, strconv.FormatUint(seq, 10)})
	sum := sha256.Sum256(b)
	return "t-" + hex.EncodeToString(sum[:16])
}
