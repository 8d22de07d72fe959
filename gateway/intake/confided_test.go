package intake_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/policy"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// waiting is a store in which one request waits, of the conversation of key.
type waiting struct {
	request approvals.Request
	key     sessionkeys.Key
}

func (s waiting) Records(_ context.Context, kind, _ string, now time.Time, yield func(sessions.Record) bool) error {
	r, err := s.request.Record(now)
	if err == nil && r.ID.Kind == kind {
		yield(r)
	}
	return err
}

func (s waiting) Mailbox(context.Context, string) (sessions.Mailbox, error) {
	return sessions.Mailbox{Key: s.key, Session: s.request.Session}, nil
}

// Somebody who types a decision in a group about a question that some people were shown alone reads
// it first, alone, with its buttons; a button, which stands below a question, decides at once, and
// so does the word when it is said again. A question that the whole chat has read needs none of it,
// and nobody else is shown anything.
func TestWhatSomePeopleAreShownAloneIsReadBeforeItIsDecided(t *testing.T) {
	t.Parallel()
	for _, private := range []bool{true, false} {
		t.Run(fmt.Sprint("private ", private), func(t *testing.T) {
			t.Parallel()
			var w world
			in := w.intake(policy.Access{People: []string{ann, ben}, Groups: []string{kitchen}, Approvers: []string{ann}})
			key, err := sessionkeys.For("main", group(ann, "").Address)
			noError(t, err)
			r := approvals.New(in.Now(), time.Hour)
			r.Token, r.Session, r.Channel, r.Private, r.Code = key.Token(), "s", "tg", private, "7K3MD"
			r.Call, r.Shown = transcript.ToolCall{Name: "bash"}, "echo what would run"
			in.Questions = &approvals.Desk{Store: waiting{r, key}, Now: in.Now}
			n := 0
			say := func(kind channels.EventKind, by string) (published, notices int) {
				t.Helper()
				n++
				m := group(by, "/approve 7K3MD")
				m.Kind, m.Event, m.MessageID = kind, fmt.Sprint("e", n), fmt.Sprint("m", n)
				noError(t, in.Accept(t.Context(), m))
				return len(w.published), len(w.notices)
			}
			if p, told := say(channels.Said, ben); p != 1 || told != 0 { // the conversation answers
				t.Fatalf("somebody else's word: %d published, %d notices", p, told)
			}
			first := 2 // published after the first word
			if private {
				first = 1
			}
			if p, _ := say(channels.Said, ann); p != first {
				t.Fatalf("the first word: %d published", p)
			}
			if private {
				o := w.notices[0]
				if len(w.notices) != 1 || o.ReplyTo != channels.PrivateReplyToPerson(ann) || len(o.Choices) != 2 || !strings.Contains(o.Text, "echo what would run") {
					t.Errorf("they are shown %+v", w.notices)
				}
			}
			if p, _ := say(channels.Said, ann); p != first+1 {
				t.Errorf("the second word: %d published", p)
			}
			in.Questions = &approvals.Desk{Store: waiting{r, key}, Now: in.Now} // another process
			if p, _ := say(channels.Pressed, ann); p != first+2 {
				t.Errorf("a button: %d published", p)
			}
			if len(w.notices) > 1 {
				t.Errorf("shown %+v", w.notices)
			}
		})
	}
}
