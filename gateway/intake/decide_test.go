package intake_test

import (
	"errors"
	"fmt"
	"testing"

	"parley/channels"
	"parley/gateway/intake"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/sessionkeys"
	"parley/sessions"
)

// The word of somebody who may decide is taken however much they, or their group, have sent; and
// when it finds no room they always read so. Nobody else's is.
func TestADecisionIsNeverDroppedSilently(t *testing.T) {
	t.Parallel()
	var w world
	in, _ := limited(&w, policy.Limits{PersonPerMinute: 1, PersonBurst: 1, GroupPerMinute: 2, BotLoop: 1, Queue: 3})
	src := in.Sources["tg"]
	src.Access = policy.Access{People: []string{ann, ben}, Groups: []string{kitchen}, Approvers: []string{ann}}
	in.Sources["tg"] = src
	n := 0
	say := func(m channels.Message) {
		t.Helper()
		n++
		m.Event, m.MessageID, m.Mentioned = fmt.Sprint("e", n), fmt.Sprint("m", n), true
		noError(t, in.Accept(t.Context(), m))
	}
	want := func(published, notices int) {
		t.Helper()
		if len(w.published) != published || len(w.notices) != notices {
			t.Fatalf("after %d: %d published, %d notices, counted %v; want %d, %d", n, len(w.published), len(w.notices), w.counts, published, notices)
		}
	}
	for _, by := range []string{ann, ben, ann} {
		say(group(by, "hi"))
	}
	want(2, 1)
	for range 4 {
		say(group(ann, "/approve 7K3MD"))
		say(dm(ann, "/deny 7K3MD"))
	}
	want(10, 1)
	say(group(ben, "/approve 7K3MD"))
	if len(w.published) != 10 {
		t.Error("the word of somebody who may not decide passed the limits")
	}
	w.waiting = 3
	told := len(w.notices)
	for range 3 {
		say(group(ann, "/approve 7K3MD"))
	}
	want(10, told+3)
}

// What an operator decided is queued whatever the limits, or refused with a reason and nothing
// queued: to who was shut out, and where nobody can be answered.
func TestDecide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		access policy.Access
		closed bool
		fail   string
		want   string // of the refusal; "": none
	}{
		"to somebody who may speak":      {policy.Access{People: []string{ann}}, false, "", ""},
		"to somebody who may not":        {policy.Access{People: []string{ben}}, false, "", ann + ", who asked, may not speak to me any more, so nothing runs"},
		"in a closed chat":               {policy.Access{People: []string{ann}}, true, "", "I cannot write any more to the chat where it was asked, so nothing runs"},
		"when the log does not answer":   {policy.Access{People: []string{ann}}, false, "Publish", "down"},
		"when the store does not answer": {policy.Access{People: []string{ann}}, false, "Chat", "down"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world{fail: c.fail}
			in := w.intake(c.access)
			in.Limits = policy.Limits{PersonPerMinute: 1, PersonBurst: 1, Queue: 1}
			m := dm(ann, "/approve 7K3MD")
			if c.closed {
				w.chats = map[string]sessions.Chat{m.Address.Peer: {IDs: []string{m.Address.Peer}, Closed: true}}
			}
			m.Decision = &channels.Decision{Request: "r", Operator: true}
			m.Event = messages.ID{Kind: messages.Decided, About: "r@1"}.String()
			key, err := sessionkeys.For("main", m.Address)
			noError(t, err)
			w.waiting = 9
			err = in.Decide(t.Context(), key, m.Sender, m)
			refused, isRefusal := errors.AsType[*intake.RefusedError](err)
			switch {
			case c.want == "" && (err != nil || len(w.published) != 1 || w.published[0].Token != key.Token()):
				t.Errorf("%v, queued %+v", err, w.published)
			case c.want == "down" && !errors.Is(err, errDown), c.want != "" && c.want != "down" && (!isRefusal || refused.Why != c.want), c.want != "" && len(w.published) > 0:
				t.Errorf("%v, queued %+v", err, w.published)
			}
		})
	}
}
