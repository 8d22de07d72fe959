package fates_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/gateway/fates"
	"parley/gateway/outcomes"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
)

func newBook(s fates.Store, process string) *fates.Book {
	return &fates.Book{Store: s, Process: process, Log: slog.New(slog.DiscardHandler), Now: time.Now}
}

func message(id string) channels.Message {
	return channels.Message{
		Event: "e" + id, MessageID: id, Channel: "tg", Address: sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.Group, Peer: "kitchen"},
		Sender: channels.Sender{ID: "1002", Name: "Ben"}, Text: "a secret",
	}
}

// found is the reasons and ids of what the book knows of a message.
func found(t *testing.T, b *fates.Book, q fates.Query) (all []string) {
	t.Helper()
	ps, err := b.Find(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ps {
		all = append(all, p.Message+" "+p.Reason)
	}
	return all
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What nobody said to the bot does not displace what was refused, and there is an end to both.
func TestABookKeepsTheLastOfEachSort(t *testing.T) {
	t.Parallel()
	b := newBook(memtest.New(memtest.Every), "p")
	b.Note(message("refused"), outcomes.NotAllowed, "the sender is not in access.people")
	for i := range 500 {
		b.Note(message(fmt.Sprint(i)), outcomes.NotMentioned, "aside")
	}
	b.Note(message("499"), outcomes.NotMentioned, "aside") // it came again
	want(t, found(t, b, fates.Query{Message: "refused"}), "refused not_allowed")
	want(t, found(t, b, fates.Query{Message: "erefused"}), "refused not_allowed")
	want(t, found(t, b, fates.Query{Message: "299"}))
	want(t, found(t, b, fates.Query{Message: "300"}), "300 not_mentioned")
	want(t, found(t, b, fates.Query{Message: "499"}), "499 not_mentioned")
	want(t, found(t, b, fates.Query{Message: "499", Chat: "elsewhere"}))
	want(t, found(t, b, fates.Query{Message: "499", Channel: "slack"}))
}

// Other processes on the store find what was written, and a later one of the name goes on with it.
// Texts are not kept, and of names and ids only so much that a page always fits into a record.
func TestABookIsWrittenDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memtest.New(memtest.Every)
		run := func(b *fates.Book) (end func()) {
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- b.Run(ctx) }()
			synctest.Wait()
			return func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		b := newBook(store, "p")
		end := run(b)
		b.Note(message("1"), outcomes.NotAllowed, "x")
		other := newBook(store, "q")
		want(t, found(t, other, fates.Query{Message: "1"}))
		time.Sleep(time.Minute)
		want(t, found(t, other, fates.Query{Message: "1"}), "1 not_allowed")
		long := message("2")
		long.Sender.Name, long.Event = strings.Repeat("n", 1000), strings.Repeat("e", 1000)
		b.Note(long, outcomes.Limited, strings.Repeat("w", 1000))
		for i := range 300 {
			m := message(strings.Repeat("i", 200))
			m.Event, m.Sender.Name = fmt.Sprint(i), strings.Repeat("\x01", 1000)
			b.Note(m, outcomes.NotMentioned, strings.Repeat("\x01", 1000))
		}
		end() // what is new is written
		err := store.Records(t.Context(), fates.Kind, "", time.Now(), func(r sessions.Record) bool {
			if strings.Contains(string(r.Body), "secret") || len(r.Body) > sessions.MaxRecord || r.Expires.IsZero() {
				t.Errorf("%d bytes are kept until %s: %.200s", len(r.Body), r.Expires, r.Body)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		again := newBook(store, "p")
		again.Note(message("3"), outcomes.NotAllowed, "x") // before it has read
		defer run(again)()
		want(t, found(t, again, fates.Query{Message: "1"}), "1 not_allowed")
		want(t, found(t, again, fates.Query{Message: "2"}), "2 rate_limited")
		want(t, found(t, again, fates.Query{Message: "3"}), "3 not_allowed")
		time.Sleep(9 * 24 * time.Hour)
		want(t, found(t, again, fates.Query{Message: "1"}))
	})
}

// Names and ids leave the store when they are old, whatever was noted since.
func TestABookKeepsNothingThatIsOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memtest.New(memtest.Every)
		b := newBook(store, "p")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		stored := func(after time.Duration, messages ...string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			var all []string
			err := store.Records(t.Context(), fates.Kind, "", time.Now(), func(r sessions.Record) bool {
				var kept []fates.Passed
				if err := json.Unmarshal(r.Body, &kept); err != nil {
					t.Error(err)
				}
				for _, p := range kept {
					all = append(all, p.Message)
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			want(t, all, messages...)
		}
		const day = 24 * time.Hour
		b.Note(message("1"), outcomes.NotAllowed, "x")
		stored(4*day, "1")
		b.Note(message("2"), outcomes.NotAllowed, "x")
		stored(time.Minute, "1", "2")
		stored(4*day, "2")
		stored(4 * day)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
