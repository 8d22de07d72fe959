package slack_test

import (
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/slack"
	"parley/sessionkeys"
	sim "parley/simulators/slack"
)

func TestS24_StoppingAnAgentIsTheCommandStop(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	r.inject(t, `{"type":"agent_session_stopped","channel":"D0ANN","thread_ts":"1700000000.000100","user":"U0ANN","event_ts":"1700000001.000100"}`)
	m := x.next()
	if m.Kind != channels.Said || m.Text != "/stop" || m.Sender.ID != "U0ANN" || m.Address.Thread != "1700000000.000100" || m.Address.Kind != sessionkeys.DM {
		t.Errorf("%+v", m)
	}
}

func TestRepliesInAThreadOfTheBotSpeakToIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	root := r.say(t, general, ann, "<@"+botUser+"> hi", sim.SayOptions{Raw: true})
	x.said()
	r.until(t, func(b sim.Book) bool { return b.Totals.Acknowledged >= 2 })
	r.say(t, general, ann, "and more", sim.SayOptions{ThreadTS: root.TS})
	if m := x.said(); !m.Mentioned || m.Text != "and more" {
		t.Errorf("who mentioned the bot goes on: %+v", m)
	}
	r.say(t, general, bob, "who is that", sim.SayOptions{ThreadTS: root.TS})
	m := x.said()
	if m.Mentioned {
		t.Errorf("somebody else speaks to the bot: %+v", m)
	}
	if _, err := x.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "me"}}); err != nil {
		t.Fatal(err)
	}
	x.stop()
	// firstday S12: a new process does not ask Slack, which waits for an answer.
	y := r.run(t)
	r.say(t, general, bob, "I see", sim.SayOptions{ThreadTS: root.TS})
	if m := y.said(); m.Mentioned || !m.Follows || m.Text != "I see" {
		t.Errorf("a reply in a thread of which only the conversation knows: %+v", m)
	}
	r.say(t, general, bob, "elsewhere", sim.SayOptions{})
	if m := y.said(); m.Mentioned || m.Follows {
		t.Errorf("%+v", m)
	}
	for _, c := range r.Books().Calls {
		if c.Method == "conversations.replies" {
			t.Errorf("Slack was asked %+v", c)
		}
	}
}

// firstday S10: whether a reply in a thread of the bot speaks to it is a choice.
func TestRepliesSpeakToTheBotByMentionOnlyIfSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t, func(o *slack.Options) { o.MentionsOnly = true })
	root := r.say(t, general, ann, "<@"+botUser+"> hi", sim.SayOptions{Raw: true})
	x.said()
	r.until(t, func(b sim.Book) bool { return b.Totals.Acknowledged >= 2 })
	r.say(t, general, ann, "and more", sim.SayOptions{ThreadTS: root.TS})
	if m := x.said(); m.Mentioned || m.Follows {
		t.Errorf("%+v", m)
	}
	r.say(t, r.dm(t, ann), ann, "hi", sim.SayOptions{})
	if m := x.said(); !m.Mentioned {
		t.Errorf("%+v", m)
	}
}

func TestPlacesOfSlack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	for _, c := range []struct {
		place  sim.Channel
		kind   sessionkeys.Kind
		thread bool
	}{{r.dm(t, ann), sessionkeys.DM, true}, {general, sessionkeys.Group, true}, {secretC, sessionkeys.Group, true}, {three, sessionkeys.Group, true}} {
		said := r.say(t, c.place, ann, "hello", sim.SayOptions{})
		m := x.said()
		if m.Address.Kind != c.kind || m.Address.Peer != c.place.ID || (m.Address.Thread == said.TS) != c.thread || m.Address.Account != "T0PARLEY01/"+botUser {
			t.Errorf("%s: %+v", c.place.ID, m.Address)
		}
	}
	stranger := sim.Person{ID: "U0FAR", Name: "far", Team: "T0ELSEWHERE"}
	r.say(t, general, stranger, "hello", sim.SayOptions{})
	if m := x.said(); m.Sender.ID != "T0ELSEWHERE/U0FAR" {
		t.Errorf("somebody of another workspace is %+v", m.Sender)
	}
}

func TestSlashCommandsAndButtons(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sim.Options) { o.Apps[0].Commands = nil })
	x := r.run(t)
	r.connected(t) // they do not come again
	for typed, want := range map[string]string{
		"/parley stop now": "/stop now", "/parley": "/help", "/parley what is up": "what is up",
		// firstday S11: one native command each
		"/parley-stop": "/stop", "/parley-New  please": "/new please", "/my-bot-status": "/status", "/my-bot hello": "hello", "/parley-stopped": "/help",
	} {
		command, text, _ := strings.Cut(typed, " ")
		if _, err := r.Command("parley", general, ann, command, text); err != nil {
			t.Fatal(err)
		}
		if m := x.said(); m.Text != want || !m.Mentioned || m.Sender.ID != ann.ID || m.Address.Thread != "" {
			t.Errorf("%q came as %+v", typed, m)
		}
	}
}

