package channeltest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/channels"
)

// startChat lets the person write first and gives the place to answer in.
func startChat(t *testing.T, rig Harness) (channels.Channel, channels.Message) {
	t.Helper()
	ch := rig.Open(t)
	r := startReceive(t, ch, nil)
	rig.Say(t, "Ann", "hello")
	m := r.next()
	r.stop()
	return ch, m
}

func kindOf(err error) channels.ErrorKind {
	var e *channels.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func testRateLimit(t *testing.T, rig Harness, _ Features) {
	ch, m := startChat(t, rig)
	rig.LimitNext(t, 7*time.Second)
	_, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "hi"}})
	var e *channels.Error
	if !errors.As(err, &e) || e.Kind != channels.RateLimit || e.RetryAfter != 7*time.Second {
		t.Errorf("Send gave %v, want a rate limit of 7s", err)
	}
	if sent := rig.Sent(); len(sent) != 0 {
		t.Errorf("sent %q", sent)
	}
}

func testRender(t *testing.T, rig Harness, _ Features) {
	ch, m := startChat(t, rig)
	md := "# Title\n\n**bold** and `code`\n\n```go\nx := 1\n```\n\n" + strings.Repeat("A sentence of some words. 😀 ", 400) + "\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
	bodies := ch.Render(md)
	if len(bodies) < 2 {
		t.Fatalf("%d messages", len(bodies))
	}
	var want []string
	for _, b := range bodies {
		receipt, err := ch.Send(t.Context(), channels.Reply{To: m.Address, ReplyTo: m.MessageID, Body: b})
		if err != nil {
			t.Fatal(err)
		}
		if receipt.MessageID == "" {
			t.Error("a receipt without an id")
		}
		want = append(want, b.Text)
	}
	if got := rig.Sent(); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	for _, md := range []string{"", " \n", "\u200b"} {
		if bodies := ch.Render(md); len(bodies) != 0 {
			t.Errorf("Render(%q) = %v, want none", md, bodies)
		}
	}
}

func testLostAnswer(t *testing.T, rig Harness) {
	ch, m := startChat(t, rig)
	rig.LoseNextAnswer(t)
	_, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "once"}})
	if kindOf(err) != channels.Ambiguous {
		t.Errorf("Send gave %v, want an ambiguous error", err)
	}
	if sent := rig.Sent(); !slices.Equal(sent, []string{"once"}) {
		t.Errorf("sent %q, want it once", sent)
	}
}

func testEdit(t *testing.T, rig Harness) {
	ch, m := startChat(t, rig)
	e, ok := ch.(channels.Editor)
	if !ok {
		t.Fatal("the channel cannot edit")
	}
	receipt, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "one"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := e.Edit(t.Context(), m.Address, receipt.MessageID, channels.Body{Text: "two"}); err != nil {
			t.Error(err)
		}
	}
}

func testTyping(t *testing.T, rig Harness) {
	ch, m := startChat(t, rig)
	y, ok := ch.(channels.Typer)
	if !ok {
		t.Fatal("the channel cannot show typing")
	}
	if err := y.ShowTyping(t.Context(), m.Address); err != nil {
		t.Error(err)
	}
	if y.TypingDuration() <= 0 {
		t.Error("typing never fades")
	}
}

func testFind(t *testing.T, rig Harness) {
	ch, m := startChat(t, rig)
	f, ok := ch.(channels.Finder)
	if !ok {
		t.Fatal("the channel cannot find")
	}
	since := time.Now()
	rig.LoseNextAnswer(t)
	reply := channels.Reply{To: m.Address, Body: channels.Body{Text: "once"}, ID: "answer/0"}
	if _, err := ch.Send(t.Context(), reply); kindOf(err) != channels.Ambiguous {
		t.Fatalf("Send gave %v, want an ambiguous error", err)
	}
	r, found, err := f.Find(t.Context(), m.Address, "answer/0", since)
	if err != nil || !found || r.MessageID == "" {
		t.Errorf("Find gave %+v, %v, %v", r, found, err)
	}
	if r, found, err = f.Find(t.Context(), m.Address, "answer/1", since); found || err != nil {
		t.Errorf("Find of what was never sent gave %+v, %v, %v", r, found, err)
	}
}

func testStream(t *testing.T, rig Harness) {
	ch, m := startChat(t, rig)
	s, ok := ch.(channels.Streamer)
	if !ok {
		t.Fatal("the channel cannot stream")
	}
	e, ok := ch.(channels.Editor)
	if !ok {
		t.Fatal("a channel that streams must edit")
	}
	body := func(md string) channels.Body { return ch.Render(md)[0] }
	r, err := s.StartStream(t.Context(), channels.Reply{To: m.Address, Body: body("one "), ID: "turn/preview"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.UpdateStream(t.Context(), m.Address, r.MessageID, body("one two ")); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := e.Edit(t.Context(), m.Address, r.MessageID, body("one two three")); err != nil {
			t.Error(err)
		}
	}
	// What gets no answer ends as it stands, in whatever process.
	r, err = s.StartStream(t.Context(), channels.Reply{To: m.Address, Body: body("four five"), ID: "turn2/preview"})
	if err != nil {
		t.Fatal(err)
	}
	next, _ := rig.Open(t).(channels.Streamer)
	for _, s := range []channels.Streamer{s, s, next} {
		if err := s.EndStream(t.Context(), m.Address, r.MessageID); err != nil {
			t.Error(err)
		}
	}
	if sent := rig.Sent(); len(sent) != 2 || sent[0] != "one two three" || sent[1] == "" || !strings.HasPrefix("four five", strings.TrimSpace(sent[1])) {
		t.Errorf("sent %q", sent)
	}
}

// testSplitStream: a text that begins anew stands in a message of its own, behind all of what
// was said before; or it takes the place of that.
func testSplitStream(t *testing.T, rig Harness) {
	ch, m := startChat(t, rig)
	s, e := ch.(channels.Streamer), ch.(channels.Editor)
	body := func(md string) channels.Body { return ch.Render(md)[0] }
	r, err := s.StartStream(t.Context(), channels.Reply{To: m.Address, Body: body("one two"), ID: "turn/preview"})
	if err != nil {
		t.Fatal(err)
	}
	left, err := s.SplitStream(t.Context(), m.Address, r.MessageID, body("one two three"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"four five"}
	if left {
		want = []string{"one two three", "four five"}
		if r, err = s.StartStream(t.Context(), channels.Reply{To: m.Address, Body: body("four"), ID: "turn/preview"}); err != nil {
			t.Fatal(err)
		}
	} else if err := s.UpdateStream(t.Context(), m.Address, r.MessageID, body("four")); err != nil {
		t.Fatal(err)
	}
	if err := e.Edit(t.Context(), m.Address, r.MessageID, body("four five")); err != nil {
		t.Error(err)
	}
	if sent := rig.Sent(); !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}
