package telegram_test

import (
	"bytes"
	"testing"

	"parley/channels"
	sim "parley/simulators/telegram"
)

// firstday T7. A topic that is closed may be opened again: what is said into it goes
// outside of it, also what answers a message there, and into it when it is open.
func TestTopic_AClosedOneIsNoRefusalForGood(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	if _, err := r.SetStanding(forum, ann, "Parley_bot", "member"); err != nil {
		t.Fatal(err)
	}
	topic, err := r.CreateTopic(forum, ann, "Plans", "")
	if err != nil {
		t.Fatal(err)
	}
	asked := r.say(t, forum, ann, "hello", sim.SayOptions{Thread: topic})
	if err := r.CloseTopic(forum, topic, true); err != nil {
		t.Fatal(err)
	}
	answer := to(forum.ID, decimal(topic), "hi")
	answer.ReplyTo = decimal(asked.MessageID)
	if _, err := ch.Send(t.Context(), answer); err != nil {
		t.Errorf("into a closed topic: %v", err)
	}
	if _, err := ch.SendFile(t.Context(), answer, channels.File{Name: "a", Size: 3}, bytes.NewReader([]byte("abc"))); err != nil {
		t.Errorf("a file into a closed topic: %v", err)
	}
	if err := r.CloseTopic(forum, topic, false); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Send(t.Context(), answer); err != nil {
		t.Errorf("into a topic that was opened again: %v", err)
	}
	var threads []int64
	for _, m := range r.Books().Messages {
		threads = append(threads, m.ThreadID)
	}
	if len(threads) != 3 || threads[0] != 0 || threads[1] != 0 || threads[2] != topic {
		t.Errorf("sent to threads %v, want 0, 0 and %d", threads, topic)
	}
}
