package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"parley/agent"
	"parley/costs"
	"parley/gateway/commands"
	"parley/sessions"
	"parley/transcript"
)

// journal is the loop's memory: the store, under the actor's fence. What was
// committed is also kept here, so that a history is read from the store once
// and not for each model call.
type journal struct {
	a        *actor
	f        sessions.Fence
	t        sessions.Turn
	after    sessions.Mailbox // the mailbox after Finish
	released bool

	history []transcript.Message
	known   bool // history is what the store holds
}

var _ agent.Journal = (*journal)(nil)

func (a *actor) journal(t sessions.Turn) *journal { return &journal{a: a, f: a.m.Fence(), t: t} }

func (j *journal) Messages(ctx context.Context) ([]transcript.Message, error) {
	if !j.known {
		ms, err := j.a.w.Store.Messages(ctx, j.t.Session)
		if err != nil {
			return nil, err
		}
		j.history, j.known = ms, true
	}
	return slices.Clip(j.history), nil
}

// committed takes ms into the history when err is nil. After an error nobody
// knows what the store holds, until it is read again.
func (j *journal) committed(err error, ms []transcript.Message) error {
	if err != nil {
		j.history, j.known = nil, false
		return err
	}
	if j.known {
		j.history = append(j.history, ms...)
	}
	return nil
}

func (j *journal) Append(ctx context.Context, ms ...transcript.Message) error {
	return j.committed(j.a.w.Store.Append(ctx, j.f, j.t.ID, ms...), ms)
}

func (j *journal) Begin(ctx context.Context, step int, callID string) (bool, error) {
	return j.a.w.Store.Begin(ctx, j.f, j.t.ID, step, callID)
}

func (j *journal) Reserve(ctx context.Context, e costs.Estimate) (costs.Reservation, error) {
	r := costs.Reservation{ID: e.Call.String(), Estimate: e, At: j.a.w.Now()}
	return r, j.a.w.Store.Reserve(ctx, j.f, sessions.Charge{
		Session: j.t.Session, Turn: j.t.ID,
		Scopes: []sessions.Scope{
			{Kind: "global"},
			commands.ChatScope(j.a.token),
			{Kind: "person", ID: j.person()},
		},
	}, r)
}

// person names who pays by network and account too: the same digits are
// somebody else elsewhere.
func (j *journal) person() string {
	b, _ := json.Marshal([]string{j.t.From.Channel, j.t.From.Account, j.t.Sender})
	return string(b)
}

func (j *journal) Settle(ctx context.Context, s costs.Settlement, ms ...transcript.Message) error {
	return j.committed(j.a.w.Store.Settle(ctx, j.f, s, ms...), ms)
}

func (j *journal) Finish(ctx context.Context, s *costs.Settlement, o agent.Outcome, ms ...transcript.Message) error {
	e := sessions.Ending{Turn: j.t.ID, Settlement: s, Messages: ms, Outcome: o.Finish, At: j.a.w.Now()}
	if !o.Silent {
		e.Replies = []sessions.Outgoing{{
			ID: j.t.ID, Channel: j.t.Channel, Session: j.t.Session, Turn: j.t.ID,
			To: j.t.From, ReplyTo: j.t.ReplyTo, Text: o.Text, At: e.At,
		}}
	}
	m, released, err := j.a.w.Store.Finish(ctx, j.f, e)
	if err := j.committed(err, ms); err != nil {
		return fmt.Errorf("finish the turn: %w", err)
	}
	j.after, j.released = m, released
	if j.known {
		j.a.w.histories.keep(j.t.Session, j.f.Epoch, j.history)
	}
	j.a.w.signalOutbox(j.t.Channel)
	return nil
}
