package worker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// kitchen is a group; its conversation is person 900's, as the rig counts them.
const kitchen = 900

func inKitchen(m channels.Message) channels.Message {
	m.Address.Kind, m.Address.Peer = sessionkeys.Group, fmt.Sprint(kitchen)
	return m
}

// photo makes m one photo of an album.
func photo(m channels.Message, album string) channels.Message {
	m.Album = album
	m.Attachments = []channels.Attachment{{Kind: "photo", Ref: "r" + m.MessageID}}
	return m
}

func quiet(m channels.Message) channels.Message { m.Mentioned = false; return m }

// edit is the edit of m to text.
func (s *speech) edit(m channels.Message, text string) channels.Message {
	e := s.message(0, text)
	e.Kind, e.Address, e.Sender, e.MessageID, e.Mentioned = channels.Edited, m.Address, m.Sender, m.MessageID, m.Mentioned
	return e
}

// bring offers messages as an adapter does. They were received long ago, so
// that nobody waits for more, but for those that have a time already.
func (r *fixture) bring(ms ...channels.Message) {
	r.t.Helper()
	for _, m := range ms {
		if err := r.intake.Accept(context.Background(), m); err != nil {
			r.t.Fatalf("accept %q: %v", m.Text, err)
		}
	}
}

// old is a message of the hour before, each a little younger than the last.
func (s *speech) old(person int, text string) channels.Message {
	m := s.message(person, text)
	s.speaking.Lock()
	defer s.speaking.Unlock()
	m.ReceivedAt = m.ReceivedAt.Add(-time.Hour + time.Duration(s.events)*time.Millisecond)
	return m
}

// heard is what the model was asked in the conversation of m, in order.
// Whoever has no name is called by the id that tests gave them.
func (r *fixture) heard(m channels.Message) (texts []string) {
	r.t.Helper()
	box, err := r.store.Mailbox(context.Background(), r.keyOf(m).Token())
	if err != nil {
		r.t.Fatal(err)
	}
	ms, err := r.store.Messages(context.Background(), box.Session)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, m := range ms {
		if m.Role == transcript.User {
			texts = append(texts, shortIDs.Replace(m.Text()))
		}
	}
	return texts
}

// awaitMailbox waits until the mailbox of m's conversation is as wanted, when last is
// the place of the last message that was brought there.
func (r *fixture) awaitMailbox(m channels.Message, what string, want func(is sessions.Mailbox, last uint64) bool) {
	r.t.Helper()
	token := r.keyOf(m).Token()
	last, err := r.log.Last(context.Background(), token)
	if err != nil {
		r.t.Fatal(err)
	}
	r.await(what, func() bool {
		is, err := r.store.Mailbox(context.Background(), token)
		return err == nil && want(is, last)
	})
}

// done waits until all that was brought into the conversation of m was read,
// and nothing of it is owed.
func (r *fixture) done(m channels.Message) {
	r.t.Helper()
	r.awaitMailbox(m, "the conversation to be done", func(is sessions.Mailbox, last uint64) bool { return is.LastRead >= last && !is.HasWork() })
}

// touched waits until the store knows of all that was brought.
func (r *fixture) touched(m channels.Message) {
	r.t.Helper()
	r.awaitMailbox(m, "the store to know of the messages", func(is sessions.Mailbox, last uint64) bool { return is.LastSeen >= last })
}

// whileBusy brings messages while a turn of person's runs, which then ends.
func (r *fixture) whileBusy(person int, ms ...channels.Message) {
	r.t.Helper()
	r.bring(r.old(person, "wait x"))
	r.atGate("x")
	r.bring(ms...)
	r.touched(ms[0])
	r.open("x")
}

func (r *fixture) wantHeard(m channels.Message, want ...string) {
	r.t.Helper()
	r.done(m)
	if got := r.heard(m); !slices.Equal(got, want) {
		r.t.Errorf("the model was asked\n%.300q, want\n%.300q", got, want)
	}
}

const attached = "\n(attached, not readable here: photo )"

func TestAnAlbumIsOneTurnWithAllItsFiles(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		m := r.old(1, "what are these?")
		r.bring(photo(m, "a"), photo(r.old(1, ""), "a"), r.old(1, "and now?"), photo(r.old(1, ""), "a"))
		r.start("w")
		r.wantHeard(m, strings.TrimSpace("what are these?"+strings.Repeat(attached, 3)), "and now?")
		r.await("the third photo to be known when it is reached", func() bool { return r.counted("deduplicated") == 1 })
	})
}

