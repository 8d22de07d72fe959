package slack_test

import (
	"fmt"
	"testing"
	"time"

	"parley/channels"
	sim "parley/simulators/slack"
)

// What is for show leaves each method room for answers and their ends: as much as Slack's
// tiers give in a minute, however many turns run at once. Nothing of it runs into a limit.
func TestWhatIsForShowLeavesRoomForAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sim.Options) { o.RateLimits = true })
	x := r.run(t)
	dm := r.dm(t, ann)
	var asked []channels.Message
	for i := range 40 { // each begins a thread
		r.say(t, dm, ann, fmt.Sprintf("question %d", i), sim.SayOptions{})
		asked = append(asked, x.said())
	}
	var begun []string
	body := x.Render("An answer that grows. ")[0]
	for _, m := range asked {
		_ = x.ShowTyping(t.Context(), m.Address)
		_ = x.React(t.Context(), m.Address, m.MessageID, channels.Working)
		reply := channels.Reply{To: m.Address, Body: body}
		sent, err := x.StartStream(t.Context(), reply)
		if err != nil {
			if kind(err) != channels.RateLimit {
				t.Error(err)
			}
			begun = append(begun, "")
			continue
		}
		begun = append(begun, sent.MessageID)
		_ = x.UpdateStream(t.Context(), m.Address, sent.MessageID, x.Render("An answer that grows. And grows. ")[0])
	}
	streams := 0
	for i, m := range asked {
		if begun[i] == "" {
			continue
		}
		streams++
		if err := x.Edit(t.Context(), m.Address, begun[i], x.Render("An answer that grows. And grows. The end.")[0]); err != nil {
			t.Errorf("the end of an answer: %v", err)
		}
	}
	if streams == 0 || streams == len(asked) {
		t.Errorf("%d of %d answers were shown as they grew", streams, len(asked))
	}
	limited := map[string]int{}
	for _, c := range r.Books().Calls {
		if c.Status == 429 {
			limited[c.Method]++
		}
	}
	if len(limited) > 0 {
		t.Errorf("Slack refused %v", limited)
	}
	r.Advance(time.Minute)
	if _, err := x.StartStream(t.Context(), channels.Reply{To: asked[len(asked)-1].Address, Body: body}); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

// In channels answers grow by edits: more slowly where many do, and never so that the last
// edit finds no room. What is whole is posted at once.
func TestEditsForShowLeaveRoomForTheLast(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sim.Options) { o.RateLimits = true })
	x := r.run(t)
	body := x.Render("It grows.")[0]
	var replies []channels.Reply
	var begun []string
	for i := range 4 {
		c := sim.Channel{ID: fmt.Sprintf("C0GROWS%d", i), Kind: sim.Public, Name: fmt.Sprintf("grows-%d", i)}
		r.say(t, c, ann, "<@"+botUser+"> hello", sim.SayOptions{Raw: true})
		reply := channels.Reply{To: x.said().Address, Body: body}
		sent, err := x.StartStream(t.Context(), reply)
		if err != nil {
			t.Fatal(err)
		}
		replies, begun = append(replies, reply), append(begun, sent.MessageID)
		if _, err := x.StartStream(t.Context(), reply); kind(err) != channels.RateLimit {
			t.Errorf("another at the same moment: %v", err)
		}
	}
	grown, late := 0, 0
	began := r.Now() // the clock goes on while the test works
	for r.Now().Sub(began) < 59*time.Second {
		for n, reply := range replies {
			if err := x.UpdateStream(t.Context(), reply.To, begun[n], body); err == nil {
				grown++
				if r.Now().Sub(began) > 12*time.Second {
					late++
				}
			} else if kind(err) != channels.RateLimit {
				t.Error(err)
			}
		}
		r.Advance(time.Second)
	}
	if grown < 20 || grown > 28 || late == 0 {
		t.Errorf("in a minute they grew %d times, %d of them when many had", grown, late)
	}
	for range 5 { // with those of other turns
		for n, reply := range replies {
			if err := x.Edit(t.Context(), reply.To, begun[n], body); err != nil {
				t.Fatalf("the last edit: %v", err)
			}
		}
	}
	for range 10 {
		for _, reply := range replies {
			if _, err := x.Send(t.Context(), reply); err != nil {
				t.Fatalf("an answer: %v", err)
			}
		}
		r.Advance(time.Second)
	}
	for _, c := range r.Books().Calls {
		if c.Status == 429 {
			t.Errorf("Slack refused %s", c.Method)
		}
	}
}
