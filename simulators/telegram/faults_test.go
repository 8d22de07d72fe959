package telegram_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sim "parley/simulators/telegram"
)

// clock is a time that tests move.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1_700_000_000, c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

func (p *platform) plan(f ...sim.Fault) {
	p.t.Helper()
	if err := p.Plan(f...); err != nil {
		p.t.Fatal(err)
	}
}

func TestEachTroubleDoesWhatItSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trouble sim.Trouble
		status  int // of a well-formed answer; 0 none
		applied bool
	}{
		{sim.TooManyRequests, 429, false},
		{sim.InternalError, 500, false},
		{sim.BadGateway, 0, false},
		{sim.Unauthorized, 401, false},
		{sim.Conflict, 409, false},
		{sim.Forbidden, 403, false},
		{sim.Dropped, 0, false},
		{sim.Slow, 200, true},
		{sim.Ambiguous, 0, true},
		{sim.Truncated, 0, true},
		{sim.Garbage, 0, true},
		{sim.Restarting, 500, true},
		{sim.Oversized, 200, true},
	} {
		t.Run(string(c.trouble), func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.say(sim.PrivateChat(ann), ann, "hi")
			p.plan(sim.Fault{Trouble: c.trouble, Method: "sendmessage", Next: 1, Delay: time.Millisecond, Size: 1 << 20})
			r, err := p.try(soon(t), token, "sendMessage", args{"chat_id": ann.ID, "text": "x"})
			got := r.ErrorCode
			if r.OK {
				got = 200
			}
			if got != c.status || (err != nil) != (c.status == 0) {
				t.Errorf("answer %+v, %v", r, err)
			}
			b := p.Books()
			if (len(b.Messages) == 1) != c.applied {
				t.Errorf("messages %+v", b.Messages)
			}
			unsure := c.applied && c.trouble != sim.Slow
			if c.applied && b.Messages[0].Unconfirmed != unsure {
				t.Errorf("message %+v", b.Messages[0])
			}
			if last := b.Calls[len(b.Calls)-1]; last.Fault != c.trouble || b.Totals.Faults != 1 || (b.Totals.Unconfirmed == 1) != unsure {
				t.Errorf("call %+v, totals %+v", last, b.Totals)
			}
			p.ClearFaults()
			p.send(ann.ID, "the plan was for one call")
		})
	}
}

func TestRetryAfterIsEnforcedAndEarlyCallsAreViolations(t *testing.T) {
	t.Parallel()
	var c clock
	p := start(t, func(o *sim.Options) { o.Now = c.now })
	for _, who := range []sim.Person{ann, bob} {
		p.say(sim.PrivateChat(who), who, "hi")
	}
	p.plan(sim.Fault{Trouble: sim.TooManyRequests, RetryAfter: 5, Next: 1})
	send := func(to int64) reply { return p.call("sendMessage", args{"chat_id": to, "text": "x"}) }
	if r := send(ann.ID); r.Parameters.RetryAfter != 5 || r.Description != "Too Many Requests: retry after 5" {
		t.Errorf("%+v", r)
	}
	c.advance(3500 * time.Millisecond)
	if r := send(ann.ID); r.ErrorCode != 429 || r.Parameters.RetryAfter != 7 {
		t.Errorf("early: %+v", r)
	}
	if r := send(bob.ID); !r.OK {
		t.Errorf("another chat is held too: %+v", r)
	}
	c.advance(6500 * time.Millisecond)
	if r := send(ann.ID); !r.OK {
		t.Errorf("after waiting: %+v", r)
	}
	if n := p.Totals().Violations; n != 1 {
		t.Errorf("%d violations", n)
	}
	p.plan(sim.Fault{Trouble: sim.TooManyRequests, Global: true, Next: 1})
	send(ann.ID)
	if r := send(bob.ID); r.ErrorCode != 429 {
		t.Errorf("a global limit does not hold another chat: %+v", r)
	}
}

func TestPlansCountMatchingCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		f    sim.Fault
		want string // . passes, x falls
	}{
		{"next", sim.Fault{Next: 2}, "xx......"},
		{"skip and next", sim.Fault{Skip: 1, Next: 2}, ".xx....."},
		{"every", sim.Fault{Every: 3}, "..x..x.."},
		{"every and next", sim.Fault{Every: 3, Next: 1}, "..x....."},
		{"always", sim.Fault{}, "xxxxxxxx"},
		{"another method", sim.Fault{Method: "sendMessage"}, "........"},
		{"another bot", sim.Fault{Bot: "other_bot"}, "........"},
		{"another chat", sim.Fault{Chat: 5}, "........"},
		{"probability", sim.Fault{Probability: 0.5}, "x.x.xxxx"},
	} {
		p := start(t)
		c.f.Trouble = sim.InternalError
		p.plan(c.f)
		var got strings.Builder
		for range len(c.want) {
			if p.call("getMe", nil).OK {
				got.WriteByte('.')
			} else {
				got.WriteByte('x')
			}
		}
		if c.name == "probability" {
			if s := got.String(); !strings.Contains(s, "x") || !strings.Contains(s, ".") {
				t.Errorf("probability: %s", s)
			}
			continue
		}
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, &got, c.want)
		}
	}
}

func TestAConfirmedUpdateCanComeAgain(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.plan(sim.Fault{Trouble: sim.Redelivered, Next: 1}, sim.Fault{Trouble: sim.Redelivered, AfterPolls: 2, Next: 1})
	p.say(sim.PrivateChat(ann), ann, "one")
	p.say(sim.PrivateChat(ann), ann, "two")
	for i, want := range [][]int64{{1000, 1001}, {1000}, {}, {1001}, {}} {
		offset := 1002
		if i == 0 {
			offset = 0
		}
		if got := ids(p.poll(args{"offset": offset})); !slices.Equal(got, want) {
			t.Errorf("poll %d: %v, want %v", i, got, want)
		}
	}
	if us := p.Books().Updates; us[0].Handed != 2 || us[1].Handed != 2 {
		t.Errorf("%+v", us)
	}
}

func TestABatchCanComeShuffled(t *testing.T) {
	t.Parallel()
	p := start(t)
	for range 20 {
		p.say(sim.PrivateChat(ann), ann, "x")
	}
	p.plan(sim.Fault{Trouble: sim.Reordered, Next: 1})
	if got := ids(p.poll(nil)); slices.IsSorted(got) || len(got) != 20 {
		t.Errorf("shuffled: %v", got)
	}
	if got := ids(p.poll(nil)); !slices.IsSorted(got) {
		t.Errorf("afterwards: %v", got)
	}
}
