package slack_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
	for name, bring := range map[string]func(r *rig){
		"a post": func(r *rig) { r.say(t, r.dm(t, ann), ann, "hello", sim.SayOptions{}) },
		"what is known by its event_id": func(r *rig) {
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

func TestS19_AConnectionIsReplacedBeforeItEndsAndNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			x := r.run(t)
			dm := r.dm(t, ann)
			for n := range 5 {
				r.say(t, dm, ann, fmt.Sprint(n), sim.SayOptions{})
				if m := x.said(); m.Text != fmt.Sprint(n) {
					t.Fatalf("event %d is %q", n, m.Text)
				}
				if _, err := r.Disconnect("parley", reason); err != nil {
					t.Fatal(err)
				}
				r.until(t, func(b sim.Book) bool { return b.Totals.Connections == n+2 && b.Connected["parley"] == 1 })
			}
			for i, c := range r.Books().Connections {
				if i > 0 && c.Beside != 2 {
					t.Errorf("connection %d was opened beside %d others: the one before had ended", i, c.Beside-1)
				}
			}
		})
	}
}

func TestS19_ATokenThatIsNoGoodEndsReceiveWithOneError(t *testing.T) {
	t.Parallel()
	for method, code := range map[string]string{"auth.test": "invalid_auth", "apps.connections.open": "token_revoked"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.plan(t, sim.Fault{Trouble: sim.Refused, Method: method, Error: code})
			x := r.run(t)
			err := <-x.ended
			if kindOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), "is no good") {
				t.Errorf("Receive gave %v", err)
			}
			x.ended <- nil
		})
	}
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
	if err := r.Delete(dm.ID, said.TS); err != nil {
		t.Fatal(err)
	}
	if m := x.next(); m.Kind != channels.Unhandled {
		t.Errorf("a deletion came as %+v", m)
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
	r.say(t, general, sim.Person{ID: "U0BOT", Name: "robot", IsBot: true}, "<@"+botUser+"> beep", sim.SayOptions{Raw: true})
	if m := x.next(); !m.Sender.Bot || m.Text != "beep" {
		t.Errorf("beside our own posts came %+v", m)
	}
	r.until(t, func(b sim.Book) bool { return b.Pending["parley"] == 0 })
}

