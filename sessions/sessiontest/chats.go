package sessiontest

import (
	"testing"
	"time"

	"parley/sessions"
)

func chatID(peer string) sessions.ChatID {
	return sessions.ChatID{Channel: "telegram", Account: "bot", Peer: peer}
}

func (m mail) chat(peer string) sessions.Chat {
	m.t.Helper()
	c := must(m.s.Chat(m.ctx, chatID(peer)))
	return c
}

func (m mail) move(from, to string) sessions.Chat {
	m.t.Helper()
	c := must(m.s.Move(m.ctx, chatID(from), to, m.now))
	return c
}

func (m mail) shut(id, peer string) (sessions.CloseResult, bool) {
	m.t.Helper()
	c, shut := must2(m.s.CloseChat(m.ctx, sessions.CloseRequest{ID: id, Chat: chatID(peer), At: m.now}))
	return c, shut
}

// waits puts an answer for a chat into the outbox.
func (m mail) waits(id, peer string) {
	m.t.Helper()
	o := reply(id, "")
	o.To = place(peer)
	m.queued(o)
}

func chats(t *testing.T, open opener) {
	cases{
		"a chat that nothing is known of is open and has one id": func(h *fixture) {
			h.same("chat", h.chat("a"), sessions.Chat{IDs: []string{"a"}})
			h.move("x", "y")
			h.same("chat", h.chat("a"), sessions.Chat{IDs: []string{"a"}})
		},
		"a chat that moved is found by all of its ids, whatever was heard first": func(h *fixture) {
			want := sessions.Chat{IDs: []string{"a", "b", "c"}, MovedAt: noon}
			for i, moves := range [][][2]string{
				{{"a", "b"}, {"b", "c"}},
				{{"b", "c"}, {"a", "b"}},
				{{"a", "b"}, {"a", "b"}, {"b", "c"}, {"a", "b"}, {"b", "c"}},
				{{"a", "b"}, {"a", "c"}},
				{{"a", "b"}, {"b", "c"}, {"b", "a"}, {"c", "a"}, {"c", "b"}, {"a", "a"}, {"a", "c"}},
			} {
				named := func(s string) string { return s + string(rune('0'+i)) }
				for _, m := range moves {
					h.move(named(m[0]), named(m[1]))
				}
				want.IDs = []string{named("a"), named("b"), named("c")}
				for _, id := range want.IDs {
					h.same("chat "+id, h.chat(id), want)
				}
			}
		},
		"no chat takes the id of another": func(h *fixture) {
			h.move("a", "b")
			h.same("answered", h.move("evil", "b"), sessions.Chat{IDs: []string{"evil"}})
			h.same("chat", h.chat("b").IDs, []string{"a", "b"})
			h.same("the other", h.chat("evil").IDs, []string{"evil"})
		},
		"a chat is one of a network and an account": func(h *fixture) {
			h.move("a", "b")
			h.shut("s", "a")
			for _, id := range []sessions.ChatID{{Channel: "slack", Account: "bot", Peer: "a"}, {Channel: "telegram", Account: "other", Peer: "a"}} {
				h.same("chat", must(h.s.Chat(h.ctx, id)), sessions.Chat{IDs: []string{"a"}})
			}
		},
		"shut drops what is queued, under any id, and leaves the rest": func(h *fixture) {
			h.waits("r1", "one")
			h.waits("r2", "two")
			h.waits("r3", "moved")
			h.move("one", "moved")
			mark := sessions.Mark{From: sessions.Queued, To: sessions.Sending, At: noon}
			h.ok(h.s.Advance(h.ctx, "r1", sessions.Progress{Bodies: [][]byte{[]byte("1"), []byte("2")}, Marks: []sessions.Mark{mark}}))
			c, shut := h.shut("s1", "moved")
			h.same("closing", []any{c, shut}, []any{sessions.CloseResult{Dropped: 2}, true})
			h.same("pending", h.pending(), []string{"r2"})
			d := must(h.s.Delivery(h.ctx, "r1"))
			h.same("parts", []sessions.SendState{d.Parts[0].State, d.Parts[1].State}, []sessions.SendState{sessions.Failed, sessions.Failed})
			// Who was sending it finds that out.
			sent := sessions.Mark{From: sessions.Sending, To: sessions.Sent, MessageID: "m", At: noon}
			h.is(h.s.Advance(h.ctx, "r1", sessions.Progress{Marks: []sessions.Mark{sent}}), sessions.ErrFenced)
			for _, id := range []string{"one", "moved"} {
				h.same(id, h.chat(id).Closed, true)
			}
			h.same("two", h.chat("two").Closed, false)
		},
		"a shutting answers the same again, and another one finds it done": func(h *fixture) {
			h.waits("r1", "one")
			first, _ := h.shut("s1", "one")
			h.same("dropped", first.Dropped, 1)
			h.waits("r2", "one")
			again, shut := h.shut("s1", "one")
			h.same("again", []any{again, shut}, []any{first, true})
			other, shut := h.shut("s2", "one")
			h.same("another", []any{other, shut}, []any{sessions.CloseResult{}, true})
			h.same("pending", h.pending(), []string{"r2"})
		},
		"an opened chat stays open for what was noticed before": func(h *fixture) {
			h.shut("s1", "one")
			h.waits("r1", "one")
			for range 2 {
				h.ok(h.s.Reopen(h.ctx, chatID("one"), noon.Add(time.Minute)))
			}
			h.same("chat", h.chat("one").Closed, false)
			_, shut := h.shut("s2", "one")
			h.same("shut", []any{shut, h.chat("one").Closed}, []any{false, false})
			h.same("pending", h.pending(), []string{"r1"})
			h.now = noon.Add(2 * time.Minute)
			c, shut := h.shut("s3", "one")
			h.same("shut", []any{c.Dropped, shut, h.chat("one").Closed}, []any{1, true, true})
		},
		"what closed a chat does not close it again when it was opened since": func(h *fixture) {
			h.shut("s1", "one")
			h.ok(h.s.Reopen(h.ctx, chatID("one"), noon.Add(time.Minute)))
			h.waits("r1", "one")
			h.now = noon.Add(2 * time.Minute) // a network brings it once more, and nobody knows from when it is
			c, shut := h.shut("s1", "one")
			h.same("shut", []any{c, shut, h.chat("one").Closed}, []any{sessions.CloseResult{}, false, false})
			h.same("pending", h.pending(), []string{"r1"})
		},
		"a chat is opened under any of its ids": func(h *fixture) {
			h.shut("s1", "b")
			h.move("a", "b")
			h.same("shut", []bool{h.chat("a").Closed, h.chat("b").Closed}, []bool{true, true})
			h.ok(h.s.Reopen(h.ctx, chatID("a"), noon))
			h.same("shut", []bool{h.chat("a").Closed, h.chat("b").Closed}, []bool{false, false})
		},
	}.run(t, open)
	turnCases{
		"shut asks the chat's mailboxes to stop what they are owed": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 3)
			h.touch("two", 4)
			k := keyOf(h.t, "one")
			c, _ := h.shut("s1", "one")
			h.same("mailboxes", c.Mailboxes, []string{k.Token()})
			h.same("again", func() any { c, _ := h.shut("s1", "one"); return c }(), any(c))
			cs := must(h.s.Controls(h.ctx, k.Token()))
			h.same("how many, kind, through, key, from", []any{len(cs), cs[0].Kind, cs[0].Through, cs[0].Key, cs[0].From}, []any{1, sessions.KindShut, uint64(3), k, place("one")})
			h.same("two", h.mailbox("two").Controls, 0)
			h.same("released", second(h.finish(f, turn.ID)), false)
			h.ok(h.s.ApplyControls(h.ctx, f, []string{cs[0].ID}, 3, nil))
			h.same("owed", h.mailbox("one").HasWork(), false)
		},
		"a mailbox that is owed nothing is not asked": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.finish(f, turn.ID)
			c, shut := h.shut("s1", "one")
			h.same("closing", []any{len(c.Mailboxes), shut}, []any{0, true})
			h.same("owed", h.mailbox("one").HasWork(), false)
		},
	}.run(t, open)
}
