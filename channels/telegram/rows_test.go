package telegram_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/telegram"
	"parley/sessionkeys"
	sim "parley/simulators/telegram"
)

// listen receives in the background; what comes is in the channel.
func listen(t *testing.T, ch *telegram.Channel) <-chan channels.Message {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	events, done := make(chan channels.Message, 256), make(chan error, 1)
	go func() {
		done <- ch.Receive(ctx, func(_ context.Context, m channels.Message) error {
			events <- m
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Receive: %v", err)
		}
	})
	return events
}

func next(t *testing.T, events <-chan channels.Message) channels.Message {
	t.Helper()
	select {
	case m := <-events:
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("no event came")
		panic("unreachable")
	}
}

// join makes the bot a member of a group and takes the event of that.
func join(t *testing.T, r *rig, events <-chan channels.Message, c sim.Chat) {
	t.Helper()
	if _, err := r.SetStanding(c, ann, "Parley_bot", "member"); err != nil {
		t.Fatal(err)
	}
	if m := next(t, events); m.Kind != channels.Membership {
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
		if err := ch.Typing(t.Context(), a); err != nil {
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

func TestRow12_NobodyStandsInForAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := listen(t, r.open(t))
	join(t, r, events, super)
	other := sim.Chat{ID: -1001000000900, Kind: sim.Channel, Title: "News"}
	for guise, id := range map[sim.Guise]string{
		sim.AsAnonymousAdmin: decimal(super.ID), sim.AsChannel: decimal(other.ID), sim.AsAutoForward: decimal(other.ID),
	} {
		r.say(t, super, ann, "hi", sim.SayOptions{As: guise, Channel: &other})
		if m := next(t, events); !m.Sender.Anonymous || m.Sender.ID != id {
			t.Errorf("%s: %+v", guise, m.Sender)
		}
	}
	r.say(t, super, ann, "hi", sim.SayOptions{})
	if m := next(t, events); m.Sender.Anonymous || m.Sender.ID != "1001" {
		t.Errorf("a person came as %+v", m.Sender)
	}
}

func TestRow13_AnEditIsAnEventOfItsOwnKind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := listen(t, r.open(t))
	c := sim.PrivateChat(ann)
	said := r.say(t, c, ann, "one", sim.SayOptions{})
	a := next(t, events)
	if _, err := r.Edit(c.ID, said.MessageID, "two", sim.SayOptions{}); err != nil {
		t.Fatal(err)
	}
	b := next(t, events)
	if b.Kind != channels.Edited || b.Text != "two" || b.MessageID != a.MessageID || b.Event == a.Event {
		t.Errorf("the edit of %+v came as %+v", a, b)
	}
}

func TestRow14_EveryPressIsAnsweredAlsoOnAnOldMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	events := listen(t, ch)
	r.Say(t, "Ann", "hi")
	m := next(t, events)
	receipt, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "press"}})
	if err != nil {
		t.Fatal(err)
	}
	sent := r.Books().Messages[0]
	for _, o := range []sim.PressOptions{{}, {}, {Inaccessible: true}} {
		if _, err := r.Press(ann, ann.ID, sent.MessageID, "approve:1", o); err != nil {
			t.Fatal(err)
		}
		p := next(t, events)
		if p.Kind != channels.Pressed || p.Text != "approve:1" || p.MessageID != receipt.MessageID || p.Sender.ID != "1001" || p.Address != m.Address {
			t.Errorf("press %+v came as %+v", o, p)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := r.Await(ctx, func(b sim.Book) bool {
		n := 0
		for _, s := range b.Signals {
			if s.Kind == "callback_answer" {
				n++
			}
		}
		return n == 3
	}); err != nil {
		t.Errorf("not every press was answered: %v", err)
	}
}

func TestRow15_ABotThatWasPutOutIsToldSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	events := listen(t, ch)
	join(t, r, events, super)
	if _, err := r.Kick(super, ann, "Parley_bot"); err != nil {
		t.Fatal(err)
	}
	if m := next(t, events); m.Kind != channels.Membership || m.Text != "kicked" || m.Sender.ID != "1001" {
		t.Errorf("got %+v", m)
	}
	if _, err := ch.Send(t.Context(), to(super.ID, "", "hi")); wrong(err).Kind != channels.Gone {
		t.Errorf("send to a group we were put out of: %v", err)
	}
	r.Say(t, "Ann", "hi")
	next(t, events)
	if _, err := r.Block(ann, "Parley_bot"); err != nil {
		t.Fatal(err)
	}
	if m := next(t, events); m.Kind != channels.Membership {
		t.Errorf("got %+v", m)
	}
	if _, err := ch.Send(t.Context(), to(ann.ID, "", "hi")); wrong(err).Kind != channels.Gone {
		t.Errorf("send to one who blocked us: %v", err)
	}
}

// A chat whose event cannot be stored yet does not hold up the others, and
// nothing of the batch is confirmed before all of it is.
func TestChatsOfABatchDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, chat := range []int{1001, 1002, 1001} {
		raw := fmt.Sprintf(`{"message":{"message_id":%d,"date":1,"chat":{"id":%d,"type":"private"},"from":{"id":%d},"text":"%d"}}`, i+1, chat, chat, i)
		if _, err := r.Inject("", json.RawMessage(raw)); err != nil {
			t.Fatal(err)
		}
	}
	stuck, came := make(chan struct{}), make(chan string, 9)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- r.open(t).Receive(ctx, func(ctx context.Context, m channels.Message) error {
			if m.Text == "0" {
				select {
				case <-stuck:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			came <- m.Text
			return nil
		})
	}()
	if got := <-came; got != "1" {
		t.Errorf("%s came while the first chat was stuck", got)
	}
	if n := r.Acknowledged(); n != 0 {
		t.Errorf("%d updates were confirmed", n)
	}
	close(stuck)
	if a, b := <-came, <-came; a != "0" || b != "2" {
		t.Errorf("the first chat's came as %s, %s", a, b)
	}
	if err := r.AwaitAcknowledged(t.Context(), 3); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
