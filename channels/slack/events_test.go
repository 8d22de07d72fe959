package slack_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/slack"
	"parley/sessionkeys"
	sim "parley/simulators/slack"
)

// row is what a row of the checklist is told by: the events of the app that are
// taken, each once.
func settledEvents(x *running, n int) []channels.Message {
	x.t.Helper()
	var out []channels.Message
	for range n {
		out = append(out, x.next())
	}
	return out
}

func TestS16_AMentionIsOneEventWhicheverComesFirst(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"message first": false, "app_mention first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if first {
				r.plan(t, sim.Fault{Trouble: sim.MentionFirst})
			}
			x := r.run(t)
			said := r.say(t, general, ann, "<@"+botUser+">, what &amp; where?", sim.SayOptions{Raw: true})
			both := settledEvents(x, 2)
			a, b := both[0], both[1]
			a.ReceivedAt, b.ReceivedAt = time.Time{}, time.Time{}
			if a.Event != b.Event || a.Address != b.Address || a.Text != b.Text || !a.Mentioned || !b.Mentioned {
				t.Errorf("one post came as\n%+v\n%+v", a, b)
			}
			if a.Text != "what & where?" || a.MessageID != said.TS || a.Address.Thread != said.TS || a.Address.Kind != sessionkeys.Group {
				t.Errorf("%+v", a)
			}
		})
	}
}

// firstday S4: the mention lacks the files of the post; whichever comes first, they
// are there in the end, and the second event adds what the first lacked.
func TestS16_AMentionWithoutTheFilesOfItsPostIsCompleted(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"message first": false, "app_mention first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if first {
				r.plan(t, sim.Fault{Trouble: sim.MentionFirst})
			}
			x := r.run(t)
			said := r.say(t, general, ann, "<@"+botUser+"> what is this?", sim.SayOptions{
				Raw: true, Files: []sim.File{{Name: "cat.png", Mimetype: "image/png", Data: []byte("meow")}},
			})
			events := settledEvents(x, 3)
			slices.SortStableFunc(events, func(a, b channels.Message) int { return strings.Compare(string(b.Kind), string(a.Kind)) })
			whole := events[2] // what amends the two others
			if whole.Kind != channels.Edited || !whole.Completing || whole.MessageID != said.TS || len(whole.Attachments) != 1 || whole.Text != "what is this?" || !whole.Mentioned {
				t.Errorf("the whole is %+v", whole)
			}
			for _, m := range events[:2] {
				if m.Kind != channels.Said || m.Event != "m-"+said.TS || m.Partial != (len(m.Attachments) == 0) || m.Address != whole.Address {
					t.Errorf("%+v", m)
				}
			}
		})
	}
}

