package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// newTurn is a turn in a request.
type newTurn struct {
	ID         string                `json:"id"`
	Token      string                `json:"token"`
	Session    sessionkeys.SessionID `json:"session"`
	Seq        uint64                `json:"seq"`
	Channel    string                `json:"channel"`
	Origin     string                `json:"origin"` // JSON
	ReplyTo    string                `json:"reply_to"`
	Sender     string                `json:"sender"`
	ReceivedAt int64                 `json:"received_at"`
	OpenedAt   int64                 `json:"opened_at"`
	EndedAt    int64                 `json:"ended_at"`
}

// Open implements [sessions.Turns].
func (s *Store) Open(ctx context.Context, f sessions.Fence, o sessions.Opening) (sessions.Turn, bool, error) {
	t, opened, err := s.openTurn(ctx, f, o)
	if err != nil {
		return sessions.Turn{}, false, fmt.Errorf("open turn %s: %w", o.Turn.ID, err)
	}
	return t, opened, nil
}

func (s *Store) openTurn(ctx context.Context, f sessions.Fence, o sessions.Opening) (sessions.Turn, bool, error) {
	t := o.Turn
	if t.ID == "" {
		return sessions.Turn{}, false, s.heldOr(ctx, f, errors.New("it has no id"))
	}
	if err := checkSeq(t.Seq, o.Through); err != nil {
		return sessions.Turn{}, false, err
	}
	ms, err := messagesOf([]transcript.Message{o.Message})
	if err != nil {
		return sessions.Turn{}, false, err
	}
	from, err := text(t.From)
	if err != nil {
		return sessions.Turn{}, false, err
	}
	events := eventsOf(o.Events)
	a, err := s.record(ctx, "open", &f, struct {
		Fence   fence     `json:"fence"`
		Turn    newTurn   `json:"turn"`
		Events  []event   `json:"events"`
		Through uint64    `json:"through"`
		Words   []wording `json:"words"`
		Message message   `json:"message"`
	}{
		of(f), newTurn{
			t.ID, f.Token, t.Session, t.Seq, t.Channel, from, t.ReplyTo, t.Sender, micros(t.ReceivedAt), micros(t.OpenedAt), micros(t.EndedAt),
		}, events, max(o.Through, t.Seq), wordingsOf(o.Words), ms[0],
	})
	if err != nil || !a.yes(0) {
		return sessions.Turn{}, false, knownAmong(err, events)
	}
	opened, err := turnOf(a.row(1))
	return opened, true, err
}

// heldOr is err when f holds, else that it does not.
func (s *Store) heldOr(ctx context.Context, f sessions.Fence, err error) error {
	m, lookErr := s.Mailbox(ctx, f.Token)
	switch {
	case errors.Is(lookErr, sessions.ErrNotFound) || lookErr == nil && m.Fence() != f:
		return sessions.ErrFenced
	case lookErr != nil:
		return lookErr
	}
	return err
}

// Join implements [sessions.Turns].
func (s *Store) Join(ctx context.Context, f sessions.Fence, j sessions.Joining) (bool, error) {
	joined, err := s.join(ctx, f, j)
	if err != nil {
		return false, fmt.Errorf("join message %d to turn %s: %w", j.Seq, j.Turn, err)
	}
	return joined, nil
}

func (s *Store) join(ctx context.Context, f sessions.Fence, j sessions.Joining) (bool, error) {
	if err := checkSeq(j.Seq, j.Through); err != nil {
		return false, err
	}
	ms, err := messagesOf([]transcript.Message{j.Message})
	if err != nil {
		return false, err
	}
	events := eventsOf(j.Events)
	a, err := s.record(ctx, "join", &f, struct {
		Fence   fence     `json:"fence"`
		Turn    string    `json:"turn"`
		Seq     uint64    `json:"seq"`
		Through uint64    `json:"through"`
		Events  []event   `json:"events"`
		Words   []wording `json:"words"`
		Message message   `json:"message"`
		At      int64     `json:"at"`
	}{of(f), j.Turn, j.Seq, max(j.Through, j.Seq), events, wordingsOf(j.Words), ms[0], micros(j.Message.CreatedAt)})
	return a.yes(0), knownAmong(err, events)
}

// Resume implements [sessions.Turns].
func (s *Store) Resume(ctx context.Context, f sessions.Fence, now time.Time) (t sessions.Turn, err error) {
	a, err := s.record(ctx, "resume", &f, struct {
		Fence  fence  `json:"fence"`
		Moment moment `json:"moment"`
	}{of(f), momentOf(now)})
	if err = refusedMoney(err, nil, noReservation()); err == nil {
		t, err = turnOf(a.row(0))
	}
	if err != nil {
		return sessions.Turn{}, fmt.Errorf("resume the turn of %s: %w", f.Token, err)
	}
	return t, nil
}

