package redis_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/costs"
	"parley/sessions"
	"parley/sessions/redis"
)

// TestADatabaseOfTheVersionBeforeGoesOn: rows had no versions then, and a call was kept
// as an interrupted entry and the names of its scopes.
func TestADatabaseOfTheVersionBeforeGoesOn(t *testing.T) {
	t.Parallel()
	for _, ends := range []string{"settled", "interrupted"} {
		t.Run(ends, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, &facts{})
			ctx := t.Context()
			m := p.take(p.alive("ann"), "one", 1)
			turn := p.fixture.open(m, 1)
			scopes := []sessions.Scope{
				{Kind: "person", ID: "ann", Limit: 1000}, {Kind: "group", ID: "g", Window: costs.Month}, {Kind: "turn", ID: turn.ID, Window: costs.Always},
			}
			r := reservation(turn, 1, 300)
			p.ok(p.s.Reserve(ctx, m.Fence(), sessions.Charge{Session: turn.Session, Turn: turn.ID, Scopes: scopes}, r))

			// As it stood then.
			c := raw(t, p.primary)
			for _, key := range c.Keys(ctx, "parley:*").Val() {
				if c.Type(ctx, key).Val() == "hash" {
					p.ok(c.HDel(ctx, key, "v").Err())
				}
			}
			entry, err := json.Marshal(costs.Entry{
				ID: r.ID, Call: r.Estimate.Call, Labels: r.Estimate.Labels, Usage: costs.Usage{Source: costs.Estimated},
				Upper: r.Estimate.Upper, Priced: r.Estimate.Priced, State: costs.Interrupted, Outcome: "interrupted",
			})
			p.ok(err)
			dangling, err := json.Marshal(map[string]any{"id": r.ID, "amount": "0", "keep": "300", "entry": string(entry)})
			p.ok(err)
			var named []any
			for _, s := range scopes {
				var name strings.Builder
				for _, part := range []string{s.Kind, s.ID, s.Window.Name(r.At)} {
					fmt.Fprintf(&name, "%d:%s", len(part), part)
				}
				named = append(named, []any{name.String(), "0", s.Window == costs.Always})
			}
			listed, err := json.Marshal(named)
			p.ok(err)
			key := "parley:call:" + r.ID
			p.ok(c.HDel(ctx, key, "id", "call").Err())
			p.ok(c.HSet(ctx, key, "dangling", dangling, "scopes", listed, "step", 1, "purpose", "root", "day", costs.Day.Name(r.At)).Err())

			s, err := redis.Open(ctx, redis.Options{URL: p.board.URL, Facts: p.log})
			p.ok(err)
			defer s.Close() //nolint:errcheck // it ends with the test
			own, held := costs.Amount(150), costs.Amount(0)
			if ends == "settled" {
				p.ok(s.Settle(ctx, m.Fence(), cost(r, 150), said("step-1")))
			} else {
				_, err := s.Resume(ctx, m.Fence(), noon)
				p.ok(err)
				own, held = 0, 300
			}
			p.ok(s.Check(ctx))
			for _, sc := range scopes {
				settled, holds, err := s.Spent(ctx, sc, r.At)
				p.ok(err)
				if settled != own || holds != held {
					t.Errorf("the %s has settled %v and holds %v", sc.Kind, settled, holds)
				}
			}
			_, err = s.Finish(ctx, m.Fence(), ending(turn, "ann"))
			p.ok(err)
			p.ok(s.Check(ctx))
		})
	}
}

