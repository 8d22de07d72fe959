package telegram_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley/channels"
	"parley/channels/telegram"
	"parley/runtest"
	"parley/sessionkeys"
	sim "parley/simulators/telegram"
)

// listen receives in the background; what comes is in the channel.
func listen(t *testing.T, ch *telegram.Channel) <-chan channels.Message {
	t.Helper()
	events := make(chan channels.Message, 256)
	runtest.Start(t, "Receive", func(ctx context.Context) error {
		return ch.Receive(ctx, func(_ context.Context, m channels.Message) error {
			events <- m
			return nil
		})
	})
	return events
}

func next(t *testing.T, events <-chan channels.Message) channels.Message {
	t.Helper()
	select {
	case m := <-events:
		return m
	case <-time.After(time.Minute):
		t.Fatal("no event came")
		panic("unreachable")
	}
}

// join makes the bot a member of a group and takes the event of that.
func join(t *testing.T, r *fixture, events <-chan channels.Message, c sim.Chat) {
	t.Helper()
	if _, err := r.SetStanding(c, ann, "Parley_bot", "member"); err != nil {
		t.Fatal(err)
	}
	if m := next(t, events); m.Kind != channels.Membership || m.Closed {
		t.Fatalf("joining gave %+v", m)
	}
}

func wrong(err error) *channels.Error {
	var e *channels.Error
	if !errors.As(err, &e) {
		return &channels.Error{Err: err}
	}
	return e
}

func TestRow02_AnUpdateOfANewTypeSpoilsNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := listen(t, r.open(t))
	for _, raw := range []string{
		`{"message":{"message_id":5,"date":1,"chat":{"id":1001,"type":"private"},"from":{"id":1001},"paid_media":{"paid_media":[{"type":"live_photo"}]},"text":"new media"}}`,
		`{"subscription":{"user":{"id":1}}}`,
		`{"message":{"message_id":6,"chat":{"id":1001,"type":"hologram"}}}`,
		`{"message":"no object"}`,
		`{"message":{"message_id":7,"date":1,"chat":{"id":9007199254740993,"type":"private"},"from":{"id":9007199254740993},"text":"last"}}`,
	} {
		if _, err := r.Inject("", json.RawMessage(raw)); err != nil {
			t.Fatal(err)
		}
	}
	var came []channels.Message
	for range 5 {
		came = append(came, next(t, events))
	}
	slices.SortFunc(came, func(a, b channels.Message) int { return strings.Compare(a.Event, b.Event) })
	for i, want := range []channels.EventKind{channels.Said, channels.Unhandled, channels.Unreadable, channels.Unreadable, channels.Said} {
		m := came[i]
		if m.Kind != want {
			t.Errorf("event %d is %+v, want %s", i, m, want)
		}
		if want == channels.Unreadable && (len(m.Raw) == 0 || m.Problem == "" || m.Address.Peer != "") {
			t.Errorf("event %d is %+v", i, m)
		}
		if i == 4 && (m.Address.Peer != "9007199254740993" || m.Sender.ID != "9007199254740993") {
			t.Errorf("a large id came as %+v", m)
		}
	}
	if err := r.AwaitAcknowledged(t.Context(), 5); err != nil {
		t.Error(err)
	}
}

func TestAnAnswerThatIsNotJSONIsNarrowedDownToTheUpdateThatSpoilsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := listen(t, r.open(t))
	r.Say(t, "Ann", "before")
	next(t, events)
	if _, err := r.Inject("", json.RawMessage(`{"message": oops`)); err != nil {
		t.Fatal(err)
	}
	r.Say(t, "Ann", "after")
	if m := next(t, events); m.Kind != channels.Unreadable || !json.Valid(m.Raw) {
		t.Errorf("got %+v", m)
	}
	if m := next(t, events); m.Text != "after" {
		t.Errorf("got %+v", m)
	}
}

func TestRow06_AGroupThatMovesIsToldByEventAndByRefusal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	events := listen(t, ch)
	join(t, r, events, team)
	moved, _, err := r.Migrate(team, ann)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // told in the old group and in the new one
		m := next(t, events)
		if m.Kind != channels.Migrated || m.Address.Peer != "-500" || m.MovedTo != decimal(moved.ID) || m.Address.Kind != sessionkeys.Group {
			t.Errorf("got %+v", m)
		}
	}
	_, err = ch.Send(t.Context(), to(team.ID, "", "hi"))
	if e := wrong(err); e.Kind != channels.Moved || e.MovedTo != decimal(moved.ID) {
		t.Errorf("Send gave %v", err)
	}
}

func TestRow07_LongAnswersArePartsThatTelegramTakes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t, func(o *telegram.Options) { o.MessageUnits = 4096 })
	events := listen(t, ch)
	r.Say(t, "Ann", "hi")
	m := next(t, events)
	lines := strings.Repeat("x := \"😀👨‍👩‍👧‍👦\" // a line\n", 400)
	for _, md := range []string{
		"**" + strings.Repeat("😀", 5000) + "**",
		"Look:\n\n```go\n" + lines + "```\n\nThat was it.",
		strings.Repeat("word ", 2000) + "[link](https://example.org)",
	} {
		before := len(r.Books().Messages)
		bodies := ch.Render(md)
		for i, b := range bodies {
			// A repeat is longer by its mark.
			if _, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: b, Repeat: true}); err != nil {
				t.Errorf("part %d of %d: %v", i, len(bodies), err)
			}
		}
		sent := r.Books().Messages[before:]
		if len(sent) < 2 || len(sent) != len(bodies) {
			t.Errorf("%d parts, %d sent", len(bodies), len(sent))
		}
		for _, s := range sent {
			v := s.Versions[0]
			if !utf8.ValidString(v.Text) || len(v.Entities) == 0 && strings.HasPrefix(md, "**") {
				t.Errorf("sent %q with %v", v.Text, v.Entities)
			}
			for _, e := range v.Entities {
				if e.Type == "pre" && e.Language != "go" {
					t.Errorf("a part of the code lost its language: %+v", e)
				}
			}
		}
	}
}

func TestRow10_TopicsAreAddressesOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	events := listen(t, ch)
	join(t, r, events, forum)
	r.say(t, forum, ann, "in general", sim.SayOptions{})
	general := next(t, events)
	if general.Address.Thread != "1" {
		t.Errorf("General is thread %q, want 1", general.Address.Thread)
	}
	topic, err := r.CreateTopic(forum, ann, "Plans", "")
	if err != nil {
		t.Fatal(err)
	}
	r.say(t, forum, bob, "in a topic", sim.SayOptions{Thread: topic})
	m := next(t, events)
	for m.Kind != channels.Said {
		m = next(t, events)
	}
	if m.Address.Thread != decimal(topic) || m.ReplyTo != nil || m.Mentioned {
		t.Errorf("got %+v", m)
	}
	for _, a := range []sessionkeys.Address{general.Address, m.Address} {
		if _, err := ch.Send(t.Context(), channels.Reply{To: a, Body: channels.Body{Text: "hi"}}); err != nil {
			t.Errorf("send to %+v: %v", a, err)
		}
		if err := ch.ShowTyping(t.Context(), a); err != nil {
			t.Errorf("typing in %+v: %v", a, err)
		}
	}
	if err := r.DeleteTopic(forum, topic); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "after"}}); err != nil {
		t.Errorf("send to a deleted topic: %v", err)
	}
	var threads []int64
	for _, m := range r.Books().Messages {
		threads = append(threads, m.ThreadID)
	}
	if len(threads) != 3 || threads[1] != topic || threads[2] == topic {
		t.Errorf("sent to threads %v", threads)
	}
}
