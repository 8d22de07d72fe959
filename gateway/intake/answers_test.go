package intake_test

import (
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
)

func TestAnswersInGroupsHangOnTheirQuestion(t *testing.T) {
	t.Parallel()
	if got := messages.ReplyTo(group(ann, "")); got != "m1" {
		t.Errorf("in a group: %q", got)
	}
	if got := messages.ReplyTo(dm(ann, "")); got != "" {
		t.Errorf("in a direct message: %q", got)
	}
}

func TestACommandThatNobodySaidToTheBotIsNotAnswered(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"/foo", "/help"} {
		var w world
		in := w.intake(policy.Access{Everyone: true, Groups: []string{kitchen}})
		m := group(ann, text)
		m.Mentioned = false
		noError(t, in.Accept(t.Context(), m))
		if w.trace() != 0 {
			t.Errorf("%s: %d answers, requests and messages, counted %v", text, w.trace(), w.counts)
		}
		m = group(ann, text)
		m.Mentioned, m.Event = true, "e2"
		if err := in.Accept(t.Context(), m); err != nil || len(w.notices) != 1 || len(w.published) != 0 {
			t.Errorf("%s, said to it: %d answers, %d messages, %v", text, len(w.notices), len(w.published), err)
		}
	}
}

// firstday S11: who asked where nobody else saw it is alone told that it is refused.
func TestARefusalOfWhatOneAskedAloneIsToldToThemAlone(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}})
	for id, want := range map[string]string{channels.PublicReplyPrefix + "U0ANN.1": channels.PrivateReplyPrefix + "U0ANN.1", "17.0001": "17.0001"} {
		m := group(ann, strings.Repeat("x", messages.MaxText+1))
		m.Event, m.MessageID = id, id
		noError(t, in.Accept(t.Context(), m))
		if last := w.notices[len(w.notices)-1]; last.ReplyTo != want {
			t.Errorf("%s was refused to %q, want %q", id, last.ReplyTo, want)
		}
	}
}

// K03: a button of a question for permission says what it says, under the rules for whoever
// pressed it; no other button says anything.
func TestAButtonDecidesAndNothingElse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"/approve 7K3MD": 1, "/deny 7K3MD": 1, "/new": 0, "/stop": 0, "hello": 0, "": 0} {
		for _, by := range []string{ann, ben} {
			var w world
			in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}})
			m := group(by, text)
			m.Kind, m.Mentioned = channels.Pressed, true
			noError(t, in.Accept(t.Context(), m))
			if by == ben && w.trace() != 0 || by == ann && len(w.published) != want {
				t.Errorf("%q, pressed by %s: %d messages, counted %v", text, by, len(w.published), w.counts)
			}
		}
	}
}
