package admin_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/costs"
	"parley/gateway/admin"
	"parley/gateway/approvals"
	"parley/gateway/budgets"
	"parley/gateway/listeners"
	"parley/gateway/messages"
	"parley/gateway/schedule"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// newPurse returns a shelf's store with an operator who knows its budgets and jobs.
func newPurse(t *testing.T, h *shelf, jobs ...schedule.Job) *door {
	t.Helper()
	limits := budgets.Limits{Turn: costs.USD, Session: 20 * costs.USD, Person: 5 * costs.USD, Day: 50 * costs.USD, ChannelsByTheDay: map[string]costs.Amount{"tg": 0, "other": 8 * costs.USD}}
	now := func() time.Time { return noon.Add(time.Hour) }
	s, err := admin.New(t.Context(), admin.Options{
		Socket: listeners.Off, Store: h.store, Limits: func() budgets.Limits { return limits }, Now: now,
		Jobs:     func(context.Context) ([]schedule.Job, error) { return jobs, nil },
		Accounts: func() map[string]admin.Account { return map[string]admin.Account{"tg": {}} },
		Raised: func(ctx context.Context, sc sessions.Scope, at time.Time) (costs.Amount, error) {
			all, err := approvals.Raises(ctx, h.store, at)
			if err != nil {
				return 0, err
			}
			return approvals.More(all, sc, false, nil)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &door{t: t, s: s}
}

// spends books a call of a turn in the scopes of its person and of everybody.
func (h *shelf) spends(f sessions.Fence, turn sessions.Turn, amount costs.Amount) {
	h.t.Helper()
	call := costs.CallID{Turn: turn.ID, Step: 1, Attempt: 1, Purpose: costs.RootTurn}
	r := costs.Reservation{ID: call.String(), At: noon, Estimate: costs.Estimate{Call: call, Upper: amount, Priced: true}}
	scopes := budgets.Limits{Session: costs.USD * 100}.Scopes("t", turn)
	h.ok(h.store.Reserve(h.t.Context(), f, sessions.Charge{Session: turn.Session, Turn: turn.ID, Scopes: scopes}, r))
	h.ok(h.store.Settle(h.t.Context(), f, costs.Settlement{Reservation: r, Entry: costs.Entry{
		ID: r.ID, Call: call, Amount: amount, Priced: true, State: costs.Settled, Outcome: "ok", At: noon,
	}}))
}

func inBrief(page admin.BudgetPage) string {
	var b strings.Builder
	for _, s := range page.Budgets {
		_, _ = fmt.Fprintf(&b, "%s of %.8s: %s of %s, %s raised, %.3f, %s\n", s.Budget, s.Of, s.Settled.Exact(), s.Limit.Exact(), s.Raised.Exact(), s.Share, s.Period)
	}
	return b.String()
}

func TestAnOperatorSeesBudgetsAndRaisesThem(t *testing.T) {
	t.Parallel()
	h := newShelf(t)
	d := newPurse(t, h)
	in := map[string]string{}
	for peer, amount := range map[string]costs.Amount{"ann": 3 * costs.USD, "ben": 2*costs.USD + 1} {
		f, turn := h.opened(peer, "hello")
		h.spends(f, turn, amount)
		in[peer] = string(turn.Session)
	}
	raise := func(q ...string) (admin.RaisedBudget, admin.Error) {
		t.Helper()
		return ask[admin.RaisedBudget](d, "POST", "/v1/budgets/raise", q...)
	}
	first, failed := raise("budget", "person_per_day", "amount", "5", "for", "2h", "channel", "tg", "person", "ben")
	if failed.Message != "" || first.Of != "ben" || first.State != admin.RaiseHolds || first.By != "the operator (unknown)" || first.Until.Sub(first.Since) != 2*time.Hour {
		t.Fatalf("raised %+v, %s", first, failed.Message)
	}
	second, failed := raise("budget", "global_per_day", "amount", "0.000000000001", "for", "240h")
	if failed.Message != "" || !second.Until.Equal(noon.Add(12*time.Hour)) { // with its day
		t.Fatalf("raised %+v, %s", second, failed.Message)
	}
	page, _ := ask[admin.BudgetPage](d, "GET", "/v1/budgets")
	got := inBrief(page)
	for _, line := range []string{
		"global_per_day of everybod: 5.000000000001 of 50.000000000001, 0.000000000001 raised, 0.100, 2026-03-14\n",
		"global_per_month of everybod: 5.000000000001 of 0.00, 0.00 raised, 0.000, 2026-03\n",
		"channel_per_day of other: 0.00 of 8.00, 0.00 raised, 0.000, 2026-03-14\nchannel_per_day of tg: 5.000000000001 of 0.00, 0.00 raised, 0.000, 2026-03-14\n",
		"turn of each mes: 0.00 of 1.00, 0.00 raised, 0.000, message\n",
		"person_per_day of each per: 0.00 of 5.00, 0.00 raised, 0.000, 2026-03-14\nperson_per_day of ann: 3.00 of 5.00, 0.00 raised, 0.600, 2026-03-14\nperson_per_day of ben: 2.000000000001 of 10.00, 5.00 raised, 0.200, 2026-03-14\n",
		"group_per_day of each gro: 0.00 of 0.00, 0.00 raised, 0.000, 2026-03-14\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("listed:\n%swithout:\n%s", got, line)
		}
	}
	if n := strings.Count(got, " of 20.00, 0.00 raised, 0."); n != 3 || len(page.Raises) != 2 {
		t.Errorf("%d sessions and %d raises in:\n%s", n, len(page.Raises), got)
	}

	page, _ = ask[admin.BudgetPage](d, "GET", "/v1/budgets", "each", "0")
	if got := inBrief(page); strings.Count(got, "\n") != 4 || !strings.Contains(got, "0.000000000001 raised, 0.100") || len(page.Raises) != 1 || page.Raises[0].ID != second.ID {
		t.Errorf("of everybody and accounts alone, with %+v:\n%s", page.Raises, got)
	}
	page, _ = ask[admin.BudgetPage](d, "GET", "/v1/budgets", "session", in["ben"])
	if got := inBrief(page); !strings.HasPrefix(got, "session of ") || !strings.HasSuffix(got, "\nperson_per_day of ben: 2.000000000001 of 10.00, 5.00 raised, 0.200, 2026-03-14\n") ||
		strings.Count(got, "\n") != 2 || len(page.Raises) != 1 || page.Raises[0].ID != first.ID {
		t.Errorf("of one conversation, with %+v:\n%s", page.Raises, got)
	}

	revoked, failed := ask[admin.RaisedBudget](d, "POST", "/v1/budgets/revoke", "id", first.ID[:20])
	if revoked.State != admin.RaiseRevoked || failed.Message != "" {
		t.Errorf("revoked %+v, %s", revoked, failed.Message)
	}
	page, _ = ask[admin.BudgetPage](d, "GET", "/v1/budgets")
	if got := inBrief(page); !strings.Contains(got, "ben: 2.000000000001 of 5.00, 0.00 raised, 0.400") {
		t.Errorf("afterwards:\n%s", got)
	}
	if _, failed := ask[admin.RaisedBudget](d, "POST", "/v1/budgets/revoke", "id", first.ID); failed.Kind != admin.Refused {
		t.Errorf("revoked twice: %+v", failed)
	}
	if _, failed := ask[admin.Approval](d, "POST", "/v1/approvals/"+second.ID+"/deny"); failed.Kind != admin.Refused || !strings.Contains(failed.Message, "parley budget revoke") {
		t.Errorf("denied: %+v", failed)
	}
}

// ran opens a turn in which a job runs whose results go to a chat with a person.
func (h *shelf) ran(peer, job string) (sessions.Fence, sessions.Turn) {
	h.t.Helper()
	to := sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: peer}
	key, err := sessionkeys.For("main", messages.JobAddress(to, job))
	h.ok(err)
	m, _, err := h.store.Touch(h.t.Context(), sessions.Touch{Token: key.Token(), Key: key, Seq: 1, By: h.ann, Take: true, Now: noon})
	h.ok(err)
	turn, _, err := h.store.Open(h.t.Context(), m.Fence(), sessions.OpenTurn{
		Turn:    sessions.Turn{ID: "turn-" + job, Seq: 1, Channel: "tg", From: to, Sender: messages.JobSender(job), ReceivedAt: noon, OpenedAt: noon},
		Events:  []sessions.InboxID{{Channel: "telegram", Account: "bot", Chat: peer, Event: job}},
		Message: transcript.Message{ID: "said-" + job, Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "do it"}}, CreatedAt: noon},
	})
	h.ok(err)
	return m.Fence(), turn
}

