package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"parley/sessions/rules"
	"parley/wake"

	goredis "github.com/redis/go-redis/v9"
)

// errClosed is what a store answers after Close.
var errClosed = errors.New("the store is closed")

// Store is a [sessions.Store] in one Redis database. What it does stands in its parts.
type Store struct {
	rules.Operations
	generations
	directory
	ledger
	archive
	checker
	*presence
	*recovery

	closing sync.Once
	closed  error
}

// connection is one Redis database as this process reaches it.
type connection struct {
	keyspace
	client  *goredis.Client // greets each connection: see timeline.go
	plain   *goredis.Client // greets none; for what is done about a failover
	scripts scripts
	log     *slog.Logger
	now     func() time.Time

	era       atomic.Pointer[string]          // of the database as this process knows it
	reconcile func(ctx context.Context) error // makes the database whole after a failover
}

// keyspace names the keys, all of which begin with a prefix.
type keyspace struct{ prefix string }

// Open connects and looks whether the server keeps what it is told: see
// [Options] and connection.go for what is refused. With Facts, those that the
// database does not have are applied first. ctx bounds the opening alone.
//
// No error names a password.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := open(ctx, o)
	return s, rules.While(err, "open the Redis database")
}

func open(ctx context.Context, o Options) (_ *Store, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	conn := &connection{keyspace: keyspace{cmp.Or(o.Prefix, defaultPrefix)}, scripts: newScripts(), log: o.Log, now: o.Now}
	if conn.log == nil {
		conn.log = slog.New(slog.DiscardHandler)
	}
	if conn.now == nil {
		conn.now = time.Now
	}
	if conn.client, err = o.dial(conn.greet); err != nil {
		return nil, err
	}
	if conn.plain, err = o.dial(nil); err != nil {
		return nil, errors.Join(err, conn.client.Close())
	}
	s := newStore(conn, o.Facts)
	err = conn.inspect(ctx)
	if err == nil {
		err = conn.reconcile(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// newStore puts a store together from its parts.
func newStore(conn *connection, facts Facts) *Store {
	db := &database{connection: conn, facts: facts}
	s := &Store{
		generations: generations{db}, directory: directory{conn}, ledger: ledger{conn}, archive: archive{conn, &db.known}, checker: checker{db}, presence: &presence{connection: conn},
		recovery: &recovery{factLog: &factLog{database: db}, me: rand.Text(), settle: make(chan struct{}, 1), forgot: wake.New()},
	}
	s.Operations = rules.Over(driver{db, directory{conn}})
	conn.reconcile = s.makeWhole
	return s
}

// Close ends all connections. Calls after it return an error. It may be called
// twice.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = errors.Join(s.recovery.client.Close(), s.recovery.plain.Close()) })
	return s.closed
}

// key is one of the store's keys that is made of plain words.
func (ks keyspace) key(name string) string { return ks.prefix + name }

// How changes are committed.
const (
	live   = "live"
	replay = "replay" // they are a fact that held
)

// explain gives errors of the client their kind.
func explain(err error) error {
	if errors.Is(err, goredis.ErrClosed) {
		return errClosed
	}
	return diskFullError(err)
}

// fence is a sessions.Fence in a fact.
type fence struct {
	Token string `json:"token"`
	Epoch int64  `json:"epoch"`
	Nonce string `json:"nonce"`
}

var (
	//go:embed lua/money.lua
	moneyLua string
	//go:embed lua/commit.lua
	commitLua string
	//go:embed lua/rows.lua
	rowsLua string
)

// scripts are all that the server runs; they are called by their SHA.
type scripts struct{ commit, rows *goredis.Script }

func newScripts() scripts {
	return scripts{commit: goredis.NewScript(moneyLua + commitLua), rows: goredis.NewScript(rowsLua)}
}