func TestS22_AnAnswerCallsNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	r.say(t, general, ann, "<@"+botUser+"> call all", sim.SayOptions{Raw: true})
	m := x.said()
	for _, b := range x.Render("<!channel> <!here> <@U0BOB> <!subteam^S1|@x> & `<!channel>`\n\n```\n<@U0BOB>\n```") {
		if _, err := x.Send(t.Context(), channels.Reply{To: m.Address, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range r.Books().Messages {
		if v := m.Versions[0]; len(v.Pings) != 0 {
			t.Errorf("%q pings %v", v.Shown, v.Pings)
		}
	}
}

func TestS23_ARefusedBlockIsSentAsText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.plan(t, sim.Fault{Trouble: sim.BlocksRefused, Method: "chat.postMessage", Next: 1})
	x := r.run(t)
	r.say(t, r.dm(t, ann), ann, "hello", sim.SayOptions{})
	m := x.said()
	table := "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
	for _, b := range x.Render(table + table + strings.Repeat("A sentence of words. ", 1200)) {
		if _, err := x.Send(t.Context(), channels.Reply{To: m.Address, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	ms := r.Books().Messages
	if len(ms) < 4 || len(ms[0].Versions[0].Blocks) > 2 || len(ms[1].Versions[0].Blocks) < 10 {
		t.Errorf("%d messages; the first with blocks %s", len(ms), ms[0].Versions[0].Blocks)
	}
}

func TestS24_AStreamThatEndsByItselfIsMendedByAnEdit(t *testing.T) {
	t.Parallel()
	body := func(x *running, md string) channels.Body { return x.Render(md)[0] }
	for name, c := range map[string]struct {
		fault sim.Fault
		skip  bool // begins as a post
	}{
		"not there":            {sim.Fault{Trouble: sim.Refused, Method: "chat.startStream", Error: "unknown_method"}, true},
		"expired":              {sim.Fault{Trouble: sim.StreamExpired, Method: "chat.appendStream", Next: 1}, false},
		"stopped by a person":  {sim.Fault{Trouble: sim.StreamStopped, Method: "chat.stopStream", Next: 1}, false},
		"its end is not known": {sim.Fault{Trouble: sim.Ambiguous, Method: "chat.stopStream", Next: 1}, false},
		"nothing goes wrong":   {sim.Fault{Trouble: sim.Slow, Method: "chat.startStream", Next: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.plan(t, c.fault)
			x := r.run(t)
			r.say(t, r.dm(t, ann), ann, "grow", sim.SayOptions{})
			m := x.said()
			r.until(t, func(b sim.Book) bool { return b.Totals.Acknowledged >= 1 }) // it is known who asked
			sent, err := x.Begin(t.Context(), channels.Reply{To: m.Address, Body: body(x, "one two"), ID: "t/preview"})
			if err != nil {
				t.Fatal(err)
			}
			streamed := r.Books().Messages[0].Stream != ""
			if streamed == c.skip {
				t.Errorf("streamed: %v", streamed)
			}
			if err := x.Grow(t.Context(), m.Address, sent.MessageID, body(x, "one two three")); err != nil {
				t.Error(err)
			}
			for range 2 { // in doubt an edit is repeated
				if err = x.Edit(t.Context(), m.Address, sent.MessageID, body(x, "one two three four")); err == nil {
					break
				}
			}
			if err != nil {
				t.Error(err)
			}
			ms := r.Books().Messages
			if len(ms) != 1 || strings.TrimSpace(ms[0].Text()) != "one two three four" {
				t.Errorf("it ends as %q of %d", ms[0].Text(), len(ms))
			}
		})
	}
}

// A turn that gets no answer, or a process that was killed, leaves no stream open.
func TestS24_AStreamThatGetsNoAnswerIsEnded(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"the same process", "another process"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			x := r.run(t)
			r.say(t, r.dm(t, ann), ann, "grow", sim.SayOptions{})
			m := x.said()
			r.until(t, func(b sim.Book) bool { return b.Totals.Acknowledged >= 1 }) // it is known who asked
			sent, err := x.Begin(t.Context(), channels.Reply{To: m.Address, Body: x.Render("one two")[0], ID: "t/preview"})
			if err != nil {
				t.Fatal(err)
			}
			if s := r.Books().Messages[0].Stream; s != "streaming" {
				t.Fatalf("the stream is %q", s)
			}
			end := x.Channel
			if by == "another process" {
				end = r.open(t)
			}
			for range 2 {
				if err := end.End(t.Context(), m.Address, sent.MessageID); err != nil {
					t.Error(err)
				}
			}
			if s := r.Books().Messages[0]; s.Stream != "completed" || strings.TrimSpace(s.Text()) != "one" {
				t.Errorf("it is left as %q, %q", s.Stream, s.Text())
			}
		})
	}
}

// The answer goes into a stream of a process that was killed.
func TestS24_AStreamThatAKilledProcessLeftOpenIsEndedByTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	r.say(t, r.dm(t, ann), ann, "grow", sim.SayOptions{})
	m := x.said()
	r.until(t, func(b sim.Book) bool { return b.Totals.Acknowledged >= 1 }) // it is known who asked
	sent, err := x.Begin(t.Context(), channels.Reply{To: m.Address, Body: x.Render("one two")[0], ID: "t/preview"})
	if err != nil {
		t.Fatal(err)
	}
	next := r.open(t)
	if err := next.Edit(t.Context(), m.Address, sent.MessageID, next.Render("one two three")[0]); err != nil {
		t.Error(err)
	}
	if s := r.Books().Messages; len(s) != 1 || s[0].Stream != "completed" || s[0].Text() != "one two three" {
		t.Errorf("it is left as %+v", s)
	}
}

