package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/redis/redistest"
	"parley/sessions/rules"
)

// retries is a store whose commits a test looks at, and another process on the same database.
type retries struct {
	t     *testing.T
	s     *Store
	other *Store
	now   time.Time

	cancel  context.CancelFunc
	ctx     context.Context // ends when s tries for ever
	commits atomic.Int64
	before  func(n int64) // is called before each commit of s
}

func newRetries(t *testing.T) *retries {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r := &retries{t: t, ctx: ctx, cancel: cancel, now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
	server := redistest.Start(t, redistest.Options{}).Unhurried()
	for _, s := range []**Store{&r.s, &r.other} {
		var err error
		if *s, err = Open(t.Context(), Options{URL: server}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := (*s).Close(); err != nil {
				t.Error(err)
			}
		})
	}
	r.s.recovery.client.AddHook(r)
	return r
}

func (r *retries) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (r *retries) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (r *retries) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	commit := r.s.recovery.scripts.commit.Hash()
	return func(ctx context.Context, c goredis.Cmder) error {
		if args := c.Args(); r.before != nil && len(args) > 1 && args[1] == commit {
			n := r.commits.Add(1)
			if n == 10 {
				r.cancel()
			}
			r.before(n)
		}
		return next(ctx, c) // the client's own error
	}
}

func (r *retries) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *retries) key(chat int) sessionkeys.Key {
	r.t.Helper()
	k, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "1", Kind: sessionkeys.DM, Peer: fmt.Sprint(chat)})
	r.ok(err)
	return k
}

// say has a message of a chat wait for a worker.
func (r *retries) say(s *Store, chat int, seq uint64) string {
	r.t.Helper()
	k := r.key(chat)
	_, _, err := s.Touch(r.t.Context(), sessions.Touch{Token: k.Token(), Key: k, Seq: seq, Now: r.now})
	r.ok(err)
	return k.Token()
}

// take has a worker take the mailbox of a chat.
func (r *retries) take(s *Store, w sessions.Worker, chat int) sessions.Mailbox {
	r.t.Helper()
	k := r.key(chat)
	m, got, err := s.Touch(r.t.Context(), sessions.Touch{Token: k.Token(), Key: k, Seq: 1, By: w, Now: r.now, Take: true})
	r.ok(err)
	if !got {
		r.t.Fatal("not taken")
	}
	return m
}

func (r *retries) beat(s *Store, w sessions.Worker) {
	r.t.Helper()
	r.now = r.now.Add(time.Millisecond)
	r.ok(s.Heartbeat(r.t.Context(), w, r.now.Add(time.Minute)))
}

// An operation that asks for other rows at each try, because others changed what it had asked
// for, need not find unchanged what it asked for before: rows that others change all the time
// would keep it from ever ending.
func TestARetryDependsOnWhatItAsksForAlone(t *testing.T) {
	t.Parallel()
	r := newRetries(t)
	busy, quiet, third := r.say(r.s, 1, 1), r.say(r.s, 2, 1), r.say(r.s, 3, 1)
	said := uint64(1)
	tries := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := driver{r.s.recovery.database, r.s.directory}.Update(ctx, sessions.Fence{}, func(tx *rules.Tx) error {
		if tries++; tries == 10 {
			cancel()
		}
		asks := []string{quiet, third}
		if tries == 1 {
			asks = []string{busy, quiet}
		}
		for _, token := range asks {
			if _, err := tx.Reader.Get(rules.MailboxKey(token)); err != nil {
				return err
			}
		}
		said++
		r.say(r.other, 1, said)
		return nil
	})
	if err != nil || tries != 2 {
		t.Errorf("%d tries, and %v", tries, err)
	}
}

// Messages come, leases are renewed and others let conversations wait while a worker looks for
// work: none of that concerns what it takes.
func TestWorkIsTakenWhileOthersChangeWhatWaits(t *testing.T) {
	t.Parallel()
	r := newRetries(t)
	mine, others := sessions.Worker{Name: "mine", Nonce: "1"}, sessions.Worker{Name: "other", Nonce: "2"}
	r.beat(r.s, mine)
	r.beat(r.other, others)
	r.take(r.other, others, 1)
	waits := r.say(r.other, 2, 1)
	r.before = func(n int64) {
		r.say(r.other, 100+int(n), 1)
		r.beat(r.other, others)
	}
	ms, err := r.s.Recover(r.ctx, mine, r.now, 64)
	r.ok(err)
	if !slices.ContainsFunc(ms, func(m sessions.Mailbox) bool { return m.Token == waits }) {
		t.Errorf("took %+v", ms)
	}
	if n := r.commits.Load(); n > 2 { // a look, and the commit
		t.Errorf("%d commits", n)
	}
}

// What a worker left that seemed dead is its own if it renews its lease in time.
func TestAWorkerThatLivesAgainKeepsItsMailboxes(t *testing.T) {
	t.Parallel()
	r := newRetries(t)
	mine, others := sessions.Worker{Name: "mine", Nonce: "1"}, sessions.Worker{Name: "other", Nonce: "2"}
	r.beat(r.other, others)
	r.take(r.other, others, 1)
	r.now = r.now.Add(time.Hour)
	r.beat(r.s, mine)
	r.before = func(n int64) {
		if n == 2 { // the first was a look
			r.beat(r.other, others)
		}
	}
	ms, err := r.s.Recover(r.ctx, mine, r.now, 64)
	r.ok(err)
	if len(ms) > 0 || r.commits.Load() < 2 {
		t.Errorf("took %+v, with %d commits", ms, r.commits.Load())
	}
}

// Messages come and leases are renewed also while a worker lets others go first.
func TestOthersGoFirstWhileOthersChangeWhatWaits(t *testing.T) {
	t.Parallel()
	r := newRetries(t)
	mine, others := sessions.Worker{Name: "mine", Nonce: "1"}, sessions.Worker{Name: "other", Nonce: "2"}
	r.beat(r.s, mine)
	r.beat(r.other, others)
	m := r.take(r.s, mine, 1)
	r.say(r.other, 2, 1)
	r.before = func(n int64) {
		r.say(r.other, 100+int(n), 1)
		r.beat(r.other, others)
	}
	yielded, err := r.s.Yield(r.ctx, m.Fence(), r.now)
	r.ok(err)
	if n := r.commits.Load(); !yielded || n != 1 {
		t.Errorf("let others go first: %v, with %d commits", yielded, n)
	}
}

// Redis sorts by the language of its machine where a script asks it to, and parley does not.
func TestASetIsComparedInWhateverOrder(t *testing.T) {
	t.Parallel()
	r := newRetries(t)
	db := r.s.recovery.database
	r.ok(db.client.SAdd(t.Context(), "letters", "a", "B", "c").Err())
	for members, same := range map[string]bool{"c a B": true, "B a c": true, "a B": false, "a B c d": false, "a B d": false} {
		read := db.reading(t.Context())
		read.lists = []listedSet{{[]string{"SMEMBERS", "letters"}, strings.Fields(members)}}
		read.unverified = true
		if err := db.verify(read); errors.Is(err, errChanged) == same {
			t.Errorf("%s: %v", members, err)
		}
	}
}
