package commands_test

import (
	"context"
	"testing"
	"time"

	"parley/costs"
	"parley/gateway/fates"
	"parley/gateway/messages"
	"parley/sessions"
	"parley/transcript"
)

// known is a Fates that knows of one message, or fails.
type known struct {
	fate  *fates.Fate
	err   error
	asked fates.Own
}

func (k *known) FindOwn(_ context.Context, o fates.Own) (*fates.Fate, error) {
	k.asked = o
	return k.fate, k.err
}

// after returns the time so much after now.
func after(d time.Duration) time.Time { return now.Add(d) }

// ended returns what became of a direct message whose turn is over.
func ended(how transcript.FinishReason) fates.Fate {
	return fates.Fate{
		ReceivedAt: now, QueuedAt: now, Verdict: fates.Ended, Why: "a direct message",
		Turn:  &sessions.Turn{State: sessions.Done, Attempts: 1, OpenedAt: after(400 * time.Millisecond), EndedAt: after(2900 * time.Millisecond), Outcome: how},
		Money: fates.Money{Calls: 1, Reserved: 4e10, Spent: 2e9, Total: 2e9},
	}
}

// whyOf returns the answer to !why of somebody of whose message that is known.
func whyOf(t *testing.T, f *fates.Fate) string {
	t.Helper()
	d, _, k := desk(t)
	d.Fates = &known{fate: f}
	by := asker(k)
	by.Sign = "!"
	text, err := d.Answer(t.Context(), by, messages.Command{Name: "why"})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Of a budget that others share it is nobody's business how much it is and how much is used.
func TestWhyOfABudget(t *testing.T) {
	t.Parallel()
	const begin = "Your message of 12:00:00 UTC on 1 May:\n– heard: a direct message\n– taken up after 400ms, ended by a budget 2.5s later\n"
	const end = "– set aside: $0.0400 for 1 call; spent: $0.0020"
	midnight := time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		refused *costs.BudgetError
		want    string
	}{
		"the bot's is named without amounts": {
			&costs.BudgetError{Scope: "global", Limit: 50 * costs.USD, Spent: 49 * costs.USD, Need: 2 * costs.USD, Free: midnight},
			"– the reason: the budget of this bot for today is used up, until 00:00 UTC on 2 May\n",
		},
		"the asker's is told, and when it is free": {
			&costs.BudgetError{Scope: "person", Limit: 5 * costs.USD, Spent: 4 * costs.USD, Need: 2 * costs.USD, Free: midnight},
			"– the reason: you may spend $5.00 a day here, $4.00 of it is used or set aside, and the rest is not enough for this, until 00:00 UTC on 2 May\n",
		},
		"the conversation's is told, and how to begin another": {
			&costs.BudgetError{Scope: "session", Limit: 5 * costs.USD, Spent: 4 * costs.USD, Need: 2 * costs.USD},
			"– the reason: one conversation may cost $5.00 here, $4.00 of it is used or set aside, and the rest is not enough for this; !new starts a new one\n",
		},
		"a model without a price is told as such": {
			&costs.BudgetError{Scope: "session", Limit: 5 * costs.USD, Unpriced: true},
			"– the reason: nobody told me what my model costs, and spending is limited here, so please tell the operator\n",
		},
		"a cost that was reached without a refusal has no reason": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := ended(transcript.Budget)
			f.Turn.Refused = c.refused
			if got, want := whyOf(t, &f), begin+c.want+end; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	t.Run("a refusal that did not end the turn is not its reason", func(t *testing.T) {
		t.Parallel()
		f := ended(transcript.EndTurn)
		f.Turn.Refused = &costs.BudgetError{Scope: "session", Limit: 5 * costs.USD}
		if got, want := whyOf(t, &f), "Your message of 12:00:00 UTC on 1 May:\n– heard: a direct message\n– taken up after 400ms, answered 2.5s later\n"+end; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
