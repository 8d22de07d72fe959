package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"parley/pause"
)

// read is one of those that rows.lua runs.
type read struct {
	Command []string `json:"command"`
	At      []int    `json:"at,omitempty"`   // arguments, from 1, that a name stands behind
	Cut     int      `json:"cut,omitempty"`  // characters before a name
	Any     []read   `json:"any,omitempty"`  // one must find something, or the name does not count
	Each    []read   `json:"each,omitempty"` // for each name that the command returned
}

// newRead is a read of a command.
func newRead(command ...string) read { return read{Command: command} }

// at puts names behind the arguments at positions.
func (r read) at(positions ...int) read {
	r.At = positions
	return r
}

// each adds reads for each name.
func (r read) each(reads ...read) read {
	r.Each = reads
	return r
}

// eachName calls f for each name of a read that has any, with the answers of its reads.
func (a answer) eachName(f func(name string, found answer) error) error {
	for i := range a.list(1) {
		if err := f(a.list(0).text(i), a.list(1).list(i)); err != nil {
			return err
		}
	}
	return nil
}

// below is the answers of the reads for the only name of a command; nil: it found none.
func (a answer) below() answer { return a.list(1).list(0) }

// runReads runs reads in one state of the database. gen is the generation of the log.
func (conn *connection) runReads(ctx context.Context, c *goredis.Client, era string, reads []read) (gen string, a answer, err error) {
	body, err := json.Marshal(reads)
	if err != nil {
		return "", nil, fmt.Errorf("encode a read: %w", err)
	}
	got, err := conn.scripts.rows.Run(ctx, c, []string{conn.prefix}, era, body).Slice()
	if err != nil {
		return "", nil, explain(err)
	}
	if a = answer(got); a.text(0) == "era" {
		return "", nil, errEra
	}
	return a.text(1), a.list(2), nil
}

// query runs reads in one state of the database, after a failover once it is ready
// again.
func (conn *connection) query(ctx context.Context, reads ...read) (answer, error) {
	for {
		_, a, err := conn.runReads(ctx, conn.client, *conn.era.Load(), reads)
		if !errors.Is(err, errEra) {
			return a, err
		}
		if err := conn.reconcile(ctx); err != nil {
			return nil, err
		}
	}
}

// tries is how often an operation is computed again at once. Each time somebody else
// got something done.
const tries = 5

// retryChanged calls do until it returns another error than errChanged, at first at once.
func retryChanged(ctx context.Context, do func() error) error {
	for n := 0; ; n++ {
		err := do()
		if !errors.Is(err, errChanged) {
			return err
		}
		if n >= tries {
			if err := pause.For(ctx, mathrand.N(time.Duration(min(n, 100))*time.Millisecond)); err != nil {
				return err
			}
		}
	}
}
