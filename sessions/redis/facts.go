package redis

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"parley/sessions"
)

// Facts is a log in which facts are written down before they are applied. It is
// replicated, so that it has what the database loses in a failover.
type Facts interface {
	// Append adds a fact and returns its number when it is durable. Numbers begin
	// with 1 and rise. The same id again, soon after, adds nothing and returns the
	// number that it has.
	Append(ctx context.Context, id string, body []byte) (number uint64, err error)
	// After calls yield for the facts behind a number, in order, up to the last
	// that was durable when it was called, or until yield returns false.
	After(ctx context.Context, number uint64, yield func(number uint64, body []byte) bool) error
	// Last is the number of the newest fact; 0: there was none ever.
	Last(ctx context.Context) (uint64, error)
}

// fact is what is written down: the call of a script, or one of two of its own.
type fact struct {
	Script  string          `json:"script"`
	Request json.RawMessage `json:"request,omitempty"`
	Box     *factOf         `json:"box,omitempty"` // of a fenced one
	Void    uint64          `json:"void,omitempty"`
	Era     int64           `json:"era,omitempty"`
}

// Facts that are no script's.
const (
	factVoid = "void" // Void was refused
	factEra  = "era"  // fences of older eras hold no more
)

// factOf is the mailbox whose fence a fact carries, with all that is needed to
// make the mailbox again.
type factOf struct {
	fence
	Key     string `json:"key"`
	Origin  string `json:"origin"`
	Session string `json:"session"`
	// Base is the last fact of the mailbox that was applied when the fence was
	// given. Facts behind it under older fences never held.
	Base uint64 `json:"base"`
	At   int64  `json:"at"`
}

// voidsNothing is the base of a fence of which it is not known that it was ever
// given.
const voidsNothing = 1 << 53

// mostPlain is how long a fact is written down as it is.
const mostPlain = 16 << 10

func (f fact) encode() ([]byte, error) {
	plain, err := json.Marshal(f)
	if err != nil || len(plain) <= mostPlain {
		return plain, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

func readFact(body []byte) (f fact, err error) {
	if len(body) > 0 && body[0] == 0x1f { // gzip
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return f, err
		}
		if body, err = io.ReadAll(r); err != nil {
			return f, err
		}
	}
	return f, json.Unmarshal(body, &f)
}

// record runs a script that writes what may not be forgotten. f is the fence of
// the request; nil: it has none.
//
// The fact is durable before the database hears of it. When the database refuses
// it, that is a fact too, and durable before anybody is told.
func (s *Store) record(ctx context.Context, script string, f *sessions.Fence, request any) (answer, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", request, err)
	}
	if s.facts == nil {
		return s.run(ctx, run{script: script, request: body})
	}
	p := &publication{id: rand.Text(), fact: fact{Script: script, Request: body}}
	if f == nil {
		return s.publish(ctx, p)
	}
	// Facts of one owner are applied in the order in which they are numbered.
	l, err := s.lanes.enter(ctx, f.Token)
	if err != nil {
		return nil, err
	}
	defer s.lanes.leave(f.Token, l)
	if l.unsettled != nil {
		if _, err := s.publish(ctx, l.unsettled); !told(err) {
			return nil, fmt.Errorf("an earlier write, of which nobody knows: %w", err)
		}
		l.unsettled = nil
	}
	if p.fact.Box, err = s.boxOf(ctx, *f); err != nil {
		return nil, err
	}
	a, err := s.publish(ctx, p)
	if !told(err) {
		l.unsettled = p
	}
	return a, err
}

// publication is a fact on its way.
type publication struct {
	id   string
	fact fact
}

// publish writes a fact down and applies it. Repeating it is safe.
func (s *Store) publish(ctx context.Context, p *publication) (answer, error) {
	body, err := p.fact.encode()
	if err != nil {
		return nil, fmt.Errorf("encode a fact: %w", err)
	}
	number, err := s.facts.Append(ctx, p.id, body)
	if err != nil {
		return nil, fmt.Errorf("write a fact down: %w", err)
	}
	return s.apply(ctx, number, p.fact)
}

// apply applies a fact that is written down. What is refused is written down as
// such before it is told.
func (s *Store) apply(ctx context.Context, number uint64, f fact) (answer, error) {
	a, err := s.run(ctx, run{script: f.Script, request: f.Request, fact: number, box: f.Box})
	if err == nil || !told(err) {
		return a, err
	}
	if errors.Is(err, errHeld) {
		return nil, sessions.ErrFenced
	}
	void, encodeErr := fact{Script: factVoid, Void: number}.encode()
	if encodeErr != nil {
		return nil, encodeErr
	}
	n, voidErr := s.facts.Append(ctx, fmt.Sprint("void-", number), void)
	if voidErr == nil {
		_, voidErr = s.run(ctx, run{script: "pass", request: []byte("{}"), fact: n})
	}
	if voidErr != nil {
		return nil, fmt.Errorf("write down that a write was refused: %w", voidErr)
	}
	return nil, err
}

// told says whether err is the database's own word, or nil.
func told(err error) bool {
	var with *refusedWith
	var refused *errRefused
	return err == nil || errors.Is(err, sessions.ErrFenced) || errors.Is(err, sessions.ErrNotFound) || errors.Is(err, errHeld) ||
		errors.As(err, &with) || errors.As(err, &refused)
}

// boxOf is the mailbox of a fence; nil: there is none of this token.
func (s *Store) boxOf(ctx context.Context, f sessions.Fence) (*factOf, error) {
	if b, ok := s.lanes.fence(f); ok {
		return b, nil
	}
	a, err := s.look(ctx, "mailbox", struct {
		Token string `json:"token"`
	}{f.Token})
	if errors.Is(err, sessions.ErrNotFound) {
		return nil, nil //nolint:nilnil // the script will refuse it
	}
	var m sessions.Mailbox
	if err == nil {
		m, err = s.mailbox(a)
	}
	if err != nil {
		return nil, fmt.Errorf("look at the mailbox: %w", err)
	}
	b, ok := s.lanes.fence(m.Fence())
	if !ok || m.Fence() != f {
		b = &factOf{}
		r := reader{row: a.row(0)}
		*b = boxIn(r)
		b.fence, b.Base = of(f), voidsNothing
	}
	return b, nil
}

// boxIn is a mailbox as box.answer makes it.
func boxIn(r reader) factOf {
	base := r.int("base")
	return factOf{
		fence: fence{r.row["token"], r.int("epoch"), r.row["owner_nonce"]}, Key: r.row["key"], Origin: r.row["origin"],
		Session: r.row["session"], Base: uint64(max(base, 0)), At: r.int("made"),
	}
}
