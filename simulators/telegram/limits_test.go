package telegram_test

import (
	"testing"
	"time"

	sim "parley/simulators/telegram"
)

// limited is a platform with the limits that a server has by itself.
func limited(t *testing.T) (*platform, *clock) {
	t.Helper()
	c := &clock{}
	return start(t, func(o *sim.Options) { o.Now, o.Pace = c.now, 0 }), c
}

// wait is what a call is told to wait, in seconds; 0: it was taken.
func (p *platform) wait(method string, a args) int {
	p.t.Helper()
	r := p.call(method, a)
	if !r.OK && r.Parameters.RetryAfter == 0 {
		p.t.Fatalf("%s is refused: %s", method, r.Description)
	}
	return r.Parameters.RetryAfter
}

// The bots FAQ: a message a second in a chat; an edit is a message (hermes-agent
// #116312, agno #7474).
func TestLimits_EditsCountAsMessages(t *testing.T) {
	t.Parallel()
	p, c := limited(t)
	p.say(sim.PrivateChat(ann), ann, "hi")
	id := p.send(ann.ID, "one")
	edit := func(text string) int {
		return p.wait("editMessageText", args{"chat_id": ann.ID, "message_id": id, "text": text})
	}
	if n := edit("two"); n != 1 {
		t.Errorf("an edit in the second of the message waits %d s, want 1", n)
	}
	c.advance(time.Second)
	if n := edit("two"); n != 0 {
		t.Errorf("an edit a second later waits %d s", n)
	}
	if n := p.wait("sendMessage", args{"chat_id": ann.ID, "text": "three"}); n != 1 {
		t.Errorf("a message in the second of the edit waits %d s, want 1", n)
	}
}

// The bots FAQ: not more than 20 messages a minute to the same group. Topics are no
// chats of their own.
func TestLimits_AForumIsOneGroup(t *testing.T) {
	t.Parallel()
	p, c := limited(t)
	p.say(forum, ann, "/start")
	var topics [2]int64
	for i := range topics {
		var err error
		if topics[i], err = p.CreateTopic(forum, ann, "topic", ""); err != nil {
			t.Fatal(err)
		}
	}
	send := func(i int) int {
		return p.wait("sendMessage", args{"chat_id": forum.ID, "message_thread_id": topics[i%2], "text": "x"})
	}
	for i := range 20 {
		if n := send(i); n != 0 {
			t.Fatalf("message %d waits %d s", i, n)
		}
		c.advance(time.Second)
	}
	if n := send(1); n != 40 {
		t.Errorf("the 21st in a minute waits %d s, want 40", n)
	}
}

func TestLimits_ThirtyCallsASecondOfABot(t *testing.T) {
	t.Parallel()
	p, c := limited(t)
	for i := range int64(32) {
		who := sim.Person{ID: 2000 + i, FirstName: "P"}
		p.say(sim.PrivateChat(who), who, "hi")
	}
	for i := range int64(20) {
		if n := p.wait("sendMessage", args{"chat_id": 2000 + i, "text": "x"}); n != 0 {
			t.Fatalf("message %d waits %d s", i, n)
		}
	}
	for i := range int64(10) {
		if n := p.wait("sendChatAction", args{"chat_id": 2000 + i, "action": "typing"}); n != 0 {
			t.Fatalf("sign %d waits %d s", i, n)
		}
	}
	if n := p.wait("sendMessage", args{"chat_id": 2030, "text": "x"}); n != 1 {
		t.Errorf("the 31st call in a second waits %d s, want 1", n)
	}
	for _, want := range []int{1, 2} {
		if n := p.wait("sendMessage", args{"chat_id": 2031, "text": "x"}); n != want {
			t.Errorf("another chat in the bot's penalty waits %d s, want %d", n, want)
		}
	}
	c.advance(2 * time.Second)
	if n := p.wait("sendMessage", args{"chat_id": 2031, "text": "x"}); n != 0 {
		t.Errorf("afterwards it waits %d s", n)
	}
}

// Bots that went on calling report waits that grew to hours (hermes-agent #105340:
// complying is replaced by hammering; tdlib/td #1331: 10072 s).
func TestLimits_ACallWithinAPenaltyMakesItLonger(t *testing.T) {
	t.Parallel()
	p, c := limited(t)
	p.say(sim.PrivateChat(ann), ann, "hi")
	p.plan(sim.Fault{Trouble: sim.TooManyRequests, Method: "sendMessage", Next: 1, RetryAfter: 10})
	send := func() int { return p.wait("sendMessage", args{"chat_id": ann.ID, "text": "x"}) }
	if n := send(); n != 10 {
		t.Fatalf("the first answer says %d s, want 10", n)
	}
	c.advance(4 * time.Second)
	for _, want := range []int{16, 26} {
		if n := send(); n != want {
			t.Errorf("a call within the penalty is told %d s, want %d", n, want)
		}
	}
	if n := p.Totals().Violations; n != 2 {
		t.Errorf("%d violations, want 2", n)
	}
	c.advance(26 * time.Second)
	if n := send(); n != 0 {
		t.Errorf("after the penalty it waits %d s", n)
	}
}

func TestLimits_AQuickerPlatformKeepsTheProportions(t *testing.T) {
	t.Parallel()
	c := &clock{}
	p := start(t, func(o *sim.Options) { o.Now, o.Pace = c.now, 100 })
	p.say(team, ann, "/start")
	send := func() int { return p.wait("sendMessage", args{"chat_id": team.ID, "text": "x"}) }
	for i := range 20 {
		if n := send(); n != 0 {
			t.Fatalf("message %d waits %d s", i, n)
		}
		c.advance(10 * time.Millisecond)
	}
	if n := send(); n != 1 {
		t.Errorf("the 21st waits %d s, want 1: no wait is shorter", n)
	}
	c.advance(time.Second)
	if a, b := send(), send(); a != 0 || b != 1 {
		t.Errorf("two at once wait %d s and %d s, want 0 and 1", a, b)
	}
}
