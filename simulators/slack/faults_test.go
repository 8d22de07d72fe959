package slack_test

import (
	"slices"
	"testing"
	"time"

	sim "parley/simulators/slack"
)

func TestTroubleOnCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   sim.Fault
		status  int // 0: no answer
		code    string
		applied bool
	}{
		{sim.Fault{Trouble: sim.TooManyRequests, RetryAfter: 3}, 429, "ratelimited", false},
		{sim.Fault{Trouble: sim.InternalError}, 500, "internal_error", false},
		{sim.Fault{Trouble: sim.Unavailable}, 503, "service_unavailable", false},
		{sim.Fault{Trouble: sim.BadGateway}, 0, "", false},
		{sim.Fault{Trouble: sim.Refused, Error: "token_revoked"}, 200, "token_revoked", false},
		{sim.Fault{Trouble: sim.BlocksRefused}, 200, "invalid_blocks", false},
		{sim.Fault{Trouble: sim.Dropped}, 0, "", false},
		{sim.Fault{Trouble: sim.Slow, Delay: 1}, 200, "", true},
		{sim.Fault{Trouble: sim.Ambiguous}, 0, "", true},
		{sim.Fault{Trouble: sim.Truncated}, 0, "", true},
		{sim.Fault{Trouble: sim.Garbage}, 0, "", true},
	} {
		t.Run(string(c.fault.Trouble), func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.say(general, ann, "hello")
			c.fault.Next, c.fault.Method = 1, "chat.postMessage"
			w.plan(c.fault)
			post := map[string]any{"channel": general.ID, "text": "x", "blocks": []any{button}}
			a, err := w.callAs(botToken, "chat.postMessage", post)
			if (err != nil) != (c.status == 0) || err == nil && (a.Status != c.status || a.Error != c.code) {
				t.Errorf("answer %d %s %v", a.Status, a.raw, err)
			}
			b := w.until(func(b sim.Book) bool { return b.Totals.Calls == 1 })
			if (len(b.Messages) == 1) != c.applied || b.Calls[0].Fault != c.fault.Trouble || b.Totals.Faults != 1 {
				t.Errorf("%d messages, call %+v", len(b.Messages), b.Calls[0])
			}
			if lost := c.applied && c.status == 0; lost != (b.Totals.Unconfirmed == 1) || lost && !b.Messages[0].Unconfirmed {
				t.Errorf("totals %+v", b.Totals)
			}
			if c.fault.Trouble == sim.TooManyRequests {
				if a := w.call("chat.postMessage", post); a.RetryAfter != "3" || w.Totals().Violations != 1 {
					t.Errorf("too early: %s", a.RetryAfter)
				}
				w.ClearFaults()
			}
			if a := w.call("chat.postMessage", post); !a.OK {
				t.Errorf("after the fault: %s", a.raw)
			}
		})
	}
}

func TestBlocksAreRefusedOnlyWhereThereAreSome(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.say(general, ann, "hello")
	w.plan(sim.Fault{Trouble: sim.BlocksRefused})
	if a := w.call("chat.postMessage", map[string]any{"channel": general.ID, "text": "x"}); !a.OK {
		t.Errorf("text: %s", a.raw)
	}
}

func TestALostAcknowledgementBringsTheEventAgain(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	w.plan(sim.Fault{Trouble: sim.LostAck, Next: 1})
	w.say(general, ann, "hello")
	s.ack(s.read())
	w.until(func(b sim.Book) bool { return b.Connections[0].Acks == 1 })
	w.Lapse()
	s.ack(s.read())
	b := w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == 1 })
	if as := b.Events[0].Attempts; len(as) != 2 || as[0].Fault != sim.LostAck || !as[0].Acknowledged.IsZero() {
		t.Errorf("attempts %+v", as)
	}
}

func TestADuplicatedEventComesTwiceThoughItIsAcknowledged(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	w.plan(sim.Fault{Trouble: sim.Duplicated, Kind: "app_mention", Next: 1})
	w.say(general, ann, "@parley hi")
	var kinds, ids []string
	for range 3 {
		f := s.read()
		o, e := f.event(t)
		kinds, ids = append(kinds, e.Type), append(ids, o.EventID)
		s.ack(f)
	}
	if !slices.Equal(kinds, []string{"message", "app_mention", "app_mention"}) || ids[1] != ids[2] || ids[0] == ids[1] {
		t.Errorf("kinds %v, ids %v", kinds, ids)
	}
	w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == 2 && b.Connections[0].Acks == 3 })
}

func TestTheMentionCanComeFirst(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	w.plan(sim.Fault{Trouble: sim.MentionFirst, Next: 1})
	for _, want := range []string{"app_mention", "message"} {
		if want == "app_mention" {
			w.say(general, ann, "@parley hi")
		}
		if _, e := s.read().event(t); e.Type != want {
			t.Errorf("%s, want %s", e.Type, want)
		}
	}
}

func TestAReorderedEventComesBehindTheNext(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	w.plan(sim.Fault{Trouble: sim.Reordered, Next: 1, Delay: 1 << 60})
	w.say(general, ann, "one")
	w.say(general, ann, "two")
	for _, want := range []string{"two", "one"} {
		if _, e := s.read().event(t); e.Text != want {
			t.Errorf("%s, want %s", e.Text, want)
		}
	}
}

func TestConnectionsBreakBeforeAndAfterAnEvent(t *testing.T) {
	t.Parallel()
	for trouble, seen := range map[sim.Trouble]bool{sim.Dropped: false, sim.Ambiguous: true} {
		w := start(t)
		s, _ := w.connect(), w.connect()
		w.plan(sim.Fault{Trouble: trouble, Method: "event", Next: 1})
		w.say(general, ann, "hello")
		b := w.until(func(b sim.Book) bool { return b.Connected["parley"] == 1 && len(b.Events[0].Attempts) > 0 })
		_ = s
		if sent := b.Events[0].Attempts[0].EnvelopeID != "" && b.Events[0].Attempts[0].Problem == ""; sent != seen {
			t.Errorf("%s: %+v", trouble, b.Events[0].Attempts)
		}
	}
}

func TestDisconnectStorms(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sim.Options) { o.WarningGrace = time.Hour })
	w.plan(sim.Fault{Trouble: sim.Disconnect, Reason: "refresh_requested", Every: 1})
	for i := range 20 {
		s := w.connect()
		w.say(general, ann, "hello")
		s.ack(s.read())
		if f := s.read(); f.Reason != "refresh_requested" {
			t.Errorf("storm %d: %+v", i, f)
		}
		w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == i+1 })
		_ = s.Close()
		w.until(func(b sim.Book) bool { return b.Connected["parley"] == 0 })
	}
}

func TestFaultsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, f := range []sim.Fault{
		{Trouble: "gremlins"},
		{Trouble: sim.Refused},
		{Trouble: sim.Slow, Delay: -1},
		{Trouble: sim.LostAck, Method: "chat.postMessage"},
		{Trouble: sim.Garbage, Method: "event"},
		{Trouble: sim.Disconnect, Reason: "boredom"},
		{Trouble: sim.Dropped, Probability: 2},
	} {
		if err := w.Plan(f); err == nil {
			t.Errorf("%+v was planned", f)
		}
	}
}
