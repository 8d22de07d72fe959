package slack_test

import (
	"strings"
	"testing"

	"parley/channels"
	sim "parley/simulators/slack"
)

func TestS22_AnAnswerCallsNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	r.say(t, general, ann, "<@"+botUser+"> call all", sim.SayOptions{Raw: true})
	m := x.said()
	for _, b := range x.Render("<!channel> <!here> <@U0BOB> <!subteam^S1|@x> & `<!channel>`\n\n```\n<@U0BOB>\n``` @here and @ann, https://a.example/?secret.png") {
		sent, err := x.Send(t.Context(), channels.Reply{To: m.Address, Body: b})
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Edit(t.Context(), m.Address, sent.MessageID, b); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range r.Books().Messages {
		for _, v := range m.Versions {
			if len(v.Pings) != 0 {
				t.Errorf("%s: %q pings %v", v.Method, v.Shown, v.Pings)
			}
			// Slack asks for what it shows, and with it says what the model wrote there.
			if len(v.Unfurls) != 0 {
				t.Errorf("%s: %q has Slack ask for %v", v.Method, v.Shown, v.Unfurls)
			}
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
	sent, err := x.Send(t.Context(), channels.Reply{To: m.Address, Body: x.Render("one")[0]})
	if err != nil {
		t.Fatal(err)
	}
	r.plan(t, sim.Fault{Trouble: sim.BlocksRefused, Method: "chat.update", Next: 1})
	if err := x.Edit(t.Context(), m.Address, sent.MessageID, x.Render("**two**")[0]); err != nil {
		t.Errorf("an edit: %v", err)
	}
	ms := r.Books().Messages
	if last := ms[len(ms)-1]; len(last.Versions) != 2 || last.Versions[1].Text != "*two*" || len(last.Versions[1].Blocks) > 2 {
		t.Errorf("the edit shows %+v", last.Versions)
	}
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
			sent, err := x.StartStream(t.Context(), channels.Reply{To: m.Address, Body: body(x, "one two"), ID: "t/preview"})
			if err != nil {
				t.Fatal(err)
			}
			streamed := r.Books().Messages[0].Stream != ""
			if streamed == c.skip {
				t.Errorf("streamed: %v", streamed)
			}
			if err := x.UpdateStream(t.Context(), m.Address, sent.MessageID, body(x, "one two three")); err != nil {
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
			sent, err := x.StartStream(t.Context(), channels.Reply{To: m.Address, Body: x.Render("one two")[0], ID: "t/preview"})
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
				if err := end.EndStream(t.Context(), m.Address, sent.MessageID); err != nil {
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
	sent, err := x.StartStream(t.Context(), channels.Reply{To: m.Address, Body: x.Render("one two")[0], ID: "t/preview"})
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
	for _, sentence := range []string{"One & [two](https://example.org/a?b=1&c=2) three. ", "Раз & [два](https://example.org/a?b=1&c=2) три. "} {
		t.Run(sentence[:5], func(t *testing.T) {
			t.Parallel()
			editLong(t, strings.Repeat(sentence, 150))
		})
	}
}

func editLong(t *testing.T, text string) {
	t.Helper()
	r := newRig(t)
	x := r.run(t)
	r.say(t, r.dm(t, ann), ann, "hello", sim.SayOptions{})
	m := x.said()
	body := x.Render(text)[0]
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
	if n := len(edited); n > 4000 || n < 3800 || !strings.HasSuffix(edited, "…") || !strings.HasPrefix(body.Text, strings.TrimSuffix(edited, "…")) {
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

// Slack refuses threads that are locked, and those of channels in which there are none; beside them
// the channel takes messages.
func TestAnAnswerGoesBesideAThreadThatTakesNone(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"restricted_action_non_threadable_channel", "restricted_action_thread_locked", "thread_locked"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.plan(t, sim.Fault{Trouble: sim.Refused, Method: "chat.postMessage", Error: word, Next: 1})
			x := r.run(t)
			r.say(t, r.dm(t, ann), ann, "hello", sim.SayOptions{})
			to := x.said().Address
			to.Thread = "1700000000.000100"
			if _, err := x.Send(t.Context(), channels.Reply{To: to, Body: x.Render("here")[0]}); err != nil {
				t.Fatal(err)
			}
			ms := r.Books().Messages
			if last := ms[len(ms)-1]; last.Text() != "here" || last.ThreadTS != "" {
				t.Errorf("it was sent as %+v", last)
			}
		})
	}
}