// TestPartsOfTheVersionBefore are read as what they are: a part's problem said then how
// often it was sent again, or why its file failed.
func TestPartsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	_, err := p.s.Notice(ctx, event("asked"), []sessions.Outgoing{{ID: "r", Channel: "tg", To: place("chat"), Text: "hello", At: noon}}, noon)
	p.ok(err)
	var bodies [][]byte
	for range 10 {
		bodies = append(bodies, []byte("x"))
	}
	p.ok(p.s.Advance(ctx, "r", sessions.Progress{Bodies: bodies}))

	// As they stood then.
	c := raw(t, p.primary)
	const key = "parley:out:r"
	for i, f := range [][2]string{
		{"sending", "repeat 2: the one before may have arrived"},
		{"ambiguous", "repeat 0: the one before may have arrived"},
		{"ambiguous", "send: ambiguous: reset"},
		{"failed", "sent 6 times, and not once is it known to have arrived: send: ambiguous: reset"},
		{"failed", "files cannot be sent from here to this chat: x"},
		{"failed", "it is not kept any more: x"},
		{"failed", "it is not kept as it was: x"},
		{"failed", "it has 9 bytes, and the network takes 8: x"},
		{"failed", "the network refuses it: x"},
		{"failed", "send: rejected: repeat 1: no"},
	} {
		n := strconv.Itoa(i + 1)
		p.ok(c.HDel(ctx, key, "r"+n, "f"+n).Err())
		p.ok(c.HSet(ctx, key, "s"+n, f[0], "p"+n, f[1]).Err())
	}

	s, err := redis.Open(ctx, redis.Options{URL: p.board.URL, Facts: p.log})
	p.ok(err)
	defer s.Close() //nolint:errcheck // it ends with the test
	d, err := s.Delivery(ctx, "r")
	p.ok(err)
	type saw struct {
		repeats int
		reason  sessions.FailReason
		same    bool // the problem is what it was
	}
	var got []saw
	for _, p := range d.Parts {
		got = append(got, saw{p.Repeats, p.Reason, p.Problem != ""})
	}
	if want := []saw{
		{repeats: 2},
		{},
		{same: true},
		{5, sessions.Unconfirmed, true},
		{0, sessions.NoFiles, true},
		{0, sessions.FileGone, true},
		{0, sessions.FileChanged, true},
		{0, sessions.TooLarge, true},
		{0, sessions.Refused, true},
		{same: true},
	}; !slices.Equal(got, want) {
		t.Errorf("the parts are\n%+v, want\n%+v", got, want)
	}
	p.ok(s.Advance(ctx, "r", sessions.Progress{Marks: []sessions.Mark{
		{Index: 0, From: sessions.Sending, To: sessions.Ambiguous, Repeats: 2, Problem: "reset", At: noon},
		{Index: 1, From: sessions.Ambiguous, To: sessions.Sending, Repeats: 1, At: noon},
	}}))
	stored := c.HMGet(ctx, key, "r1", "p1", "r2", "p2").Val()
	if want := []any{"2", "reset", "1", ""}; !slices.Equal(stored, want) {
		t.Errorf("stored is %q, want %q", stored, want)
	}
	p.ok(s.Check(ctx))
}

// TestTurnsOfTheVersionBeforeSayWhatJoined: rows of turns did not, but the ids of
// messages do.
func TestTurnsOfTheVersionBeforeSayWhatJoined(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	m := p.take(p.alive("ann"), "one", 1)
	turn := p.fixture.open(m, 1)
	join := func(s sessions.Store, seq uint64) {
		t.Helper()
		_, err := s.Join(ctx, m.Fence(), sessions.JoinTurn{
			Turn: turn.ID, Seq: seq, Events: []sessions.InboxID{event(fmt.Sprint("e", seq))}, Message: said(fmt.Sprintf("%s-user-%d", turn.ID, seq)),
		})
		p.ok(err)
	}
	join(p.s, 2)
	join(p.s, 11)

	// As it stood then.
	c := raw(t, p.primary)
	key := "parley:turn:" + turn.ID
	p.ok(c.HDel(ctx, key, "joined").Err())

	s, err := redis.Open(ctx, redis.Options{URL: p.board.URL, Facts: p.log})
	p.ok(err)
	defer s.Close() //nolint:errcheck // it ends with the test
	joined := func(want ...uint64) {
		t.Helper()
		m, err := s.Mailbox(ctx, m.Token)
		p.ok(err)
		one, err := s.Turn(ctx, turn.ID)
		p.ok(err)
		ts, err := s.TurnsOf(ctx, turn.Session)
		p.ok(err)
		for what, got := range map[string][]uint64{"mailbox": m.Turn.Joined, "turn": one.Joined, "list": ts[0].Joined} {
			if !slices.Equal(got, want) {
				t.Errorf("by the %s %v joined, not %v", what, got, want)
			}
		}
	}
	joined(2, 11)
	p.ok(s.Preview(ctx, turn.ID, sessions.ShownPreview("p1"))) // who does so has no fence, and writes nothing else
	if got := c.HGet(ctx, key, "preview").Val(); got != "p1" { // as the version before reads it
		t.Errorf("the preview is stored as %q", got)
	}
	p.ok(c.HSet(ctx, key, "preview", "?").Err()) // as it wrote one that was begun
	if got, err := s.Previewed(ctx, turn.ID); err != nil || got != (sessions.Preview{State: sessions.PreviewBegun}) {
		t.Errorf("the preview is %+v, %v", got, err)
	}
	if c.HExists(ctx, key, "joined").Val() {
		t.Error("a note of a preview says what joined the turn")
	}
	join(s, 12)
	joined(2, 11, 12)
	if got := c.HGet(ctx, key, "joined").Val(); got != "[2,11,12]" {
		t.Errorf("stored is %s", got)
	}
	p.ok(s.Check(ctx))
}
