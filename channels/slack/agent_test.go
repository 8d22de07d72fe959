package slack_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/slack"
	"parley/sessionkeys"
	sim "parley/simulators/slack"
)

// installed gives the app the scopes, events, commands and surface of a manifest.
func installed(t testing.TB, a *sim.App, o slack.ManifestOptions) {
	t.Helper()
	m, err := slack.Manifest(o)
	if err != nil {
		t.Fatal(err)
	}
	made, err := sim.Create(m)
	if err != nil {
		t.Fatal(err)
	}
	a.Scopes, a.Events, a.Commands, a.AgentView = made.Scopes, made.Events, made.Commands, made.AgentView
}

// session is the session of a thread, as it stands.
func (r *fixture) session(thread string) sim.SessionEntry {
	for _, e := range r.Books().Sessions {
		if e.ThreadTS == thread {
			return e
		}
	}
	return sim.SessionEntry{}
}

// firstday S2: what is written outside of a thread begins one, and the thread is the
// conversation; answers, status and stream are in it.
func TestInTheAgentViewEachMessageOutsideOfAThreadBeginsOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	dm := r.dm(t, ann)
	root := r.say(t, dm, ann, "one", sim.SayOptions{})
	first := x.said()
	r.say(t, dm, ann, "and more", sim.SayOptions{ThreadTS: root.TS})
	more := x.said()
	other := r.say(t, dm, ann, "two", sim.SayOptions{})
	second := x.said()
	if first.Address.Thread != root.TS || first.Address.Kind != sessionkeys.DM || more.Address != first.Address || second.Address.Thread != other.TS {
		t.Fatalf("they are of %+v, %+v and %+v", first.Address, more.Address, second.Address)
	}
	if err := x.ShowTyping(t.Context(), first.Address); err != nil {
		t.Fatal(err)
	}
	if s := r.session(root.TS); s.Status != "processing" {
		t.Errorf("while it works its session is %+v", s)
	}
	sent, err := x.StartStream(t.Context(), channels.Reply{To: first.Address, Body: x.Render("an answer that grows")[0]})
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Books().Messages[0]; m.ThreadTS != root.TS || m.Stream != "streaming" {
		t.Errorf("the answer is %+v", m)
	}
	if err := x.Edit(t.Context(), first.Address, sent.MessageID, x.Render("an answer that grows to its end")[0]); err != nil {
		t.Error(err)
	}
	if s := r.session(root.TS); s.Status != "active" {
		t.Errorf("after the answer its session is %+v", s)
	}
	if s := r.session(other.TS); s.Status != "" {
		t.Errorf("the other has a session: %+v", s)
	}
	// An edit of the root is of the same conversation.
	if _, err := r.Edit(dm.ID, root.TS, "one!", sim.SayOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		if m := x.next(); m.Kind == channels.Edited {
			if m.Address != first.Address {
				t.Errorf("an edit is of %+v", m.Address)
			}
			break
		}
	}
}

// firstday S2: who opens the app is shown what could be asked; what they look at is
// nothing that is said.
func TestWhoOpensAnAgentIsSuggestedWhatToAsk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t, func(o *slack.Options) { o.Prompts = []string{"What can you do?"} })
	said, err := r.OpenAssistant("parley", ann, sim.Context{})
	if err != nil {
		t.Fatal(err)
	}
	if m := x.next(); m.Kind != channels.Unhandled || m.Sender.ID != ann.ID || m.Address.Kind != sessionkeys.DM {
		t.Errorf("it came as %+v", m)
	}
	r.until(t, func(b sim.Book) bool {
		return slices.ContainsFunc(b.Signals, func(s sim.SignalEntry) bool {
			return s.Kind == "prompts" && s.Channel == said.Channel && s.ThreadTS == "" && strings.Contains(string(s.Payload), "What can you do?")
		})
	})
	if _, err := r.ChangeContext("parley", ann, "", sim.Context{ChannelID: general.ID}); err != nil {
		t.Fatal(err)
	}
	if m := x.next(); m.Kind != channels.Unhandled || m.Sender.ID != ann.ID {
		t.Errorf("what they look at came as %+v", m)
	}
}

