package sessiontest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/sessions"
)

func records(t *testing.T, open opener) {
	cases{
		"a record is read as it was written, with its revision": func(h *fixture) {
			r := h.record("cap", "ann", `{"usd":5}`)
			r.Owner, r.Expires = "operator", h.now.Add(time.Hour)
			r.Revision = h.write(r)
			h.same("record", h.read(r.ID, h.now), r)
		},
		"what is not there, was dropped or has expired is not found": func(h *fixture) {
			h.nothing(sessions.RecordID{Kind: "cap", Key: "ann"}, h.now)
			r := h.record("cap", "ann", "1")
			h.ok(h.s.DropRecord(h.ctx, r.ID, h.write(r)))
			h.nothing(r.ID, h.now)
			h.ok(h.s.DropRecord(h.ctx, r.ID, 7))
			r.Expires = h.now.Add(time.Minute)
			h.write(r)
			h.read(r.ID, r.Expires.Add(-time.Microsecond))
			h.nothing(r.ID, r.Expires)
			h.same("listed", h.keys("cap", "", r.Expires), []string(nil))
		},
		"what was read ahead is as it was then, or as it is": func(h *fixture) {
			r, chat := h.record("cap", "ann", "1"), sessions.ChatID{Channel: "telegram", Account: "4200000001", Peer: "7"}
			h.write(r)
			missing := sessions.RecordID{Kind: "cap", Key: "ben"}
			ctx := h.s.ReadAhead(h.ctx, chat, r.ID, missing).In(h.ctx)
			h.same("record", string(must(h.s.Record(ctx, r.ID, h.now)).Body), "1")
			h.is(failed(h.s.Record(ctx, missing, h.now)), sessions.ErrNotFound)
			h.same("chat", must(h.s.Chat(ctx, chat)).IDs, []string{"7"})

			r.Body, r.Revision = []byte("2"), sessions.AnyRevision
			must(h.s.WriteRecord(ctx, r)) // which goes by what is there
			must(h.s.Move(ctx, chat, "-1007", h.now))
			if body := string(must(h.s.Record(ctx, r.ID, h.now)).Body); body != "1" && body != "2" {
				h.t.Errorf("record %s", body)
			}
			h.same("record", string(h.read(r.ID, h.now).Body), "2")
			h.same("chat", must(h.s.Chat(h.ctx, chat)).IDs, []string{"7", "-1007"})
			// Of a chat that has moved the other ids are read with what is known already.
			ctx = h.s.ReadAhead(h.ctx, chat).In(h.ctx)
			h.same("chat that moved", must(h.s.Chat(ctx, chat)).IDs, []string{"7", "-1007"})
			h.same("record that was not read ahead", string(must(h.s.Record(ctx, r.ID, h.now)).Body), "2")
		},
		"a write or drop that has not seen what is there is refused": func(h *fixture) {
			r := h.record("cap", "ann", "1")
			first := h.write(r)
			r.Body, r.At = []byte("2"), h.now.Add(time.Second)
			h.is(failed(h.s.WriteRecord(h.ctx, r)), sessions.ErrChanged)
			r.Revision = first
			second := h.write(r)
			if second <= first {
				h.t.Fatalf("revision %d after %d", second, first)
			}
			r.Body, r.At = []byte("3"), h.now.Add(2*time.Second)
			h.is(failed(h.s.WriteRecord(h.ctx, r)), sessions.ErrChanged)
			h.is(h.s.DropRecord(h.ctx, r.ID, first), sessions.ErrChanged)
			h.same("body", string(h.read(r.ID, h.now).Body), "2")
			r.Revision = sessions.AnyRevision
			h.write(r)
			h.same("body", string(h.read(r.ID, h.now).Body), "3")
			h.ok(h.s.DropRecord(h.ctx, r.ID, sessions.AnyRevision))
		},
		"a revision does not come again after a drop or an end": func(h *fixture) {
			r := h.record("cap", "ann", "1")
			seen := h.write(r)
			h.ok(h.s.DropRecord(h.ctx, r.ID, seen))
			r.At = h.now.Add(time.Second)
			r.Expires = h.now.Add(2 * time.Second)
			again := h.write(r)
			r.At, r.Expires, r.Body = h.now.Add(3*time.Second), time.Time{}, []byte("2")
			last := h.write(r) // for the writer there is none: it has expired
			if again <= seen || last <= again {
				h.t.Fatalf("revisions %d, %d, %d", seen, again, last)
			}
		},
		"a write that is repeated changes nothing and answers the same": func(h *fixture) {
			r := h.record("cap", "ann", "1")
			h.same("revision", h.write(r), h.write(r))
			r.Revision, r.At, r.Body = h.write(r), h.now.Add(time.Second), []byte("2")
			h.same("revision", h.write(r), h.write(r))
		},
		"they are listed by kind and the beginning of the key, in order": func(h *fixture) {
			for _, k := range []string{"b", "a", "ab", "ac", "é", "zz", "a/1", "A"} {
				h.write(h.record("pref", k, k))
			}
			h.write(h.record("prefs", "a", "another kind"))
			h.same("all", h.keys("pref", "", h.now), []string{"A", "a", "a/1", "ab", "ac", "b", "zz", "é"})
			h.same("those with a", h.keys("pref", "a", h.now), []string{"a", "a/1", "ab", "ac"})
			h.same("none", h.keys("pref", "x", h.now), []string(nil))
		},
		"a list goes on over many, and may be left": func(h *fixture) {
			var want []string
			for i := range 450 {
				r := h.record("many", fmt.Sprintf("%04d", i), "x")
				if i%3 == 0 {
					r.Expires = h.now.Add(time.Second)
				} else {
					want = append(want, r.ID.Key)
				}
				h.write(r)
			}
			h.same("those that stand", h.keys("many", "", h.now.Add(time.Second)), want)
			n := 0
			h.ok(h.s.Records(h.ctx, "many", "", h.now, func(sessions.Record) bool { n++; return n < 3 }))
			h.same("seen", n, 3)
		},
		"what has expired is taken away by later writes of its kind": func(h *fixture) {
			for i := range 20 {
				r := h.record("code", fmt.Sprint("old-", i), "x")
				r.Expires = h.now.Add(time.Second)
				h.write(r)
			}
			later := h.now.Add(time.Minute)
			for i := range 5 {
				r := h.record("code", fmt.Sprint("new-", i), "x")
				r.At = later
				h.write(r)
			}
			// As seen by somebody whose clock stands where they had not expired.
			left := slices.DeleteFunc(h.keys("code", "", h.now), func(k string) bool { return strings.HasPrefix(k, "new") })
			h.same("how many old ones are left", len(left), 0)
		},
		"a body, a kind and a key have bounds": func(h *fixture) {
			bad := func(r sessions.Record) {
				h.t.Helper()
				if _, err := h.s.WriteRecord(h.ctx, r); err == nil || errors.Is(err, sessions.ErrChanged) {
					h.t.Errorf("%q was taken: %v", r.ID, err)
				}
			}
			bad(h.record("", "k", "x"))
			bad(h.record("k", "", "x"))
			bad(h.record("k", "a\x00b", "x"))
			bad(h.record("k", "a\xffb", "x"))
			bad(h.record("k", "large", strings.Repeat("x", sessions.MaxRecord+1)))
			r := h.record("k", "untimed", "x")
			r.At = time.Time{}
			bad(r)
			largest := h.record("k", "largest", strings.Repeat("x", sessions.MaxRecord))
			largest.Revision = h.write(largest)
			h.same("largest", h.read(largest.ID, h.now), largest)
			empty := h.record("k", "empty", "")
			h.write(empty)
			h.same("body", len(h.read(empty.ID, h.now).Body), 0)
		},
		"of writers who saw the same, one wins": func(h *fixture) {
			const writers, rounds = 8, 5
			r := h.record("count", "n", "0")
			h.write(r)
			var all sync.WaitGroup
			for w := range writers {
				all.Go(func() {
					for n := 0; n < rounds; {
						seen, err := h.s.Record(h.ctx, r.ID, h.now)
						if err != nil {
							h.t.Error(err)
							return
						}
						var was int
						_, _ = fmt.Sscan(string(seen.Body), &was)
						seen.Body, seen.Owner = fmt.Append(nil, was+1), fmt.Sprint(w)
						switch _, err := h.s.WriteRecord(h.ctx, seen); {
						case err == nil:
							n++
						case !errors.Is(err, sessions.ErrChanged):
							h.t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			h.same("count", string(h.read(r.ID, h.now).Body), fmt.Sprint(writers*rounds))
		},
		"records are written with a step, an end and a command, or nothing is": func(h *fixture) {
			f, turn := h.working("a")
			seen := h.write(h.record("goal", "taken", "1"))
			stale, fresh := h.record("goal", "taken", "2"), h.record("goal", "step", "1")
			stale.At = h.now.Add(time.Second)
			err := h.s.AppendWith(h.ctx, f, turn.ID, []sessions.Record{fresh, stale}, said("with-1", "hello"))
			h.is(err, sessions.ErrChanged)
			h.nothing(fresh.ID, h.now)
			h.same("messages", len(h.history(turn.Session)), 1)
			stale.Revision = seen
			for range 2 { // the second time its answer was lost
				h.ok(h.s.AppendWith(h.ctx, f, turn.ID, []sessions.Record{fresh, stale}, said("with-1", "hello")))
			}
			h.same("body", string(h.read(stale.ID, h.now).Body), "2")
			h.same("messages", len(h.history(turn.Session)), 2)
			end := h.record("goal", "end", "1")
			must(h.s.Finish(h.ctx, f, sessions.FinishTurn{Turn: turn.ID, Outcome: "end_turn", At: h.now, Records: []sessions.Record{end}}))
			h.read(end.ID, h.now)
			err = h.s.AppendWith(h.ctx, f, turn.ID, []sessions.Record{h.record("goal", "late", "1")}, said("late", "hello"))
			h.is(err, sessions.ErrFenced)
			h.nothing(sessions.RecordID{Kind: "goal", Key: "late"}, h.now)

			c := h.take(h.ann, "command", 3)
			must(h.s.Answer(h.ctx, c.Fence(), sessions.Command{Seq: 3, Event: event("model"), Records: []sessions.Record{h.record("goal", "command", "1")}, At: h.now}))
			h.read(sessions.RecordID{Kind: "goal", Key: "command"}, h.now)
		},
	}.run(t, open)
}

func (d documents) record(kind, key, body string) sessions.Record {
	return sessions.Record{ID: sessions.RecordID{Kind: kind, Key: key}, Body: []byte(body), At: d.now}
}

func (d documents) write(r sessions.Record) int64 {
	d.t.Helper()
	revision := must(d.s.WriteRecord(d.ctx, r))
	return revision
}

func (d documents) read(id sessions.RecordID, now time.Time) sessions.Record {
	d.t.Helper()
	r := must(d.s.Record(d.ctx, id, now))
	return r
}

func (d documents) nothing(id sessions.RecordID, now time.Time) {
	d.t.Helper()
	d.is(failed(d.s.Record(d.ctx, id, now)), sessions.ErrNotFound)
}

func (d documents) keys(kind, prefix string, now time.Time) (keys []string) {
	d.t.Helper()
	d.ok(d.s.Records(d.ctx, kind, prefix, now, func(r sessions.Record) bool { keys = append(keys, r.ID.Key); return true }))
	return keys
}