// chat.update takes less text than chat.postMessage; what stands in a block is not
// cut. Without a block nothing may be cut, so the edit is refused, and the answer
// is sent as a message.
func TestAnEditKeepsToTheLengthThatSlackTakes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	r.say(t, r.dm(t, ann), ann, "hello", sim.SayOptions{})
	m := x.said()
	body := x.Render(strings.Repeat("One & [two](https://example.org/a?b=1&c=2) three. ", 150))[0]
	if len(body.Text) <= 4000 {
		t.Fatalf("%d characters are not long", len(body.Text))
	}
	sent, err := x.Send(t.Context(), channels.Reply{To: m.Address, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Edit(t.Context(), m.Address, sent.MessageID, body); err != nil {
		t.Error(err)
	}
	versions := r.Books().Messages[0].Versions
	if len(versions) != 2 || versions[1].Shown != versions[0].Shown || versions[0].Text != body.Text {
		t.Fatalf("%d versions; the edit shows %q", len(versions), versions[len(versions)-1].Shown)
	}
	edited := versions[1].Text
	if n := utf8.RuneCountInString(edited); n > 4000 || n < 3800 || !strings.HasSuffix(edited, "…") || !strings.HasPrefix(body.Text, strings.TrimSuffix(edited, "…")) {
		t.Errorf("%d characters: %q", n, edited)
	}
	if strings.Count(edited, "<") != strings.Count(edited, ">") || body.Text[len(edited)-len("…")] != ' ' {
		t.Errorf("half a word or half a link at its end: %q", edited[len(edited)-60:])
	}
	r.plan(t, sim.Fault{Trouble: sim.BlocksRefused, Method: "chat.update", Next: 1})
	if err := x.Edit(t.Context(), m.Address, sent.MessageID, body); kindOf(err) != channels.Refused {
		t.Errorf("an edit without a block gave %v", err)
	}
	if n := len(r.Books().Messages[0].Versions); n != 2 {
		t.Errorf("there are %d versions", n)
	}
}

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

func TestS25_AFileThatMayNotBeReadIsAClearError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t, func(o *slack.Options) {
		o.HTTPClient = &http.Client{Transport: signIn{}}
	})
	r.say(t, r.dm(t, ann), ann, "a file", sim.SayOptions{Files: []sim.File{{Name: "a.txt", Mimetype: "text/plain", Data: []byte("content"), External: true}}})
	m := x.said()
	var b strings.Builder
	err := x.Fetch(t.Context(), m.Address, m.Attachments[0], &b)
	if kindOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), "files:read") || b.Len() != 0 {
		t.Errorf("Fetch gave %q, %v", b.String(), err)
	}
}

// signIn answers downloads with the page for signing in.
type signIn struct{}

func (signIn) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return &http.Response{
			StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
			Body: io.NopCloser(strings.NewReader("<!doctype html><title>Sign in</title>")), Request: req,
		}, nil
	}
	return http.DefaultTransport.RoundTrip(req)
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

func TestTokensAreNowhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	r.say(t, r.dm(t, ann), ann, "hello", sim.SayOptions{})
	m := x.said()
	r.plan(t, sim.Fault{Trouble: sim.Refused, Method: "chat.postMessage", Error: "no_" + botToken})
	_, err := x.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "x"}})
	for _, s := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", x.Channel), fmt.Sprintf("%#v", err)} {
		if i := slices.IndexFunc([]string{botToken, appToken, signing}, func(c string) bool { return strings.Contains(s, c) }); i >= 0 {
			t.Errorf("a secret is in %.200q", s)
		}
	}
}

func kindOf(err error) channels.ErrorKind {
	if e, ok := err.(*channels.Error); ok { //nolint:errorlint // the adapter's own
		return e.Kind
	}
	return ""
}

// abuse M7: for strangers Slack is asked nothing.
func TestNothingIsAskedForAStranger(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t, func(o *slack.Options) {
		o.Heeds = func(_ context.Context, m channels.Message) bool { return strings.HasSuffix(m.Sender.ID, ann.ID) }
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
	r.say(t, general, ann, "hello", sim.SayOptions{ThreadTS: root.TS})
	if m := x.said(); m.Sender.Name == "" {
		t.Errorf("%+v", m)
	}
}