// firstday S8: whatever ends the work, the session does not stay in processing.
func TestTheSessionOfAnAgentEndsWithTheWork(t *testing.T) {
	t.Parallel()
	body := func(x *running, md string) channels.Body { return x.Render(md)[0] }
	for name, work := range map[string]func(t *testing.T, r *fixture, x *running, at sessionkeys.Address){
		"an answer that is simply sent": func(t *testing.T, _ *fixture, x *running, at sessionkeys.Address) {
			if _, err := x.Send(t.Context(), channels.Reply{To: at, Body: body(x, "done")}); err != nil {
				t.Error(err)
			}
		},
		"an answer that grew by edits": func(t *testing.T, _ *fixture, x *running, at sessionkeys.Address) {
			sent, err := x.StartStream(t.Context(), channels.Reply{To: at, Body: body(x, "one two"), Repeat: true}) // which is not streamed
			if err == nil {
				err = x.ShowTyping(t.Context(), at)
			}
			if err == nil {
				err = x.Edit(t.Context(), at, sent.MessageID, body(x, "one two three"))
			}
			if err != nil {
				t.Error(err)
			}
		},
		"a stream that somebody stopped, and what is said of it": func(t *testing.T, r *fixture, x *running, at sessionkeys.Address) {
			sent, err := x.StartStream(t.Context(), channels.Reply{To: at, Body: body(x, "one two")})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.StopStreams(ann, at.Peer, at.Thread); err != nil {
				t.Fatal(err)
			}
			if m := x.said(); m.Text != "/stop" || m.Address != at {
				t.Errorf("the button came as %+v", m)
			}
			if err := x.EndStream(t.Context(), at, sent.MessageID); err != nil {
				t.Error(err)
			}
		},
		"a stream that expired": func(t *testing.T, r *fixture, x *running, at sessionkeys.Address) {
			r.plan(t, sim.Fault{Trouble: sim.StreamExpired, Method: "chat.stopStream", Next: 1})
			sent, err := x.StartStream(t.Context(), channels.Reply{To: at, Body: body(x, "one two")})
			if err == nil {
				err = x.Edit(t.Context(), at, sent.MessageID, body(x, "one two three"))
			}
			if err != nil {
				t.Error(err)
			}
		},
		"an answer of another process": func(t *testing.T, r *fixture, x *running, at sessionkeys.Address) {
			x.stop()
			if _, err := r.open(t).Send(t.Context(), channels.Reply{To: at, Body: body(x, "done")}); err != nil {
				t.Error(err)
			}
		},
		"Slack wants to wait with the end": func(t *testing.T, r *fixture, x *running, at sessionkeys.Address) {
			r.plan(t, sim.Fault{Trouble: sim.Unavailable, Method: "agents.sessions.setStatus", Next: 1})
			for range 2 {
				if _, err := x.Send(t.Context(), channels.Reply{To: at, Body: body(x, "done")}); err != nil {
					t.Error(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			x := r.run(t)
			root := r.say(t, r.dm(t, ann), ann, "work", sim.SayOptions{})
			m := x.said()
			if err := x.ShowTyping(t.Context(), m.Address); err != nil {
				t.Fatal(err)
			}
			work(t, r, x, m.Address)
			if s := r.session(root.TS); s.Status != "active" {
				t.Errorf("the session is %+v", s)
			}
		})
	}
}

// firstday S5: in a channel an answer grows by edits, which everybody sees.
func TestInAChannelEverybodySeesAnAnswerGrow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	r.say(t, general, ann, "<@"+botUser+"> grow", sim.SayOptions{Raw: true})
	m := x.said()
	r.until(t, func(b sim.Book) bool { return b.Totals.Acknowledged >= 1 })
	sent, err := x.StartStream(t.Context(), channels.Reply{To: m.Address, Body: x.Render("one two")[0]})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.UpdateStream(t.Context(), m.Address, sent.MessageID, x.Render("one two three")[0]); err != nil {
		t.Fatal(err)
	}
	if got := r.Books().Messages[0]; strings.TrimSpace(got.TextFor(bob)) != "one two three" || got.Stream != "" {
		t.Errorf("Bob sees %q of a stream %q", got.TextFor(bob), got.Stream)
	}
}

// firstday S7: a stream is for the person, and they are of their own workspace.
func TestAStreamNamesThePersonsOwnTeam(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	far := sim.Person{ID: "U0FAR", Name: "far", Team: "T0ELSEWHERE"}
	r.say(t, r.dm(t, far), far, "hello", sim.SayOptions{})
	m := x.said()
	r.until(t, func(b sim.Book) bool { return b.Totals.Acknowledged >= 1 })
	if _, err := x.StartStream(t.Context(), channels.Reply{To: m.Address, Body: x.Render("one two")[0]}); err != nil {
		t.Fatal(err)
	}
	if got := r.Books().Messages[0]; got.Stream != "streaming" {
		t.Errorf("it is %+v", got)
	}
}

// firstday S9: of a thread come the newest words of others, bounded, when the bot is
// asked there, and not what it said itself or was told before.
func TestAMentionInAThreadBringsWhatWasSaidThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t, func(o *slack.Options) { o.Around, o.MentionsOnly = 3, true })
	fetch := func(m channels.Message) (texts []string) {
		t.Helper()
		if m.Around == "" {
			return nil
		}
		var b strings.Builder
		if err := x.Fetch(t.Context(), m.Address, channels.Attachment{Kind: channels.Around, Ref: m.Around}, &b); err != nil {
			t.Fatal(err)
		}
		var qs []channels.Quote
		if err := json.Unmarshal([]byte(b.String()), &qs); err != nil {
			t.Fatal(err)
		}
		for _, q := range qs {
			if !q.Untrusted || q.Author.ID != bob.ID {
				t.Errorf("%+v", q)
			}
			texts = append(texts, q.Text[:min(len(q.Text), 4)])
		}
		return texts
	}
	named := func() channels.Message {
		t.Helper()
		for {
			if m := x.said(); m.Around != "" || strings.HasPrefix(m.Text, "ask") {
				return m
			}
		}
	}
	root := r.say(t, general, bob, "zero", sim.SayOptions{})
	in := sim.SayOptions{ThreadTS: root.TS, Raw: true}
	for _, text := range []string{"one1", "two2", "thre" + strings.Repeat("e", 5000), "four"} {
		r.say(t, general, bob, text, in)
	}
	r.say(t, general, ann, "<@"+botUser+"> ask", in)
	m := named()
	if got := fetch(m); !slices.Equal(got, []string{"two2", "thre", "four"}) {
		t.Errorf("it brings %q", got)
	}
	r.until(t, func(b sim.Book) bool { return b.Pending["parley"] == 0 })
	if _, err := x.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "mine"}}); err != nil {
		t.Fatal(err)
	}
	r.say(t, general, bob, "five", in)
	r.say(t, general, ann, "<@"+botUser+"> ask again", in)
	if got := fetch(named()); !slices.Equal(got, []string{"five"}) {
		t.Errorf("then it brings %q", got)
	}
	r.say(t, general, ann, "<@"+botUser+"> ask elsewhere", sim.SayOptions{Raw: true})
	if m := named(); m.Around != "" {
		t.Errorf("outside of a thread it brings %s", m.Around)
	}
}
