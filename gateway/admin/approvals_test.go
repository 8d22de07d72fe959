package admin_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/gateway/admin"
	"parley/gateway/approvals"
	"parley/gateway/gatewaytest"
	"parley/gateway/listeners"
	"parley/gateway/settings"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
	"parley/sessions/sqlite"
	"parley/simulators/model"
)

// What cannot be read of the requests for permission is named, and hides no other from the operator: it
// is listed and decided, and the status says what it knows.
func TestARequestThatCannotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	noError := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	gw, _ := newEnv(t, gatewaytest.Options{Brain: model.Demo(0), Change: func(c *settings.Config) {
		for name, a := range c.Channels.Telegram {
			a.Access.Approvers = []string{"1001"}
			c.Channels.Telegram[name] = a
		}
	}})
	gw.Ask(gatewaytest.Ann, "set COLOUR=blue")
	gw.Stop()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(gw.Env.Config().StateDir, "parley.db")})
	noError(err)
	for _, kind := range []string{"approval", "raise"} {
		_, err := store.WriteRecord(t.Context(), sessions.Record{
			ID: sessions.RecordID{Kind: kind, Key: annsKey(t).Token() + "/broken"}, Owner: "worker", Body: []byte("{"), At: time.Now(),
		})
		noError(err)
	}
	noError(store.Close())
	gw = gw.Env.Start()
	ask := admin.NewClient(gw.AdminSocket())
	st, err := ask.Status(t.Context())
	noError(err)
	if st.Uncounted || st.Work.Asked != 1 || !slices.ContainsFunc(st.Problems, func(p string) bool { return strings.Contains(p, "/broken") }) {
		t.Errorf("the status is %+v", st)
	}
	page, err := ask.Approvals(t.Context())
	noError(err)
	if len(page.Approvals) != 1 || page.Approvals[0].State != admin.AwaitsApproval || strings.Count(page.Problem, "/broken") < 2 {
		t.Fatalf("listed are %+v", page)
	}
	if a, err := ask.Decide(t.Context(), page.Approvals[0].Code, true); err != nil || a.By != "the operator" && !strings.HasPrefix(a.By, "the operator (") {
		t.Errorf("decided: %+v, %v", a, err)
	}
	gw.NextDelivered()
}

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