// Slack tells of an edit that mentions the bot in two events, whether the post mentioned it before
// or not: https://github.com/slack-go/slack/pull/1256
func TestAMentionThatAnEditAddsIsOneEvent(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"what is this?", "@parley what is that?"} {
		r := newRig(t)
		x := r.run(t)
		post := r.say(t, general, ann, before, sim.SayOptions{})
		x.said()
		if _, err := r.Edit(general.ID, post.TS, "@parley what is this?", sim.SayOptions{}); err != nil {
			t.Fatal(err)
		}
		var got []channels.Message
		for len(got) < 2 {
			if m := x.next(); m.Event != "m-"+post.TS && !m.Completing {
				got = append(got, m)
			}
		}
		for _, m := range got {
			if m.Kind != channels.Edited || !m.Mentioned || m.Event != got[0].Event || m.MessageID != post.TS || m.SentAt != got[0].SentAt {
				t.Errorf("of an edit after %q came %+v and %+v", before, got[0], m)
			}
		}
	}
}

// edited.ts counts whole seconds.
func TestTwoEditsWithinASecondAreTwo(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRig(t, func(o *sim.Options) { o.Now = func() time.Time { return now } })
	x := r.run(t)
	dm := r.dm(t, ann)
	post := r.say(t, dm, ann, "one", sim.SayOptions{})
	x.said()
	events := map[string]bool{}
	for _, text := range []string{"two", "three"} {
		if _, err := r.Edit(dm.ID, post.TS, text, sim.SayOptions{}); err != nil {
			t.Fatal(err)
		}
		m := x.next()
		if m.Kind != channels.Edited || m.Text != text || events[m.Event] {
			t.Errorf("the edit to %q came as %+v", text, m)
		}
		events[m.Event] = true
	}
}

func TestButton(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	body := x.Render("May I?")[0]
	body.Choices = []channels.Choice{{Label: "Permit once", Says: "/approve 7K3MD"}}
	ask := func(t *testing.T, place sim.Channel, thread string) (channels.Reply, string) {
		t.Helper()
		said := r.say(t, place, ann, "hello", sim.SayOptions{})
		reply := channels.Reply{To: x.said().Address, Body: body}
		if reply.To.Thread = thread; thread == "root" {
			reply.To.Thread = said.TS
		}
		receipt, err := x.Send(t.Context(), reply)
		if err != nil {
			t.Fatal(err)
		}
		return reply, receipt.MessageID
	}
	press := func(t *testing.T, p sim.Person, place, id string) channels.Message {
		t.Helper()
		b := r.buttons(t, id)[0]
		if _, err := r.Press(p, place, id, b.ActionID, b.Value); err != nil {
			t.Fatal(err)
		}
		for {
			if m := x.next(); m.Kind == channels.Pressed {
				return m
			}
		}
	}
	t.Run("whoever presses it speaks where it was asked, outside of a thread too", func(t *testing.T) {
		for _, place := range []sim.Channel{general, r.dm(t, ann)} {
			for _, thread := range []string{"root", ""} {
				reply, id := ask(t, place, thread)
				if m := press(t, ann, place.ID, id); m.Kind != channels.Pressed || m.Address != reply.To {
					t.Errorf("asked at %+v, pressed at %+v", reply.To, m.Address)
				}
			}
		}
	})
	t.Run("also when others have begun a thread below it", func(t *testing.T) {
		reply, id := ask(t, general, "")
		r.say(t, general, bob, "what is that?", sim.SayOptions{ThreadTS: id})
		x.said()
		if m := press(t, ann, general.ID, id); m.Address != reply.To {
			t.Errorf("asked at %+v, pressed at %+v", reply.To, m.Address)
		}
	})
	t.Run("somebody of another workspace who presses it is not the member with that id", func(t *testing.T) {
		_, id := ask(t, general, "root")
		if m := press(t, sim.Person{ID: ann.ID, Name: "far", Team: "T0ELSEWHERE"}, general.ID, id); m.Sender.ID != "T0ELSEWHERE/"+ann.ID {
			t.Errorf("pressed by %+v", m.Sender)
		}
	})
}

// firstday S11: in threads, where slash commands do not exist, an exclamation mark does.
func TestAnExclamationMarkIsASlash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	dm := r.dm(t, ann)
	root := r.say(t, dm, ann, "work", sim.SayOptions{})
	x.said()
	for typed, want := range map[string]string{"!stop": "/stop", "!Stop now": "/Stop now", "!stop!": "/stop!", "!stats": "/stats", "!important read this": "!important read this", "!9": "!9", "no !stop": "no !stop", "!": "!"} {
		r.say(t, dm, ann, typed, sim.SayOptions{ThreadTS: root.TS})
		if m := x.said(); m.Text != want || m.Address.Thread != root.TS {
			t.Errorf("%q came as %q in %s", typed, m.Text, m.Address.Thread)
		}
	}
}

func TestS16_AMentionIsWhatSlackCallsSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	r.inject(t, `{"type":"app_mention","channel":"C0GENERAL","user":"U0ANN","ts":"1700000000.000100","text":"the name stands in a block"}`)
	if m := x.next(); m.Kind != channels.Said || !m.Mentioned {
		t.Errorf("%+v", m)
	}
}
