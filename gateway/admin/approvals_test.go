package admin_test

import (
	"testing"
	"time"

	"parley/gateway/admin"
	"parley/gateway/approvals"
	"parley/gateway/listeners"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
)

// An operator who decides reads what the turn has read, as an approver does in the chat.
func TestApprovalSaysWhatTheTurnHasRead(t *testing.T) {
	t.Parallel()
	store := memtest.New(memtest.Every)
	s, err := admin.New(t.Context(), admin.Options{Socket: listeners.Off, Store: store, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	key, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: "1"})
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := store.Touch(t.Context(), sessions.Touch{Token: key.Token(), Key: key, Seq: 1, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	for read, sources := range map[string][]string{
		"": nil,
		"`the web page a.example`, `b`, `c` and 1 more": {"the web page a.example", "b", "c", "d"},
	} {
		r := approvals.New(noon, time.Hour)
		r.Code, r.Token, r.Session, r.Channel, r.Shown = "00001", key.Token(), m.Session, "tg", "rm x"
		if r, err = r.AskedAfter(sources).Write(t.Context(), store, noon); err != nil {
			t.Fatal(err)
		}
		if d, err := s.As("an operator").Approval(t.Context(), r.ID); err != nil || d.Read != read || d.Text != "rm x" {
			t.Errorf("%+v, %v", d, err)
		}
	}
}
