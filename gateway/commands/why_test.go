package commands_test

import (
	"context"
	"errors"
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

// heardAndTaken begins the answer to /why of that message.
const heardAndTaken = "Your message of 12:00:00 UTC on 1 May:\n– heard: a direct message\n– taken up after 400ms, "

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

// Who asks reads in plain words what became of their message, and of none
// that is not theirs.
func TestWhy(t *testing.T) {
	t.Parallel()
	const unknown = "I know nothing of such a message of yours here. I remember those of this conversation, since it began; reply with this command to one of your messages, or to my answer."
	t.Run("nothing is known where nothing is remembered", func(t *testing.T) {
		t.Parallel()
		d, _, k := desk(t)
		if got := ask(t, d, k, "why"); got != unknown {
			t.Errorf("%q", got)
		}
	})
	t.Run("nothing is known of another person's message", func(t *testing.T) {
		t.Parallel()
		if got := whyOf(t, nil); got != unknown {
			t.Errorf("%q", got)
		}
	})
	t.Run("it is looked for by who asks, where, and what they reply to", func(t *testing.T) {
		t.Parallel()
		d, _, k := desk(t)
		asked := &known{err: errAway}
		d.Fates = asked
		by := asker(k)
		by.Channel, by.Chat, by.Quoted = "tg", "1001", "9"
		if text, err := d.Answer(t.Context(), by, messages.Command{Name: "why"}); text != "" || !errors.Is(err, errAway) {
			t.Errorf("%q, %v", text, err)
		}
		if want := (fates.Own{Token: k.Token(), Channel: "tg", Chat: "1001", Sender: "1", Message: "9"}); asked.asked != want {
			t.Errorf("asked for %+v, want %+v", asked.asked, want)
		}
	})
	for name, c := range map[string]struct {
		fate fates.Fate
		want string
	}{
		"it was passed over": {
			fates.Fate{Verdict: fates.PassedOver, Why: "in a group the bot answers what mentions it"},
			"– passed over: in a group the bot answers what mentions it",
		},
		"it was answered at once": {
			fates.Fate{Verdict: fates.AtOnce, Why: "the command /status, which does not wait for its turn"},
			"– answered at once: the command /status, which does not wait for its turn",
		},
		"it was given up, and why is not said": {
			fates.Fate{Verdict: fates.DeadLettered, Why: "the body is no JSON"},
			"– given up, because I failed at it several times or cannot read it; the operator can see why",
		},
		"it waits": {
			fates.Fate{Verdict: fates.Waiting, Why: "a direct message", QueuedAt: after(time.Second)},
			"– heard: a direct message\n– waits for its turn since 12:00:01 UTC on 1 May",
		},
		"it was a command": {
			fates.Fate{Verdict: fates.Command, Why: "a direct message", Answers: []sessions.Delivery{{Parts: []sessions.Part{part(sessions.Sent)}}}},
			"– heard: a direct message\n– carried out as a command, without a model\n– sent at 12:00:05 UTC on 1 May, in 1 message",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.fate.ReceivedAt = now
			if got, want := whyOf(t, &c.fate), "Your message of 12:00:00 UTC on 1 May:\n"+c.want; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestWhyOfATurn(t *testing.T) {
	t.Parallel()
	const spent = "\n– set aside: $0.0400 for 1 call; spent: $0.0020"
	for outcome, want := range map[transcript.FinishReason]string{
		transcript.EndTurn: "answered 2.5s later", transcript.Done: "answered 2.5s later",
		transcript.MaxTokens: "answered 2.5s later, and the answer was cut because it was too long",
		transcript.Canceled:  "stopped 2.5s later", transcript.Stopped: "stopped 2.5s later",
		transcript.Waiting:          "ended 2.5s later with a question for permission",
		transcript.PermissionDenied: "ended 2.5s later because permission was denied",
		transcript.Budget:           "ended by a budget 2.5s later",
		transcript.MaxIterations:    "ended 2.5s later after as many steps as I may take",
		transcript.ContextLimit:     "ended 2.5s later because the conversation has become too long for me",
		transcript.Refusal:          "ended 2.5s later because the model would not answer",
		transcript.TimedOut:         "given up 2.5s later because it took too long",
		transcript.Failed:           "failed 2.5s later",
		"of_another_version":        "ended 2.5s later: of another version",
	} {
		t.Run("it is said that it ended with "+string(outcome), func(t *testing.T) {
			t.Parallel()
			f := ended(outcome)
			if got, want := whyOf(t, &f), heardAndTaken+want+spent; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	for name, c := range map[string]struct {
		change func(f *fates.Fate)
		want   string
	}{
		"one that runs is not over": {
			func(f *fates.Fate) { f.Turn.State = "" }, heardAndTaken + "and I am still at it" + spent,
		},
		"one that was begun again says so": {
			func(f *fates.Fate) { f.Turn.Attempts = 3 }, heardAndTaken + "answered 2.5s later; I began 3 times" + spent,
		},
		"who joined one waited from their own message on": {
			func(f *fates.Fate) {
				f.Joined = true
				f.Turn.OpenedAt, f.Turn.EndedAt = after(-time.Minute), after(1200*time.Millisecond)
			},
			"Your message of 12:00:00 UTC on 1 May:\n– heard: a direct message\n– joined what I was doing for an earlier message of yours, answered 1.2s later" + spent,
		},
		"clocks that differ make nothing negative": {
			func(f *fates.Fate) { f.Turn.OpenedAt, f.Turn.EndedAt = after(-time.Second), after(-2*time.Second) },
			"Your message of 12:00:00 UTC on 1 May:\n– heard: a direct message\n– taken up after 0s, answered 0s later" + spent,
		},
		"the share of sub-agents and what is held are told": {
			func(f *fates.Fate) {
				f.Money = fates.Money{Calls: 12, Reserved: 3 * costs.USD, Spent: costs.USD, Total: 125 * costs.USD / 100, Held: costs.USD / 2}
			},
			heardAndTaken + "answered 2.5s later\n– set aside: $3.00 for 12 calls; spent: $1.25, $0.2500 of it by sub-agents and for titles; still held: $0.5000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := ended(transcript.EndTurn)
			c.change(&f)
			if got := whyOf(t, &f); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// part returns a message of an answer, marked five seconds after now.
func part(s sessions.SendState) sessions.Part {
	return sessions.Part{State: s, At: after(5 * time.Second)}
}

func TestWhyOfAnAnswer(t *testing.T) {
	t.Parallel()
	unneeded, unconfirmed := part(sessions.Failed), part(sessions.Failed)
	unneeded.Problem, unconfirmed.Reason = sessions.UnneededProblem, sessions.Unconfirmed
	for name, c := range map[string]struct {
		parts []sessions.Part
		want  string
	}{
		"it is not rendered yet":         {nil, "the answer waits to be sent since 12:00:03 UTC on 1 May"},
		"it waits":                       {[]sessions.Part{part(sessions.Queued), part(sessions.Queued)}, "the answer waits to be sent since 12:00:03 UTC on 1 May"},
		"it is on its way":               {[]sessions.Part{part(sessions.Sending), part(sessions.Queued)}, "the answer is being sent"},
		"it is in doubt":                 {[]sessions.Part{part(sessions.Ambiguous)}, "the answer may have arrived, which I do not know yet"},
		"it was refused":                 {[]sessions.Part{part(sessions.Failed)}, "the answer could not be sent; the operator can see why"},
		"it was never confirmed":         {[]sessions.Part{unconfirmed}, "the answer was sent again and again, and I do not know whether it arrived"},
		"it is sent":                     {[]sessions.Part{part(sessions.Sent), part(sessions.Sent)}, "sent at 12:00:05 UTC on 1 May, in 2 messages"},
		"a file is sent":                 {[]sessions.Part{part(sessions.Sent), unneeded}, "sent at 12:00:05 UTC on 1 May, in 1 message"},
		"a sentence stands for its file": {[]sessions.Part{part(sessions.Failed), part(sessions.Sent)}, "1 of 2 messages sent, the last at 12:00:05 UTC on 1 May; another could not be sent; the operator can see why"},
		"its rest waits":                 {[]sessions.Part{part(sessions.Sent), part(sessions.Queued), part(sessions.Queued)}, "1 of 3 messages sent, the last at 12:00:05 UTC on 1 May; another waits to be sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := ended(transcript.EndTurn)
			f.Answers = []sessions.Delivery{{Outgoing: sessions.Outgoing{At: after(3 * time.Second)}, Parts: c.parts}}
			if got, want := whyOf(t, &f), heardAndTaken+"answered 2.5s later\n– set aside: $0.0400 for 1 call; spent: $0.0020\n– "+c.want; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// Of a budget that others share it is nobody's business how much it is and how much is used.
func TestWhyOfABudget(t *testing.T) {
	t.Parallel()
	const begin = heardAndTaken + "ended by a budget 2.5s later\n"
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
		if got, want := whyOf(t, &f), heardAndTaken+"answered 2.5s later\n"+end; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