func TestALongPasteIsOneTurn(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		long := strings.Repeat("x", 4000)
		m := r.old(1, "1"+long)
		pieces := []channels.Message{m, r.old(1, "2"+long), r.old(1, "3"), r.old(1, "another")}
		for i := range pieces {
			pieces[i].ReceivedAt = m.ReceivedAt.Add(time.Duration(i) * time.Second)
		}
		r.bring(pieces...)
		r.start("w")
		r.wantHeard(m, "1"+long+"\n2"+long+"\n3", "another")
	})
}

func TestAPasteIsNoLongerThanOneMessageMayBe(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		long := strings.Repeat("x", 16<<10)
		m := r.old(1, long)
		for range 3 {
			next := r.old(1, long)
			next.ReceivedAt = m.ReceivedAt
			r.bring(next)
		}
		r.start("w")
		r.wantHeard(m, long+"\n"+long, long)
	})
}

func TestTwoPeopleAreNeverOneTurn(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		m := inKitchen(r.old(1, "ann's"))
		r.bring(
			photo(m, "a"), inKitchen(r.old(2, "ben's")), photo(inKitchen(r.old(2, "ben's album")), "a"),
			photo(quiet(inKitchen(r.old(1, ""))), "a"), photo(quiet(inKitchen(r.old(2, ""))), "a"),
		)
		r.start("w")
		r.wantHeard(m, "[1] ann's"+attached+attached, "[2] ben's", "[2] ben's album"+attached+attached)
	})
}

func TestAnAlbumInAGroupIsForTheBotWhenOneOfItsMessagesIs(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		m := photo(quiet(inKitchen(r.old(1, ""))), "a")
		r.bring(
			m, photo(inKitchen(r.old(1, "look")), "a"),
			photo(quiet(inKitchen(r.old(1, "not for you"))), "b"), photo(quiet(inKitchen(r.old(1, ""))), "b"),
			inKitchen(r.old(1, "after")),
		)
		r.start("w")
		r.wantHeard(m, "[1] look"+attached+attached, "[1] after")
		if n := r.counted("ignored not_mentioned"); n != 1 {
			t.Errorf("%d albums were not for the bot, not 1", n)
		}
		// The answer hangs on the message that asked.
		ds, err := r.store.Pending(t.Context(), "tg", 0, 10)
		if err != nil || len(ds) != 2 || ds[0].ReplyTo != "m2" {
			t.Errorf("%v: %+v", err, ds)
		}
	})
}

func TestACommandAmongThePiecesKeepsItsPlace(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		m := r.old(1, "first")
		r.bring(photo(m, "a"), r.old(1, "/new"), photo(r.old(1, ""), "a"))
		r.start("w")
		r.wantHeard(m, strings.TrimSpace(attached)) // in the new session
		r.wantAnswers(1, "re: first"+attached, "A new conversation. I have forgotten what was said before.", "re: "+strings.TrimSpace(attached))
	})
}

func TestKnownPiecesAreNotSaidAgain(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a, b, c := photo(r.old(1, "one"), "a"), photo(r.old(1, "two"), "a"), photo(r.old(1, "three"), "a")
		r.bring(b)
		p := r.start("w")
		r.wantHeard(b, "two"+attached)
		p.end(t) // all of what follows is there when it is looked at
		again := b
		again.ReceivedAt = again.ReceivedAt.Add(time.Minute)
		r.publishMessage(1, a, again, c, c)
		r.start("w")
		r.wantHeard(b, "two"+attached, "one\nthree"+attached+attached)
		r.publishMessage(1, b, a, c)
		r.wantHeard(b, "two"+attached, "one\nthree"+attached+attached)
	})
}

func TestAnEditWithoutAChangeDoesNothing(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		m := r.old(1, "hello")
		r.start("w")
		r.bring(m)
		r.wantHeard(m, "hello")
		r.bring(r.edit(m, "hello"), r.edit(m, "hello"))
		r.wantHeard(m, "hello")
		r.await("both edits to be counted", func() bool { return r.counted("deduplicated") == 2 })
		// Also after a restart.
		r.start("w2")
		r.bring(r.edit(m, "hello"))
		r.await("the third edit to be counted", func() bool { return r.counted("deduplicated") == 3 })
		r.wantHeard(m, "hello")
	})
}

