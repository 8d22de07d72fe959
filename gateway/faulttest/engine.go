package faulttest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"parley/broker/brokertest"
	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
	"parley/sessions/sqlite"
)

// Engine is what a run stands on: how many processes there are, and what they
// share.
type Engine struct {
	Name string
	// Processes is how many of the binary run at a time.
	Processes int
	// Open starts what the processes share; it ends with the test. dir is theirs
	// for the whole run.
	Open func(t testing.TB, dir string) *Base
}

// Base is an engine that was opened.
type Base struct {
	// Config returns what process number i has in its configuration because of the
	// engine, as YAML at the top level; state_dir is always there.
	Config func(i int) string
	// Args are further arguments of process number i; nil: none.
	Args func(i int) []string
	// Socket returns the operator's socket of process number i.
	Socket func(i int) string
	// Store opens the store to look into it. No process runs then.
	Store func(ctx context.Context) (sessions.Store, error)

	// Nodes are the servers of the message log, and Redis the database; nil where
	// everything is inside.
	Nodes *brokertest.Nodes
	Redis *redistest.Server
	// Links are the only ways of each process to what it shares with the others,
	// by its number; nil where everything is inside.
	Links []Links
}

// Links are the ways of one process to the servers of the message log and to
// Redis.
type Links struct {
	Nodes []*Proxy
	Redis *Proxy
}

// All are the lines, for what is done to each: cut together, the process is
// parted from the others while it runs on.
func (l Links) All() []*Proxy { return append([]*Proxy{l.Redis}, l.Nodes...) }

// FailOver leads all processes to another Redis, which is Redis from now on.
func (b *Base) FailOver(to *redistest.Server) {
	b.Redis = to
	for _, l := range b.Links {
		l.Redis.Redirect(to.Addr())
	}
}

// Embedded returns one process with everything inside: SQLite, and the message log in
// the same process.
func Embedded() Engine {
	return Engine{Name: "embedded", Processes: 1, Open: func(_ testing.TB, dir string) *Base {
		state := filepath.Join(dir, "state")
		return &Base{
			Config: func(int) string { return fmt.Sprintf("state_dir: %s\n", state) },
			Socket: func(int) string { return filepath.Join(state, "admin.sock") },
			Store: func(ctx context.Context) (sessions.Store, error) {
				return sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(state, "parley.db")}) // it names the file
			},
		}
	}}
}

// Cluster is two processes, each of which does everything, on a Redis and three
// NATS servers. They share a folder for workspaces.
func Cluster() Engine {
	const processes = 2
	return Engine{Name: "cluster", Processes: processes, Open: func(t testing.TB, dir string) *Base {
		b := &Base{Nodes: brokertest.Cluster(t, 3), Redis: redistest.Start(t, redistest.Options{})}
		for range processes {
			l := Links{Redis: NewProxy(t, b.Redis.Addr())}
			for i := range b.Nodes.Len() {
				l.Nodes = append(l.Nodes, NewProxy(t, strings.TrimPrefix(b.Nodes.URLOf(i), "nats://")))
			}
			b.Links = append(b.Links, l)
		}
		b.Socket = func(i int) string { return filepath.Join(dir, fmt.Sprintf("admin-%d.sock", i)) }
		b.Config = func(i int) string {
			var log []string
			for _, p := range b.Links[i].Nodes {
				log = append(log, "nats://"+p.Addr())
			}
			return fmt.Sprintf("state_dir: %s\nadmin: {socket: %s}\nbroker: {url: %q, replicas: 3}\nstore: {redis: {url: \"redis://%s/0\"}}\n",
				filepath.Join(dir, "state"), b.Socket(i), strings.Join(log, ","), b.Links[i].Redis.Addr())
		}
		b.Store = func(ctx context.Context) (sessions.Store, error) {
			return redis.Open(ctx, redis.Options{URL: b.Redis.Unhurried()}) // it names the server
		}
		return b
	}}
}

// Engines are all there are.
func Engines() []Engine { return []Engine{Embedded(), Cluster()} }

// RunOn runs a row of the fault matrix on an engine, and with PARLEY_LONG on the others too,
// each as a parallel subtest with the engine's name.
func RunOn(t *testing.T, e Engine, row func(t *testing.T, e Engine)) {
	t.Helper()
	engines := []Engine{e}
	if IsLong() {
		engines = Engines()
	}
	runOn(t, engines, row)
}

func runOn(t *testing.T, engines []Engine, row func(t *testing.T, e Engine)) {
	t.Helper()
	for _, e := range engines {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			row(t, e)
		})
	}
}

// readLedger returns all rows of the store.
func readLedger(ctx context.Context, store sessions.Store) ([]costs.Entry, error) {
	var all []costs.Entry
	if err := store.Ledger(ctx, "", func(_ sessionkeys.SessionID, e costs.Entry) bool {
		all = append(all, e)
		return true
	}); err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return all, nil
}