// Who has scheduled something pays for its runs, and is listed also on a day on which they did not
// write. Nobody pays for a job of the configuration.
func TestBudgetsOfWhoHasOnlySchedules(t *testing.T) {
	t.Parallel()
	h := newShelf(t)
	errand := schedule.Job{Name: "p.0a1b2c3d4e5f.abcde", Person: "cem"}
	d := newPurse(t, h, errand, schedule.Job{Name: "tidy"})
	f, turn := h.ran("chat-9", errand.Name)
	session := string(turn.Session)
	turn.Sender = "cem" // as ErrandScopes has it
	h.spends(f, turn, 2*costs.USD)
	f, turn = h.ran("chat-9", "tidy")
	turn.Sender = ""
	h.spends(f, turn, costs.USD)

	raised, failed := ask[admin.RaisedBudget](d, "POST", "/v1/budgets/raise", "budget", "person_per_day", "amount", "5", "for", "2h", "channel", "tg", "person", "cem")
	if failed.Message != "" {
		t.Fatal(failed.Message)
	}
	if _, failed := ask[admin.RaisedBudget](d, "POST", "/v1/budgets/raise", "budget", "person_per_day", "amount", "5", "for", "2h", "channel", "tg", "person", "@cem"); failed.Kind != admin.Invalid || !strings.Contains(failed.Message, "@cem is a name") {
		t.Errorf("raised for a name: %+v", failed)
	}
	const line = "person_per_day of cem: 2.00 of 10.00, 5.00 raised, 0.200, 2026-03-14\n"
	page, _ := ask[admin.BudgetPage](d, "GET", "/v1/budgets")
	if got := inBrief(page); !strings.Contains(got, line) || strings.Count(got, "person_per_day") != 2 || len(page.Raises) != 1 || page.Raises[0].Of != "cem" {
		t.Errorf("listed, with %+v:\n%s", page.Raises, got)
	}
	page, _ = ask[admin.BudgetPage](d, "GET", "/v1/budgets", "session", session)
	if got := inBrief(page); !strings.HasSuffix(got, line) || len(page.Raises) != 1 || page.Raises[0].ID != raised.ID {
		t.Errorf("of the run's session, with %+v:\n%s", page.Raises, got)
	}
}

