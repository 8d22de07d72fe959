package redis

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	goredis "github.com/redis/go-redis/v9"

	"parley/sessions/rules"
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
	// Last returns the number of the newest fact; 0: there was none ever.
	Last(ctx context.Context) (uint64, error)
}

// fact is what is written down: the changes of one operation, the call of a script,
// or one of two of its own.
type fact struct {
	Set     *changes        `json:"set,omitempty"`
	In      int64           `json:"in,omitempty"` // the era in which Set was computed
	Script  string          `json:"script,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	Box     *factOf         `json:"box,omitempty"` // of one that depends on a fence
	Void    uint64          `json:"void,omitempty"`
	Era     int64           `json:"era,omitempty"`
}

// Facts that are no changes.
const (
	factVoid       = "void"             // Void was refused
	factEra        = "era"              // fences of older eras hold no more
	factGeneration = "start_generation" // of the version before: the script of this name was called
)

// factOf is the mailbox whose fence a fact depends on.
type factOf struct {
	fence
	// Base is the last fact of the mailbox that was applied when the fence was
	// given. Facts behind it under older fences never held.
	Base uint64 `json:"base"`
}

// maxPlain is how long a fact is written down as it is.
const maxPlain = 16 << 10

func (f fact) encode() ([]byte, error) {
	plain, err := json.Marshal(f)
	if err != nil || len(plain) <= maxPlain {
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

// olderFactError reports that the log has a fact of a program that wrote calls of scripts.
func olderFactError(number uint64, script string) error {
	return fmt.Errorf("fact %d (%s) was written by an earlier version of parley, and the database does not have it: start that version once, so that it applies what it wrote, and then this one", number, script)
}

// publication is a fact on its way.
type publication struct {
	id      string
	fact    fact
	request func(number uint64) []any // the call of the commit script that applies it
}

// publish writes a fact down, applies it, and returns what the commit script said.
// What is refused is written down as such before it is told. Repeating it is safe.
func (db *database) publish(ctx context.Context, p *publication) (answer, error) {
	body, err := p.fact.encode()
	if err != nil {
		return nil, fmt.Errorf("encode a fact: %w", err)
	}
	number, err := db.facts.Append(ctx, p.id, body)
	if err != nil {
		return nil, fmt.Errorf("write a fact down: %w", err)
	}
	for asked := ""; ; {
		a, err := db.evaluate(ctx, db.client, p.request(number))
		if err != nil {
			return nil, err
		}
		switch a.text(0) {
		case "ok", "before":
			return a, nil
		case "era":
			// Whoever took over may have applied it. If not, it was computed from rows
			// that are no more.
			if err := db.reconcile(ctx); err != nil {
				return nil, err
			}
			if now := *db.era.Load(); asked != now {
				asked = now
				continue
			}
			a = answer{"conflict"}
		}
		before, err := db.writeVoid(ctx, number)
		if before { // by a take-over, which did not see the refusal
			a = answer{"before"}
		}
		return a, err
	}
}

// writeVoid writes into the log that a fact was refused. It reports whether the database was done
// with the fact before: then it may have been applied after all, and the operation that wrote it
// is computed again.
func (db *database) writeVoid(ctx context.Context, number uint64) (before bool, err error) {
	body, err := fact{Script: factVoid, Void: number}.encode()
	if err != nil {
		return false, fmt.Errorf("encode a fact: %w", err)
	}
	n, err := db.facts.Append(ctx, fmt.Sprint("void-", number), body)
	if err == nil {
		before, err = db.markPassed(ctx, number)
	}
	if err == nil {
		_, err = db.markPassed(ctx, n)
	}
	return before, rules.While(err, "write down that a write was refused")
}

// evaluate calls the commit script.
func (conn *connection) evaluate(ctx context.Context, c *goredis.Client, request []any) (answer, error) {
	for {
		got, err := conn.scripts.commit.Run(ctx, c, []string{conn.prefix}, request...).Slice()
		if err == nil {
			return answer(got), nil
		}
		if !errors.Is(err, errEra) {
			return nil, explain(err)
		}
		if err := conn.reconcile(ctx); err != nil { // a new connection greeted another server
			return nil, err
		}
	}
}