func TestAnEditOfAMessageThatWaitsChangesItsText(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		m, other := r.old(1, "helo"), r.old(1, "other")
		r.start("w")
		r.whileBusy(1, m, r.edit(m, "hallo"), other, r.edit(m, "hello"), r.edit(other, "other"))
		r.wantHeard(m, "wait x", "hello", "other")
		r.bring(r.edit(m, "hello"))
		r.await("all edits to be counted", func() bool { return r.counted("deduplicated") == 4 })
		r.wantHeard(m, "wait x", "hello", "other")
	})
}

func TestAnEditOfAMessageThatWasTakenUpIsACorrection(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		r.start("w")
		m := r.old(1, "wait x")
		r.bring(m)
		r.atGate("x")
		r.bring(r.edit(m, "hello"), r.edit(m, "hello you"))
		r.touched(m)
		r.open("x")
		const note = "(I have edited what I wrote before. It now reads:)\n"
		r.wantHeard(m, "wait x", note+"hello you")
		r.bring(r.edit(m, "hello you"))
		r.bring(r.edit(m, "wait x"))
		r.wantHeard(m, "wait x", note+"hello you", note+"wait x")
	})
}

// firstday S4.
func TestWhatCompletesAMessageAddsOnlyWhatItLacked(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		r.start("w")
		completing := func(m channels.Message, files ...channels.Attachment) channels.Message {
			e := r.edit(m, m.Text)
			e.Completing, e.Attachments = true, files
			return e
		}
		file := channels.Attachment{Kind: "photo", Name: "cat.png", Ref: "f"}
		const line = "\n(attached, not readable here: photo cat.png)"
		// It comes at once, and is waited for.
		soon := r.old(1, "soon")
		soon.Partial, soon.ReceivedAt = true, time.Now()
		r.bring(soon, completing(soon, file))
		r.wantHeard(soon, "soon"+line)
		// It comes late, and nothing comes.
		late := r.old(1, "late")
		late.Partial = true
		r.bring(late)
		r.wantHeard(late, "soon"+line, "late")
		r.bring(completing(late))
		r.bring(completing(late, file))
		r.wantHeard(late, "soon"+line, "late", "(There is more to what I wrote before. All of it:)\nlate"+line)
		// The message was whole, or was not taken.
		whole := r.old(1, "whole")
		whole.Attachments = []channels.Attachment{file}
		never := r.old(1, "never")
		r.bring(whole, completing(whole, file))
		r.bring(completing(never, file))
		r.await("all to be counted", func() bool { return r.counted("deduplicated") >= 2 })
		again := completing(whole) // of the mention that came behind it
		again.Event = "another"
		r.bring(again)
		r.await("it to be counted", func() bool { return r.counted("deduplicated") >= 3 })
		r.wantHeard(late, "soon"+line, "late", "(There is more to what I wrote before. All of it:)\nlate"+line, "whole"+line)
	})
}

func TestAnEditThatAddsTheMentionIsANewMessage(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		r.start("w")
		m := inKitchen(quiet(r.old(1, "hello")))
		r.bring(m)
		e := r.edit(m, "hello")
		e.Mentioned = true
		r.bring(r.edit(m, "hello all"), e)
		r.wantHeard(m, "[1] hello")
	})
}

func TestAStopCountsMessagesAndNotTheirEdits(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		m, two := photo(r.old(1, "wait x"), "a"), r.old(1, "two")
		r.bring(m, two, r.edit(two, "2"), photo(r.old(1, ""), "a"), r.old(1, "three"))
		r.start("w")
		r.await("the turn", func() bool { return r.counted("started") == 1 })
		r.bring(r.old(1, "/stop"))
		r.wantAnswers(1, "Stopped. 2 waiting messages were dropped.")
	})
}

func TestAnAlbumThatFailsTooOftenIsBuriedWhole(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		m := photo(r.old(1, "panic now"), "a")
		r.bring(m, r.old(1, "fine"), photo(r.old(1, ""), "a"))
		r.start("w")
		r.await("the album to be given up", func() bool { return r.counted("dead attempts") == 2 })
		r.done(m)
		if got := r.heard(m); len(got) != 2 || got[1] != "fine" {
			t.Errorf("the model was asked %q", got)
		}
	})
}