// Turn implements [sessions.Turns].
func (s *Store) Turn(ctx context.Context, id string) (t sessions.Turn, err error) {
	a, err := s.look(ctx, "turn", one{id})
	if err == nil {
		t, err = turnOf(a.row(0))
	}
	if err != nil {
		return sessions.Turn{}, fmt.Errorf("read turn %s: %w", id, err)
	}
	return t, nil
}

// one is the request of a script that looks one row up.
type one struct {
	ID string `json:"id"`
}

// Session implements [sessions.Turns].
func (s *Store) Session(ctx context.Context, id sessionkeys.SessionID) (found sessions.Session, err error) {
	a, err := s.look(ctx, "session", one{string(id)})
	if err == nil {
		found, err = sessionOf(a.row(0))
	}
	if err != nil {
		return sessions.Session{}, fmt.Errorf("read session %s: %w", id, err)
	}
	return found, nil
}

// Skip implements [sessions.Turns].
func (s *Store) Skip(ctx context.Context, f sessions.Fence, seq uint64) error {
	err := checkSeq(seq)
	if err == nil {
		_, err = s.record(ctx, "skip", &f, struct {
			Fence fence  `json:"fence"`
			Seq   uint64 `json:"seq"`
		}{of(f), seq})
	}
	if err != nil {
		return fmt.Errorf("skip message %d of %s: %w", seq, f.Token, err)
	}
	return nil
}

// Answer implements [sessions.Turns].
func (s *Store) Answer(ctx context.Context, f sessions.Fence, c sessions.Command) (bool, error) {
	rs, err := repliesOf(c.Replies)
	if err == nil {
		err = checkSeq(c.Seq)
	}
	var a answer
	if err == nil {
		a, err = s.record(ctx, "answer", &f, struct {
			Fence   fence                 `json:"fence"`
			Seq     uint64                `json:"seq"`
			Event   event                 `json:"event"`
			With    []event               `json:"with"`
			Fresh   sessionkeys.SessionID `json:"fresh"`
			Replies []reply               `json:"replies"`
			At      int64                 `json:"at"`
		}{of(f), c.Seq, event(c.Event), eventsOf(c.With), c.Fresh, rs, micros(c.At)})
	}
	if err != nil {
		return false, fmt.Errorf("answer message %d of %s: %w", c.Seq, f.Token, err)
	}
	return a.yes(0), nil
}

// Begin implements [sessions.Turns].
func (s *Store) Begin(ctx context.Context, f sessions.Fence, turn string, step int, callID string) (bool, error) {
	a, err := s.record(ctx, "begin", &f, struct {
		Fence fence  `json:"fence"`
		Turn  string `json:"turn"`
		Step  int    `json:"step"`
		Call  string `json:"call"`
	}{of(f), turn, step, callID})
	if err != nil {
		return false, fmt.Errorf("begin call %s of turn %s: %w", callID, turn, err)
	}
	return a.yes(0), nil
}

// Finish implements [sessions.Turns].
func (s *Store) Finish(ctx context.Context, f sessions.Fence, e sessions.Ending) (sessions.Mailbox, bool, error) {
	m, released, err := s.finish(ctx, f, e)
	if err != nil {
		return sessions.Mailbox{}, false, fmt.Errorf("finish turn %s: %w", e.Turn, err)
	}
	return m, released, nil
}

func (s *Store) finish(ctx context.Context, f sessions.Fence, e sessions.Ending) (m sessions.Mailbox, released bool, err error) {
	rs, err := repliesOf(e.Replies)
	if err != nil {
		return m, false, err
	}
	ms, err := messagesOf(e.Messages)
	if err != nil {
		return m, false, err
	}
	settlements := []settlement{} // one, or none
	if e.Settlement != nil {
		one, err := settlementOf(e.Settlement.Entry)
		if err != nil {
			return m, false, err
		}
		settlements = append(settlements, one)
	}
	refused := ""
	if e.Refused != nil {
		if refused, err = text(e.Refused); err != nil {
			return m, false, err
		}
	}
	a, err := s.record(ctx, "finish", &f, struct {
		Fence       fence                   `json:"fence"`
		Turn        string                  `json:"turn"`
		Settlements []settlement            `json:"settlements"`
		Messages    []message               `json:"messages"`
		Outcome     transcript.FinishReason `json:"outcome"`
		Refused     string                  `json:"refused"` // JSON, or empty
		Replies     []reply                 `json:"replies"`
		Moment      moment                  `json:"moment"`
		Nested      bool                    `json:"nested"`
	}{of(f), e.Turn, settlements, ms, e.Outcome, refused, rs, momentOf(e.At), e.Nested})
	if err != nil {
		return m, false, refusedMoney(err, nil, noReservation())
	}
	m, err = s.mailbox(a.list(1))
	return m, a.yes(0), err
}

func noReservation() (r costs.Reservation) { return r }
