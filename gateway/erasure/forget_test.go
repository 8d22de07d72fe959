package erasure_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/conversations"
	"parley/gateway/erasure"
	"parley/gateway/errands"
	"parley/gateway/goals"
	"parley/gateway/messages"
	"parley/gateway/schedule"
	"parley/sessionkeys"
	"parley/sessions"
)

var ann = erasure.Person{Channel: "tg", ID: "1001"}

func (o *office) find(p erasure.Person) erasure.Traces {
	o.t.Helper()
	found, err := o.Find(o.t.Context(), p)
	o.ok(err)
	return found
}

func (o *office) forget(p erasure.Person) erasure.Forgotten {
	o.t.Helper()
	f, err := o.Forget(o.t.Context(), p, false, erasure.Mark{By: "uid 7"})
	o.ok(err)
	return f
}

// runOf has a job run once, with its answer going to an address, and returns the session of the run.
func (o *office) runOf(job string, to sessionkeys.Address) (sessionkeys.SessionID, sessionkeys.Key) {
	o.t.Helper()
	key, err := schedule.KeyFor("helper", job, to)
	o.ok(err)
	turn, end := o.beginIn(key, to, messages.JobSender(job), "plain")
	end()
	return turn.Session, key
}

// What ran for an errand of somebody holds their words alone, wherever its answers went. What ran for an
// errand of somebody else in the same chat, or for a job of the configuration, is not theirs.
func TestForgetDeletesWhatRanForAnErrand(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	errand := func(person string) string {
		e, err := o.Errands.(*errands.Book).Add(t.Context(), errands.Errand{Channel: "tg", Person: person, To: group("kitchen"), Task: "a secret", Schedule: "0 9 * * *", Zone: "UTC", Made: o.now}, "x", 5)
		o.ok(err)
		return e.Name
	}
	own, key := o.runOf(errand("1001"), group("kitchen"))
	others, othersKey := o.runOf(errand("1002"), group("kitchen"))
	_, job := o.runOf("report", direct("1001"))
	for i, k := range []sessionkeys.Key{key, othersKey, job} {
		o.letters.kept = append(o.letters.kept, broker.DeadLetter{Seq: uint64(i + 1), Channel: "tg", Key: k.String()})
	}
	if found := o.find(ann); !slices.Contains(found.Direct, own) || slices.Contains(found.Direct, others) || found.Letters != 1 {
		t.Errorf("found %+v, which is not session %s alone and one letter", found, own)
	}
	o.forget(ann)
	if o.messages(own) != 0 || o.messages(others) == 0 || len(o.letters.kept) != 2 || o.letters.kept[0].Seq != 2 {
		t.Errorf("of the run %d messages are left, of another's %d, of letters %+v", o.messages(own), o.messages(others), o.letters.kept)
	}
	if found := o.find(ann); found.IsUnknown() || len(found.Direct) > 0 {
		t.Errorf("afterwards it found %+v", found)
	}
}

// A message that was given up before it opened a turn is known by what its letter holds.
func TestForgetDeletesLettersOfMessagesThatOpenedNoTurn(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	letter := func(channel string, at sessionkeys.Address, from channels.Sender) {
		body, err := json.Marshal(channels.Message{Event: "e", Channel: channel, Address: at, Sender: from, Text: "a secret"})
		o.ok(err)
		o.letters.kept = append(o.letters.kept, broker.DeadLetter{Seq: uint64(len(o.letters.kept) + 1), Channel: channel, Body: body})
	}
	letter("tg", direct("1001"), channels.Sender{ID: "1001"})
	letter("tg", direct("1002"), channels.Sender{ID: "1002"})
	letter("tg", direct("D7"), channels.Sender{ID: "other", Alias: "1001"})
	letter("tg", group("kitchen"), channels.Sender{ID: "1001"}) // perhaps with the words of others
	letter("tg2", direct("1001"), channels.Sender{ID: "1001"})
	o.letters.kept = append(o.letters.kept, broker.DeadLetter{Seq: 6, Body: []byte(`"no message"`)})
	if found := o.find(ann); found.IsUnknown() || found.Letters != 2 {
		t.Errorf("found %+v, which is not two letters", found)
	}
	o.forget(ann)
	var left []uint64
	for _, l := range o.letters.kept {
		left = append(left, l.Seq)
	}
	if !slices.Equal(left, []uint64{2, 4, 5, 6}) {
		t.Errorf("the letters %d are left, and not 2, 4, 5 and 6", left)
	}
}

// waits has a message wait in the mailbox of a direct message, of which no turn was opened yet, and returns
// the session that it is for.
func (o *office) waits(person string) sessionkeys.SessionID {
	o.t.Helper()
	key, err := sessionkeys.For("helper", direct(person))
	o.ok(err)
	m, _, err := o.s.Touch(o.t.Context(), sessions.Touch{Token: key.Token(), Key: key, Seq: 1, By: o.me, Now: o.now})
	o.ok(err)
	return m.Session
}