func TestS17_WhatIsNotAcknowledgedComesAgainUnderItsID(t *testing.T) {
	t.Parallel()
	for name, bring := range map[string]func(r *fixture){
		"a post": func(r *fixture) { r.say(t, r.dm(t, ann), ann, "hello", sim.SayOptions{}) },
		"what is known by its event_id": func(r *fixture) {
			r.inject(t, `{"type":"member_joined_channel","channel":"C0GENERAL","user":"`+botUser+`","event_ts":"1700000000.000100"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(o *sim.Options) { o.AckTimeout = 50 * time.Millisecond })
			x := r.run(t)
			r.connected(t)
			r.plan(t, sim.Fault{Trouble: sim.LostAck, Method: "event", Next: 1})
			bring(r)
			a, b := x.next(), x.next()
			if a.Event != b.Event || a.Event == "" {
				t.Errorf("%q and %q", a.Event, b.Event)
			}
		})
	}
}

func TestS18_AnEventThatNobodyKnowsIsOfferedAndAcknowledgedByItsEnvelope(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event string
		kind  channels.EventKind
	}{
		"a type of tomorrow":  {`{"type":"quantum_leap","channel":{"odd":[1]},"user":"U0ANN"}`, channels.Unhandled},
		"a shape of tomorrow": {`{"type":"message","channel":["C1"],"ts":5}`, channels.Unreadable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			x := r.run(t)
			r.inject(t, c.event)
			if m := x.next(); m.Kind != c.kind || m.Event == "" || m.Problem == "" {
				t.Errorf("%+v", m)
			}
			r.until(t, func(b sim.Book) bool { return b.Totals.Acknowledged == 1 })
		})
	}
	t.Run("no JSON at all", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		x := r.run(t)
		r.until(t, func(b sim.Book) bool { return b.Connected["parley"] == 1 })
		if err := r.InjectFrame("parley", `{"envelope_id":"torn-1","type":"events_api","payload":{`); err != nil {
			t.Fatal(err)
		}
		if m := x.next(); m.Kind != channels.Unreadable || len(m.Raw) == 0 {
			t.Errorf("%+v", m)
		}
		r.until(t, func(b sim.Book) bool { return b.Totals.Unsolicited == 1 })
	})
}

func TestS20_OnlyWhatPeopleSayAndChangeCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	dm := r.dm(t, ann)
	said := r.say(t, dm, ann, "see https://a.example", sim.SayOptions{})
	if m := x.next(); m.Kind != channels.Said {
		t.Fatalf("%+v", m)
	}
	if _, err := r.Unfurl(dm.ID, said.TS, "https://a.example"); err != nil {
		t.Fatal(err)
	}
	if m := x.next(); m.Kind != channels.Unhandled {
		t.Errorf("an unfurl came as %+v", m)
	}
	if _, err := r.Edit(dm.ID, said.TS, "see nothing", sim.SayOptions{}); err != nil {
		t.Fatal(err)
	}
	if m := x.next(); m.Kind != channels.Edited || m.Text != "see nothing" || m.MessageID != said.TS {
		t.Errorf("an edit came as %+v", m)
	}
	// What was edited once says so ever after, and is shown with its links again.
	if _, err := r.Unfurl(dm.ID, said.TS, "https://b.example"); err != nil {
		t.Fatal(err)
	}
	if m := x.next(); m.Kind != channels.Unhandled {
		t.Errorf("an unfurl of what was edited came as %+v", m)
	}
	if err := r.Delete(dm.ID, said.TS); err != nil {
		t.Fatal(err)
	}
	if m := x.next(); m.Kind != channels.Unhandled || m.Sender.ID != ann.ID {
		t.Errorf("a deletion came as %+v", m)
	}
	r.inject(t, `{"type":"message","hidden":true,"channel":"`+dm.ID+`","channel_type":"im","user":"U0ANN","ts":"1700000000.000100","text":"not shown"}`)
	if m := x.next(); m.Kind != channels.Unhandled {
		t.Errorf("what is shown to nobody came as %+v", m)
	}
	r.say(t, dm, ann, "a file", sim.SayOptions{Files: []sim.File{{Name: "a.txt", Mimetype: "text/plain", Data: []byte("content"), External: true}}})
	m := x.said()
	if len(m.Attachments) != 1 || m.Attachments[0].Ref == "" {
		t.Errorf("a file came as %+v", m)
	}
	var b strings.Builder
	if err := x.Fetch(t.Context(), m.Address, m.Attachments[0], &b); err != nil || b.String() != "content" {
		t.Errorf("Fetch gave %q, %v", b.String(), err)
	}
	// firstday A1: a clip may claim to be a video.
	r.say(t, dm, ann, "", sim.SayOptions{Files: []sim.File{{Name: "audio_message.mp4", Mimetype: "video/mp4", Data: []byte("content"), ClipMillis: 8470}}})
	if m := x.said(); len(m.Attachments) != 1 || m.Attachments[0].Kind != channels.Voice || m.Attachments[0].Millis != 8470 {
		t.Errorf("a clip came as %+v", m)
	}
	root := r.say(t, general, ann, "<@"+botUser+"> hi", sim.SayOptions{Raw: true})
	x.said()
	r.say(t, general, ann, "to all", sim.SayOptions{ThreadTS: root.TS, Broadcast: true})
	for {
		if m := x.said(); m.Text == "to all" {
			if !m.Mentioned || m.Address.Thread != root.TS {
				t.Errorf("a broadcast came as %+v", m)
			}
			break
		}
	}
}

// firstday S3: the title of an assistant thread is no edit, although it has a human
// author and a time of its edit.
func TestS20_TheTitleOfAnAssistantThreadIsNotAnEdit(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sim.Options) { o.Apps[0].AgentView, o.Apps[0].Events = false, nil })
	x := r.run(t, func(o *slack.Options) { o.View = slack.AssistantView })
	opened, err := r.OpenAssistant("parley", ann, sim.Context{})
	if err != nil {
		t.Fatal(err)
	}
	if m := x.next(); m.Kind != channels.Unhandled {
		t.Errorf("a thread that opens came as %+v", m)
	}
	r.say(t, r.dm(t, ann), ann, "hello", sim.SayOptions{ThreadTS: opened.ThreadTS})
	if m := x.next(); m.Kind != channels.Said || m.Text != "hello" || m.Address.Thread != opened.ThreadTS {
		t.Errorf("what is said in it came as %+v", m)
	}
	if m := x.next(); m.Kind != channels.Unhandled || !strings.Contains(m.Problem, "assistant_app_thread") {
		t.Errorf("the title came as %+v", m)
	}
}

func TestS21_OurOwnPostsAreNotOfferedAndBotsAreCalledSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	dm := r.dm(t, ann)
	r.say(t, dm, ann, "hello", sim.SayOptions{})
	m := x.said()
	sent, err := x.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "ours"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Edit(t.Context(), m.Address, sent.MessageID, channels.Body{Text: "ours, changed"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Unfurl(dm.ID, sent.MessageID, "https://a.example"); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(dm.ID, sent.MessageID); err != nil {
		t.Fatal(err)
	}
	// Slack names the account's user, or its bot, or both.
	for i, by := range []string{`"subtype":"file_share","user":"` + botUser + `"`, `"subtype":"bot_message","bot_id":"` + botID + `"`} {
		r.inject(t, fmt.Sprintf(`{"type":"message","channel":%q,"channel_type":"im","ts":"1700000000.00010%d","text":"ours",%s}`, dm.ID, i, by))
	}
	r.say(t, general, sim.Person{ID: "U0BOT", Name: "robot", IsBot: true}, "<@"+botUser+"> beep", sim.SayOptions{Raw: true})
	if m := x.next(); !m.Sender.Bot || m.Text != "beep" {
		t.Errorf("beside our own posts came %+v", m)
	}
	r.until(t, func(b sim.Book) bool { return b.Pending["parley"] == 0 })
	for len(x.events) > 0 {
		if m := x.next(); m.Sender.ID != "U0BOT" { // whose post comes as two events
			t.Errorf("of our own posts came %+v", m)
		}
	}
}

// firstday S12: an event is taken while Slack takes its time with a name.
func TestNoEventWaitsLongForAName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.plan(t, sim.Fault{Trouble: sim.Slow, Method: "users.info", Delay: patience})
	x := r.run(t)
	r.say(t, r.dm(t, ann), ann, "hello", sim.SayOptions{})
	if m := x.said(); m.Sender.Name != "" {
		t.Errorf("it has waited for %q", m.Sender.Name)
	}
}

// abuse M7: for strangers Slack is asked nothing.
func TestNothingIsAskedForAStranger(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t, func(o *slack.Options) {
		o.IsRelevant = func(_ context.Context, m channels.Message) bool { return strings.HasSuffix(m.Sender.ID, ann.ID) }
	})
	root := r.say(t, general, sim.Person{ID: "U0STRANGER", Name: "mallory"}, "nothing", sim.SayOptions{})
	for range 40 {
		r.say(t, general, sim.Person{ID: "U0STRANGER", Name: "mallory"}, "nothing", sim.SayOptions{ThreadTS: root.TS})
	}
	for range 41 {
		if m := x.said(); m.Sender.Name != "" || m.Mentioned {
			t.Errorf("%+v", m)
		}
	}
	for _, c := range r.Books().Calls {
		if c.Method == "users.info" || c.Method == "conversations.replies" {
			t.Errorf("for a stranger's posts Slack was asked %+v", c)
		}
	}
	for range 240 { // no event waits long for a name, which is asked for: one of the next has it
		r.say(t, general, ann, "hello", sim.SayOptions{ThreadTS: root.TS})
		if m := x.said(); m.Sender.Name != "" {
			return
		}
	}
	t.Error("for who is relevant Slack was asked for no name")
}
