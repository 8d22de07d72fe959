package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"time"

	"parley/pause"

	goredis "github.com/redis/go-redis/v9"
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

// oldest is the first version of Redis that has all that the scripts use.
const oldest = 7

// errServer is a server that a store cannot trust with what it keeps.
var errServer = errors.New("this Redis server cannot be used")

// inspect says whether the server keeps what it is told. What its configuration
// does not let us see is not held against it.
func (conn *connection) inspect(ctx context.Context) error {
	info, err := conn.awaitLoaded(ctx)
	if err != nil {
		return err
	}
	if err := judge(info); err != nil {
		return err
	}
	return conn.inspectSync(ctx)
}

// judge refuses a server that says of itself what a store cannot stand.
func judge(info map[string]string) error {
	major, _, _ := strings.Cut(info["redis_version"], ".")
	version, err := strconv.Atoi(major)
	switch {
	case info["redis_mode"] == "sentinel":
		return unusable("it is a Sentinel; write its address as redis://host:26379/0?master_name=NAME")
	case info["cluster_enabled"] == "1" || info["redis_mode"] == "cluster":
		return unusable("it is a node of a Redis Cluster, which cannot change a conversation's tree and its budgets in one step; use one primary, with replicas and Sentinels if it is to survive the loss of a machine")
	case err != nil || version < oldest:
		return unusable("its version is %s; Redis %d.0 or newer is needed (Valkey too)", info["redis_version"], oldest)
	case info["role"] != "master":
		return unusable("it is a replica, which is read only; give the address of the primary, or of the Sentinels with ?master_name=NAME")
	case info["maxmemory_policy"] != "noeviction":
		return unusable("when its memory is full it forgets keys (maxmemory-policy %s), among them messages and money; set: maxmemory-policy noeviction", info["maxmemory_policy"])
	case info["aof_enabled"] == "0":
		return unusable("it does not write down what it is told (appendonly no), so a restart loses everything since the last snapshot; set: appendonly yes")
	}
	return nil
}

// loadPoll is how often a server is asked whether it has read its files.
const loadPoll = 50 * time.Millisecond

// awaitLoaded waits until the server has read its files, and returns what it says of itself
// then. Until then Redis says that it has no append-only file: it puts that aside while
// it reads (loadSingleAppendOnlyFile in its aof.c).
func (conn *connection) awaitLoaded(ctx context.Context) (map[string]string, error) {
	for told := false; ; told = true {
		info, err := conn.info(ctx)
		if err != nil || info["loading"] != "1" {
			return info, err
		}
		if !told {
			conn.log.Info("redis: the server is reading its files; waiting for it", "server", info["run_id"])
		}
		if err := pause.For(ctx, loadPoll); err != nil {
			return nil, fmt.Errorf("wait until the server has read its files: %w", err)
		}
	}
}

// inspectSync refuses a server that leaves the writing to the operating system.
func (conn *connection) inspectSync(ctx context.Context) error {
	set, err := conn.plain.ConfigGet(ctx, "appendfsync").Result()
	if err != nil {
		if ctx.Err() != nil {
			return explain(err)
		}
		conn.log.Warn("redis: CONFIG GET is not allowed, so nobody knows how often its file is synced; appendfsync should be everysec or always")
		return nil
	}
	if set["appendfsync"] == "no" {
		return unusable("it leaves to the operating system when its file reaches the disk (appendfsync no), which may be half a minute; set: appendfsync everysec, or always")
	}
	return nil
}

func unusable(format string, a ...any) error {
	return fmt.Errorf("%w: %w", errServer, fmt.Errorf(format, a...))
}

// info is what the server says of itself.
func (conn *connection) info(ctx context.Context) (map[string]string, error) {
	text, err := conn.plain.Info(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", explain(err))
	}
	return infoOf(text), nil
}

func infoOf(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[k] = v
		}
	}
	return m
}