func TestWhatCannotBeRaisedIsNamed(t *testing.T) {
	t.Parallel()
	h := newShelf(t)
	d := newPurse(t, h)
	for _, c := range []struct {
		kind admin.Kind
		say  string
		q    []string
	}{
		{admin.Invalid, "the budget of one message is not raised", []string{"budget", "turn", "amount", "5", "for", "1h"}},
		{admin.Invalid, `no budget "x" can be raised: there are channel_per_day, global_per_day,`, []string{"budget", "x", "amount", "5", "for", "1h"}},
		{admin.Invalid, `"none" is not by how many dollars`, []string{"budget", "session", "amount", "none", "for", "1h"}},
		{admin.Invalid, `"-1" is not by how many dollars`, []string{"budget", "session", "amount", "-1", "for", "1h"}},
		{admin.Invalid, `not for "59s"`, []string{"budget", "session", "amount", "5", "for", "59s"}},
		{admin.Invalid, `not for "745h"`, []string{"budget", "session", "amount", "5", "for", "745h"}},
		{admin.Invalid, "say which, with --session", []string{"budget", "session", "amount", "5", "for", "1h"}},
		{admin.Invalid, "say which, with --channel", []string{"budget", "person_per_day", "amount", "5", "for", "1h", "person", "ann"}},
		{admin.Invalid, "leave --person out", []string{"budget", "global_per_day", "amount", "5", "for", "1h", "person", "ann"}},
		{admin.NotFound, `no bot account "slack" in the configuration; there are: other, tg`, []string{"budget", "channel_per_day", "amount", "5", "for", "1h", "channel", "slack"}},
		{admin.NotFound, "no session 01ZZ", []string{"budget", "session", "amount", "5", "for", "1h", "session", "01ZZ"}},
		{admin.Refused, "nobody has had an answer on tg yet", []string{"budget", "person_per_day", "amount", "5", "for", "1h", "channel", "tg", "person", "ann"}},
		{admin.Refused, "budgets.global_per_month is none in the configuration", []string{"budget", "global_per_month", "amount", "5", "for", "1h"}},
		{admin.Refused, "budget_per_day of the account is none", []string{"budget", "channel_per_day", "amount", "5", "for", "1h", "channel", "tg"}},
		{admin.Invalid, "larger than any amount", []string{"budget", "global_per_day", "amount", "9223371", "for", "1h"}},
	} {
		_, failed := ask[admin.RaisedBudget](d, "POST", "/v1/budgets/raise", c.q...)
		if failed.Kind != c.kind || !strings.Contains(failed.Message, c.say) {
			t.Errorf("%q: %s: %s", c.q, failed.Kind, failed.Message)
		}
	}
	all, err := approvals.List(t.Context(), h.store, "", noon)
	if err != nil || len(all) != 0 {
		t.Errorf("written were %+v, %v", all, err)
	}
}
