package delivery_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/delivery"
	"parley/sessions"
)

// lines is an answer of n messages, as the network of these tests splits it.
func lines(n int) (text string, each []string) {
	for i := range n {
		each = append(each, fmt.Sprint("line ", i))
	}
	return strings.Join(each, "\n"), each
}

const allInFile = `This answer has %d messages more. All of it is in the file answer\.md.`

// abuse L4: an answer of 3.6 MB became 901 messages.
func TestAnAnswerOfManyMessagesGoesOnAsAFile(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *fixture{"specification": newRig, "sqlite": realStore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			text, each := lines(11)
			id := r.queue("a", text)
			r.queue("a", "the next")
			r.start().wake()
			r.delivered()
			var want []string
			for _, l := range each[:9] {
				want = append(want, "send a "+l)
			}
			want = append(want, "send a "+fmt.Sprintf(allInFile, 2), "file a answer.md="+text, "send a the next")
			r.wantCalls(want...)
			states := r.states(id)
			if n := len(states); n != 12 || slices.Contains(states[:11], sessions.Failed) || states[11] != sessions.Failed {
				t.Errorf("its parts ended as %q", states)
			}
		})
	}
}

func TestAnAnswerOfAsManyMessagesAsAChatTakesIsNoFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text, each := lines(10)
	r.queue("a", text)
	r.start().wake()
	r.delivered()
	if got := r.net.chat(); !slices.Equal(got, each) {
		t.Errorf("in the chat stands %q", got)
	}
}

func TestTheFileOfALongAnswerIsSaidWhenItCannotBeSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(_ int, c call) error {
		if c.op == "file" {
			return &channels.Error{Kind: channels.Refused, Op: "send a file", Err: errors.New("no files here")}
		}
		return nil
	}
	text, _ := lines(11)
	r.queue("a", text)
	r.start().wake()
	r.delivered()
	got := r.net.chat()
	if last := got[len(got)-1]; len(got) != 11 || last != `The file answer\.md could not be sent: the network refuses it.` {
		t.Errorf("in the chat stands %q", got)
	}
}

func TestALongAnswerIsCutWhereNoFileCanBeSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text, each := lines(900)
	r.queue("a", text)
	r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{plain{r.net}} }).wake()
	r.delivered()
	got := r.net.chat()
	if len(got) != 10 || !slices.Equal(got[:9], each[:9]) || got[9] != "This answer was cut here: it has 891 messages more. Ask for a shorter one, or for its parts." {
		t.Errorf("in the chat stands %q", got)
	}
}

// It is a part like any other, that stands in the outbox.
func TestTheFileOfALongAnswerIsRepeatedWithAMarkInDoubt(t *testing.T) {
	t.Parallel()
	r := realStore(t)
	r.net.script = func(_ int, c call) error {
		if c.op == "file" && len(r.net.log()) == 11 {
			return &channels.Error{Kind: channels.Ambiguous, Op: "send a file", Err: errors.New("cut off")}
		}
		return nil
	}
	text, _ := lines(11)
	r.queue("a", text)
	p := r.start()
	p.wake()
	r.delivered()
	got := r.net.log()
	if len(got) != 12 || got[10] != "file a answer.md="+text || !strings.Contains(got[11], "answer.md="+text) || got[11] == got[10] {
		t.Errorf("the network got %q", got)
	}
}