// read has a mailbox pass over what waits there.
func (o *office) read(person string) {
	o.t.Helper()
	key, err := sessionkeys.For("helper", direct(person))
	o.ok(err)
	m, _, err := o.s.Touch(o.t.Context(), sessions.Touch{Token: key.Token(), Key: key, Seq: 1, By: o.me, Take: true, Now: o.now})
	o.ok(err)
	o.ok(o.s.Skip(o.t.Context(), m.Fence(), 1))
	_, _, err = o.s.Release(o.t.Context(), m.Fence())
	o.ok(err)
}

// A session without messages may hold words of somebody all the same: a goal, a title, what waits.
func TestForgetDeletesSessionsWithoutMessages(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, words := range map[string]func(o *office, id sessionkeys.SessionID) (sessions.Record, error){
		"goal": func(o *office, id sessionkeys.SessionID) (sessions.Record, error) {
			return goals.Goal{}.Set("a secret", o.now).Record(id, o.now)
		},
		"title": func(o *office, id sessionkeys.SessionID) (sessions.Record, error) {
			return conversations.Title{Text: "a secret", Given: true}.Record(id, o.now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.said(direct("1002"), "1002") // by which is known of whose account the chats are
			empty := o.waits("1001")
			o.read("1001")
			if found := o.find(ann); len(found.Direct) > 0 {
				t.Errorf("where nobody has said anything it found %v", found.Direct)
			}
			r, err := words(o, empty)
			o.ok(err)
			_, err = o.s.WriteRecord(ctx, r)
			o.ok(err)
			if found := o.find(erasure.Person{Channel: "tg2", ID: "1001"}); !found.IsUnknown() {
				t.Errorf("on another account it found %+v", found)
			}
			if f := o.forget(ann); f.Sessions != 1 || f.IsUnknown() {
				t.Errorf("forgot %+v", f)
			}
			left, err := o.s.Record(ctx, r.ID, o.now)
			if err != nil && !errors.Is(err, sessions.ErrNotFound) || strings.Contains(string(left.Body), "secret") {
				t.Errorf("the record is %q, %v", left.Body, err)
			}
			if f := o.forget(ann); f.Sessions != 0 {
				t.Errorf("a second time it forgot %+v", f)
			}
		})
	}
	t.Run("what waits", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.said(direct("1002"), "1002")
		empty := o.waits("1001")
		if f := o.forget(ann); len(f.Busy) != 1 || !strings.Contains(f.Busy[0], string(empty)) {
			t.Errorf("while a message waits: %+v", f)
		}
		o.read("1001")
		if f := o.forget(ann); len(f.Busy) > 0 {
			t.Errorf("after it: %+v", f)
		}
	})
}

// The store lists the latest sessions first, and as many as it is asked for.
func TestForgetLooksAtAllSessions(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.AskRoots(2)
	old := o.said(direct("1001"), "1001")
	for i := range 9 {
		o.now = o.now.Add(time.Minute)
		o.said(direct(fmt.Sprint("other-", i)), "p")
	}
	if f := o.forget(ann); f.Sessions != 1 || o.messages(old) != 0 {
		t.Errorf("behind nine sessions of others it forgot %+v", f)
	}
}

// Files that cannot be deleted are in the way of nothing else, and are tried again.
func TestForgetTriesAgainFilesThatWereLeft(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o := newOffice(t)
	first, second := o.said(direct("1001"), "1001"), o.said(direct("D7"), "1001")
	remove, left := o.Remove, map[sessionkeys.SessionID]bool{first: true, second: true}
	broken := second // the latest, which comes first
	o.Remove = func(ids ...sessionkeys.SessionID) error {
		if slices.Contains(ids, broken) {
			return errors.New("read-only folder")
		}
		for _, id := range ids {
			delete(left, id)
		}
		return remove(ids...)
	}
	for range 2 { // the second time all sessions are deleted, and files are left
		_, err := o.Forget(ctx, ann, true, erasure.Mark{By: "uid 7"})
		if err == nil || !strings.Contains(err.Error(), "read-only folder") || !strings.Contains(err.Error(), string(second)) {
			t.Errorf("while files cannot be deleted: %v", err)
		}
		if o.messages(first) != 0 || o.messages(second) != 0 || left[first] {
			t.Errorf("%d and %d messages are left, and files of %v", o.messages(first), o.messages(second), left)
		}
		if gone, err := erasure.IsForgotten(ctx, o.s, ann, o.now, o.now); gone || err != nil {
			t.Errorf("it is noted that they are forgotten: %v, %v", gone, err)
		}
	}
	broken = ""
	if f := o.forget(ann); f.Sessions != 0 || left[second] {
		t.Errorf("at last it forgot %+v, and left files of %v", f, left)
	}
	if gone, err := erasure.IsForgotten(ctx, o.s, ann, o.now, o.now); !gone || err != nil {
		t.Errorf("it is not noted that they are forgotten: %v, %v", gone, err)
	}
	if len(o.counted) != 2 {
		t.Errorf("counted %q", o.counted)
	}
}
