package commands_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/agent/pressure"
	"parley/costs"
	"parley/gateway/budgets"
	"parley/gateway/commands"
	"parley/gateway/messages"
	"parley/gateway/preferences"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
	"parley/transcript"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// desk is one over a store in memory, and the key of one conversation.
func desk(t *testing.T) (*commands.Handler, sessions.Store, sessionkeys.Key) {
	t.Helper()
	s := memtest.New(memtest.Every)
	k, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return &commands.Handler{Store: s, Now: func() time.Time { return now }, Menu: func(agent string) preferences.Menu { return preferences.Menu{Own: "the model of " + agent} }}, s, k
}

// asker is the one who has the conversation.
func asker(k sessionkeys.Key) messages.Caller {
	return messages.Caller{Token: k.Token(), From: k.Address(), Sender: "1"}
}

func ask(t *testing.T, d *commands.Handler, k sessionkeys.Key, name string) string {
	t.Helper()
	text, err := d.Answer(t.Context(), asker(k), messages.Command{Name: name})
	if err != nil {
		t.Fatalf("/%s: %v", name, err)
	}
	return text
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

// requirements AI07
func TestTheDeskKnowsWhatIsStored(t *testing.T) {
	t.Parallel()
	d, s, k := desk(t)
	ctx := t.Context()
	for _, name := range []string{"status", "cost"} {
		contains(t, ask(t, d, k, name), "Nothing was said here yet")
	}
	contains(t, ask(t, d, k, "help"), "/new", "/stop", "/status", "/cost")
	contains(t, ask(t, d, k, "nonsense"), "I do not know the command /nonsense: there are /new, /sessions, /resume, /title, /compact, /model, /provider, /plan, /approvals, /approve, /deny, /answer, /pair, /access, /schedules, /goal, /done, /stop, /status, /cost, /why, /agents and /help.")

	me := sessions.Worker{Name: "w", Nonce: "n"}
	if err := s.Heartbeat(ctx, me, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, _, err := s.Touch(ctx, sessions.Touch{Token: k.Token(), Key: k, Seq: 1, By: me, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, ask(t, d, k, "status"), "A message is waiting", "the model of main", "0 messages")
	m, _, err := s.Touch(ctx, sessions.Touch{Token: k.Token(), Key: k, By: me, Take: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	turn, _, err := s.Open(ctx, m.Fence(), sessions.OpenTurn{
		Turn:    sessions.Turn{ID: "t", Seq: 1, Channel: "tg", From: k.Address(), OpenedAt: now.Add(-90 * time.Second)},
		Message: transcript.Message{ID: "u", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "q"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, ask(t, d, k, "status"), "I am working on an answer, for 1m30s now", "1 message and")

	call := costs.CallID{Turn: "t", Purpose: costs.RootTurn, Step: 1, Attempt: 1}
	labels := costs.Labels{Provider: "p", Model: "m", Channel: "tg", Purpose: costs.RootTurn}
	r := costs.Reservation{ID: call.String(), At: now, Estimate: costs.Estimate{Call: call, Labels: labels, Upper: 2e12, Priced: true}}
	if err := s.Reserve(ctx, m.Fence(), sessions.Charge{Session: turn.Session, Turn: "t", Scopes: []sessions.Scope{budgets.ChatScope(k.Token())}}, r); err != nil {
		t.Fatal(err)
	}
	contains(t, ask(t, d, k, "cost"), "$0.00", "and $2.00 held for what is running")
	e := costs.Entry{
		ID: r.ID, Call: call, Labels: labels, Amount: 5e11, Upper: 5e11, Priced: false, State: costs.Settled,
		Outcome: "ok", At: now, Usage: costs.Usage{Input: 1, Output: 1, Source: costs.Reported},
	}
	if _, err := s.Finish(ctx, m.Fence(), sessions.FinishTurn{Turn: "t", Settlement: &costs.Settlement{Reservation: r, Entry: e}, Outcome: transcript.EndTurn, At: now}); err != nil {
		t.Fatal(err)
	}
	contains(t, ask(t, d, k, "cost"), "This conversation: $0.50", "sub-agents: $0.50", "Here today (UTC): $0.5000.", "no known price")
	contains(t, ask(t, d, k, "status"), "I am idle", "$0.50")
	d.Now = func() time.Time { return now.Add(24 * time.Hour) }
	contains(t, ask(t, d, k, "cost"), "This conversation: $0.50", "Here today (UTC): $0.00")
}

func TestWhoAsksIsToldWhatIsLeft(t *testing.T) {
	t.Parallel()
	d, s, k := desk(t)
	ctx := t.Context()
	d.Limits = budgets.Limits{Session: 20 * costs.USD, Person: 5 * costs.USD, Group: 10 * costs.USD, Day: 50 * costs.USD}
	me := sessions.Worker{Name: "w", Nonce: "n"}
	if err := s.Heartbeat(ctx, me, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	m, _, err := s.Touch(ctx, sessions.Touch{Token: k.Token(), Key: k, Seq: 1, By: me, Take: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, ask(t, d, k, "cost"), "\nLeft (days are UTC): $20.00 of $20.00 for this conversation, $5.00 of $5.00 for you today")
	turn := sessions.Turn{ID: "t", Session: m.Session, Channel: "tg", From: k.Address(), Sender: "1"}
	call := costs.CallID{Turn: "t", Purpose: costs.RootTurn, Step: 1, Attempt: 1}
	r := costs.Reservation{ID: call.String(), At: now, Estimate: costs.Estimate{Call: call, Upper: 4200_000_000_001, Priced: true}}
	if err := s.Reserve(ctx, m.Fence(), sessions.Charge{Session: m.Session, Turn: "t", Scopes: d.Limits.Scopes(k.Token(), turn)}, r); err != nil {
		t.Fatal(err)
	}
	text := ask(t, d, k, "cost")
	contains(t, text, "$15.79 of $20.00 for this conversation", "$0.7999 of $5.00 for you today")
	if strings.Contains(text, "group") || strings.Contains(text, "50") {
		t.Errorf("%q says what nobody here asked", text)
	}
	inGroup := k.Address()
	inGroup.Kind = sessionkeys.Group
	text, err = d.Answer(ctx, messages.Caller{Token: k.Token(), From: inGroup, Sender: "2"}, messages.Command{Name: "cost"})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, text, "$5.00 of $5.00 for you today, $10.00 of $10.00 for this group today")
	d.Limits = budgets.Limits{}
	if text := ask(t, d, k, "cost"); strings.Contains(text, "Left") {
		t.Errorf("without limits: %q", text)
	}
}

var errAway = errors.New("away")

type away struct{ commands.Reader }

func (away) Mailbox(context.Context, string) (sessions.Mailbox, error) {
	return sessions.Mailbox{}, errAway
}

func TestWhenTheStoreIsAwayTheDeskDoesNotMakeAnythingUp(t *testing.T) {
	t.Parallel()
	d, _, k := desk(t)
	d.Store = away{d.Store}
	for _, name := range []string{"status", "cost"} {
		if text, err := d.Answer(t.Context(), asker(k), messages.Command{Name: name}); !errors.Is(err, errAway) || text != "" {
			t.Errorf("/%s: %q, %v", name, text, err)
		}
	}
}

func TestAnUnknownCommandIsAnsweredByTheOneThatWasPerhapsMeant(t *testing.T) {
	t.Parallel()
	d, _, k := desk(t)
	for name, want := range map[string]string{
		"stats": "I do not know the command !stats: did you mean !status?", "new-chat": "I do not know the command !new-chat: did you mean !new?",
		"tmp":                     "I do not know the command !tmp: there are !new, !sessions, !resume, !title, !compact, !model, !provider, !plan, !approvals, !approve, !deny, !answer, !pair, !access, !schedules, !goal, !done, !stop, !status, !cost, !why, !agents and !help.",
		strings.Repeat("long", 9): "I do not know that command: there are !new, !sessions, !resume, !title, !compact, !model, !provider, !plan, !approvals, !approve, !deny, !answer, !pair, !access, !schedules, !goal, !done, !stop, !status, !cost, !why, !agents and !help.",
	} {
		by := asker(k)
		by.Sign = "!"
		got, err := d.Answer(t.Context(), by, messages.Command{Name: name})
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// requirements AC04: the colours change at 70 and above 90 percent, and of an unknown window
// nothing is said.
func TestStatusShowsHowFullTheWindowIs(t *testing.T) {
	t.Parallel()
	d, s, k := desk(t)
	me := sessions.Worker{Name: "w", Nonce: "n"}
	if err := s.Heartbeat(t.Context(), me, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	m, _, err := s.Touch(t.Context(), sessions.Touch{Token: k.Token(), Key: k, Seq: 1, By: me, Take: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Open(t.Context(), m.Fence(), sessions.OpenTurn{
		Turn:    sessions.Turn{ID: "t", Seq: 1, Channel: "tg", From: k.Address(), OpenedAt: now},
		Message: transcript.Message{ID: "u", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: strings.Repeat("word", 5000)}}},
	}); err != nil {
		t.Fatal(err)
	}
	history, err := s.Messages(t.Context(), m.Session)
	if err != nil {
		t.Fatal(err)
	}
	tokens := pressure.Measure(history, "", 0).Tokens
	for percent, colour := range map[int64]string{1: "🟢", 69: "🟢", 70: "🟡", 90: "🟡", 91: "🔴", 100: "🔴"} {
		d.Ladder = func(string, string) pressure.Ladder {
			return pressure.Ladder{Window: (100*tokens + percent - 1) / percent}
		}
		contains(t, ask(t, d, k, "status"), fmt.Sprintf("Context: %s about ", colour), fmt.Sprintf("(%d %%)", percent))
	}
	for _, ladder := range []func(string, string) pressure.Ladder{nil, func(string, string) pressure.Ladder { return pressure.Ladder{} }} {
		d.Ladder = ladder
		if got := ask(t, d, k, "status"); strings.Contains(got, "Context") {
			t.Errorf("of an unknown window it says %q", got)
		}
	}
}
