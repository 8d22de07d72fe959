package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"parley/sessions"
	"parley/sessions/rules"

	goredis "github.com/redis/go-redis/v9"
)

// errClosed is what a store answers after Close.
var errClosed = errors.New("the store is closed")

// Store is a [sessions.Store] in one Redis database.
type Store struct {
	client  *goredis.Client // greets each connection: see timeline.go
	plain   *goredis.Client // greets none; for what is done about a failover
	scripts scripts
	me      string // whoever takes over has the lock under this name
	prefix  string
	log     *slog.Logger
	now     func() time.Time
	facts   Facts

	rules.Operations

	era    atomic.Pointer[string] // of the database as this store knows it
	known  rowCache
	settle chan struct{} // held by who looks what became of the server
	lanes  lanes         // for facts
	seen   atomic.Uint64 // the last fact at the last CatchUp
	forgot chan struct{} // holds one when the database may have forgotten; see Tend
	frames templateNames // that need not be sent again

	closing sync.Once
	closed  error
}

// Open connects and looks whether the server keeps what it is told: see
// [Options] and refuse.go for what is refused. With Facts, those that the
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
	s := &Store{
		me: rand.Text(), prefix: cmp.Or(o.Prefix, defaultPrefix), log: o.Log, now: o.Now, facts: o.Facts,
		scripts: newScripts(), settle: make(chan struct{}, 1), forgot: make(chan struct{}, 1),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.Operations = rules.Operations{Driver: database{s}}
	if s.client, err = o.dial(s.greet); err != nil {
		return nil, err
	}
	if s.plain, err = o.dial(nil); err != nil {
		return nil, errors.Join(err, s.client.Close())
	}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// begin checks the server and makes the store ready.
func (s *Store) begin(ctx context.Context) error {
	if err := s.inspect(ctx); err != nil {
		return err
	}
	return s.reconcile(ctx)
}

// Close ends all connections. Calls after it return an error. It may be called
// twice.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = errors.Join(s.client.Close(), s.plain.Close()) })
	return s.closed
}

// key is one of the store's keys that is made of plain words.
func (s *Store) key(name string) string { return s.prefix + name }

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

func fenceOf(f sessions.Fence) fence { return fence(f) }
