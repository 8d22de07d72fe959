package commands_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/gateway/approvals"
	"parley/gateway/commands"
	"parley/gateway/messages"
	"parley/gateway/roles"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// Who may decide reads each question that waits on their bot account, in direct messages alone, and is
// then known to have read it.
func TestApprovals(t *testing.T) {
	t.Parallel()
	const nothing = "Nothing waits that you may decide about."
	open := func(t *testing.T) (*commands.Handler, sessions.Store, messages.Caller, func(want string)) {
		t.Helper()
		d, s, k := desk(t)
		d.Questions = &approvals.Desk{Store: s, Now: d.Now}
		by := asker(k)
		by.Channel, by.Event, by.Role = "tg", "asks", roles.Admin
		return d, s, by, func(want string) {
			t.Helper()
			if text, err := d.Answer(t.Context(), by, messages.Command{Name: "approvals"}); err != nil || text != want {
				t.Errorf("%q, %v, want %q", text, err, want)
			}
		}
	}
	t.Run("where nothing waits that is said", func(t *testing.T) {
		t.Parallel()
		_, _, _, says := open(t)
		says(nothing)
	})
	t.Run("who may not decide reads that nothing waits, and a group reads nothing", func(t *testing.T) {
		t.Parallel()
		d, s, by, _ := open(t)
		waits(t, s, 1)
		for _, c := range []struct {
			role roles.Role
			kind sessionkeys.Kind
			desk *approvals.Desk
			want string
		}{
			{roles.User, sessionkeys.DM, d.Questions, nothing},
			{roles.Guest, sessionkeys.DM, d.Questions, nothing},
			{roles.Admin, sessionkeys.DM, nil, nothing},
			{roles.Admin, sessionkeys.Group, d.Questions, "Please send me that in a direct message."},
			{roles.User, sessionkeys.Group, d.Questions, "Please send me that in a direct message."},
		} {
			by.Role, by.From.Kind, d.Questions = c.role, c.kind, c.desk
			if text, err := d.Answer(t.Context(), by, messages.Command{Name: "approvals"}); err != nil || text != c.want {
				t.Errorf("%s in %s: %q, %v, want %q", c.role, c.kind, text, err, c.want)
			}
		}
	})
	t.Run("five are shown, what expires first before others", func(t *testing.T) {
		t.Parallel()
		d, s, _, says := open(t)
		all := waits(t, s, 7)
		var want []string
		for i := range 5 {
			want = append(want, fmt.Sprintf("**A000%[1]d** May I use bash? Asked by `Ben`, `2`, in direct messages.\n\n```\nls %[1]d\n```\n\n"+
				"/approve A000%[1]d permits it once, /deny A000%[1]d refuses it. The question stands until 12:1%[1]d:00 UTC on 1 May.", i))
		}
		says(strings.Join(append(want, "2 more wait: /approvals shows them when these are decided."), "\n\n"))
		for i, r := range all {
			if got := d.Questions.WasShown("1", "later", r); got != (i < 5) {
				t.Errorf("question %d was shown: %v", i, got)
			}
			if d.Questions.WasShown("2", "later", r) {
				t.Errorf("question %d was shown to somebody else", i)
			}
		}
	})
}

// waits writes so many questions of a conversation of Ben's, and returns them.
func waits(t *testing.T, s sessions.Store, n int) (all []approvals.Request) {
	t.Helper()
	k, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: "2"})
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := s.Touch(t.Context(), sessions.Touch{Token: k.Token(), Key: k, Seq: 1, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := approvals.New(now, time.Duration(10+i)*time.Minute)
		r.Code, r.Token, r.Session, r.Channel = fmt.Sprintf("A000%d", i), k.Token(), m.Session, "tg"
		r.Asker, r.Call, r.Shown = approvals.Person{ID: "2", Name: "Ben"}, transcript.ToolCall{Name: "bash"}, fmt.Sprintf("ls %d", i)
		if r, err = r.Write(t.Context(), s, now); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}
