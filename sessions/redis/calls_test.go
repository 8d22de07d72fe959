package redis_test

import (
	"context"
	"errors"
	"testing"

	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
	"parley/transcript"
)

// TestATurnTakesFewCalls: an operation of a worker that is alone with its mailbox is
// one call of the commit script; what it reads it knows already.
func TestATurnTakesFewCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s := openAt(t, redis.Options{URL: server.URL})
	d := newDesk(t, s, "chat")
	count := func(what string, want int, do func()) {
		t.Helper()
		before := server.ScriptCalls()
		do()
		if got := server.ScriptCalls() - before; got != want {
			t.Errorf("%s: %d calls, not %d", what, got, want)
		}
	}
	d.turn("first")
	count("alone", 5, func() { d.turn("second") })

	// Another worker had it meanwhile: the call that finds out, and one that reads all that
	// this one takes for known.
	other := newDesk(t, openAt(t, redis.Options{URL: server.URL}), "chat")
	other.seq = d.seq
	other.turn("third")
	d.seq = other.seq
	count("after another", 7, func() { d.turn("fourth") })
}

// TestWhatBelongsTogetherIsOneCall: a chat and records that are read ahead are not read again; and
// a process that delivers what others answered knows the answers from where it found them.
func TestWhatBelongsTogetherIsOneCall(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s := openAt(t, redis.Options{URL: server.URL})
	count := func(what string, want int, do func() error) {
		t.Helper()
		before := server.ScriptCalls()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := server.ScriptCalls() - before; got != want {
			t.Errorf("%s: %d calls, not %d", what, got, want)
		}
	}
	chat, id := sessions.ChatID{Channel: "tg", Account: "1", Peer: "7"}, sessions.RecordID{Kind: "cap", Key: "ann"}
	count("read ahead", 1, func() error {
		ctx := s.ReadAhead(t.Context(), chat, id).In(t.Context())
		if _, err := s.Record(ctx, id, noon); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("a record that nobody wrote: %v", err)
		}
		_, err := s.Chat(ctx, chat)
		return err
	})

	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Chat(s.ReadAhead(gone, chat).In(t.Context()), chat); !errors.Is(err, context.Canceled) {
		t.Errorf("what could not be read ahead: %v", err)
	}

	worker := newDesk(t, openAt(t, redis.Options{URL: server.URL}), "chat")
	f, turn := worker.open("a")
	_, err := worker.s.Finish(t.Context(), f, sessions.FinishTurn{Turn: turn.ID, Outcome: transcript.EndTurn, At: noon, Replies: []sessions.Outgoing{
		{ID: "a-reply", Channel: "tg", Session: turn.Session, Turn: turn.ID, To: worker.key.Address(), Text: "hello yourself", At: noon},
	}})
	worker.ok(err)
	var found []sessions.Delivery
	count("find an answer", 1, func() (err error) {
		found, err = s.Pending(t.Context(), "tg", 0, 10)
		return err
	})
	if len(found) != 1 {
		t.Fatalf("%d answers", len(found))
	}
	count("begin it", 1, func() error {
		return s.Advance(t.Context(), found[0].ID, sessions.Progress{Bodies: [][]byte{[]byte("1")}, Marks: []sessions.Mark{{From: sessions.Queued, To: sessions.Sending, At: noon}}})
	})
	other := openAt(t, redis.Options{URL: server.URL})
	count("end it in a process that did not find it", 2, func() error {
		return other.Advance(t.Context(), found[0].ID, sessions.Progress{Marks: []sessions.Mark{{From: sessions.Sending, To: sessions.Sent, MessageID: "n", At: noon}}})
	})
}
