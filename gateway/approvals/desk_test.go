package approvals_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/gateway/approvals"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
)

// What is shown and found is what may be decided about: on that channel, in time, in a conversation
// that goes on, and under a code that is one request's alone.
func TestDesk(t *testing.T) {
	t.Parallel()
	store := memtest.New(memtest.Every)
	now := noon
	d := &approvals.Desk{Store: store, Now: func() time.Time { return now }}
	ask := func(code string, change func(*approvals.Request)) approvals.Request {
		t.Helper()
		key, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: code})
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := store.Touch(t.Context(), sessions.Touch{Token: key.Token(), Key: key, Seq: 1, Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		r := approvals.New(noon, time.Hour)
		r.Code, r.Token, r.Session, r.Channel = code[:5], key.Token(), m.Session, "tg"
		change(&r)
		if r, err = r.Write(t.Context(), store, noon); err != nil {
			t.Fatal(err)
		}
		return r
	}
	asked := ask("00001", func(*approvals.Request) {})
	for code, change := range map[string]func(*approvals.Request){
		"00002": func(r *approvals.Request) { r.Channel = "other" },
		"00003": func(r *approvals.Request) { r.Session = "01ARZ3NDEKTSV4RRFFQ69G5FAV" },
		"00004": func(r *approvals.Request) { r.State = approvals.Denied },
		"00005": func(r *approvals.Request) { r.Expires = noon },
		"00006": func(r *approvals.Request) { r.Token = "nowhere" },
	} {
		ask(code, change)
	}
	ask("00007a", func(*approvals.Request) {})
	ask("00007b", func(*approvals.Request) {})
	var codes []string
	waiting, err := d.Waiting(t.Context(), "tg")
	for _, q := range waiting {
		codes = append(codes, q.Code)
	}
	if got := strings.Join(codes, " "); err != nil || strings.Count(got, "00007") != 2 || !strings.Contains(got, "00001") || len(codes) != 3 {
		t.Errorf("%v wait, %v", codes, err)
	}
	for _, c := range []struct {
		code, own string
		found     bool
	}{{"00001", "", true}, {"00001", asked.Token, false}, {"00002", "", false}, {"00003", "", false}, {"00007", "", false}, {"", "", false}} {
		if q, err := d.Elsewhere(t.Context(), "tg", c.code, c.own); err != nil || (q != nil) != c.found || q != nil && q.ID != asked.ID {
			t.Errorf("%q elsewhere than in %q: %+v, %v", c.code, c.own, q, err)
		}
	}
	if r := approvals.New(noon, time.Hour); r.WithOwnCode([]approvals.Request{asked}).Code != r.Code {
		t.Error("a code of its own is taken away")
	}
	if r := approvals.New(noon, time.Hour); true {
		r.Code = asked.Code
		if r = r.WithOwnCode([]approvals.Request{asked}); r.Code == asked.Code || approvals.ReadCode(r.Code) != r.Code {
			t.Errorf("the code %s means two requests", r.Code)
		}
	}
	for i := range 5000 { // of whom no more than a bound are remembered
		d.Show(fmt.Sprint(i), "e", asked)
	}
	for _, c := range []struct {
		person, event string
		was           bool
	}{{"4999", "f", true}, {"4999", "e", false}, {"5000", "f", false}, {"0", "f", false}} {
		if d.WasShown(c.person, c.event, asked) != c.was {
			t.Errorf("%s was shown it before %s: %v", c.person, c.event, !c.was)
		}
	}
}

// Who decides in another chat reads all that they permit, and no name is markup there.
func TestDescription(t *testing.T) {
	t.Parallel()
	r := approvals.New(noon, time.Hour)
	r.Code, r.Call.Name, r.Shown = "7K3MD", "bash", "ls"
	r.Where, r.Dir, r.Env = "a sandbox of level A", "sub", []string{"A=1", "B=`x`"}
	r.Asker = approvals.Person{ID: "7", Name: "**Ann** 🔐"}
	got := r.Description(sessionkeys.Address{Kind: sessionkeys.DM}, func(c string) string { return "!" + c })
	want := "**7K3MD** May I use bash? Asked by `**Ann** 🔒`, `7`, in direct messages.\n\n```\nls\n```\n\nIt runs in a sandbox of level A. Its folder is `sub`. Its environment has `A=1 B='x'`. " +
		"!approve 7K3MD permits it once, !deny 7K3MD refuses it. The question stands until 13:00:00 UTC on 1 May."
	if got != want {
		t.Errorf("described\n%s\nwant\n%s", got, want)
	}
}
