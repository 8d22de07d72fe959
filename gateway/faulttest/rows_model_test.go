package faulttest_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/gateway/faulttest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// fewer is a load for rows in which nothing is killed.
func fewer() faulttest.Shape {
	if faulttest.IsLong() {
		return faulttest.Shape{}
	}
	return faulttest.Shape{Conversations: 10, Messages: 6}
}

// ill are questions that are not of the load: the model fails each in its way.
type ill struct {
	word  string
	fault model.Fault
	calls int    // that are made for it
	told  string // part of what is said instead of an answer; "": it is answered
}

// askIll lets one person for each say the word, and checks how often the model
// was asked and what was said.
func askIll(t *testing.T, run *faulttest.Run, all []ill) (check func()) {
	t.Helper()
	chats := map[string]telegram.Chat{}
	for i, q := range all {
		q.fault.Match = q.word
		if q.fault.Next == 0 {
			q.fault.Next = 1 << 20
		}
		if err := run.Model.Plan(q.fault); err != nil {
			t.Fatal(err)
		}
		p := telegram.Person{ID: int64(80_000 + i), FirstName: "Ill"}
		chats[q.word] = telegram.PrivateChat(p)
		if _, err := run.Telegram.Say(chats[q.word], p, q.word, telegram.SayOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	said := func(word string) (texts []string) {
		for _, m := range run.Telegram.Books().Messages {
			if m.ChatID == chats[word].ID {
				texts = append(texts, m.Text())
			}
		}
		return texts
	}
	return func() {
		t.Helper()
		for _, q := range all {
			want := cmp.Or(q.told, "well: "+q.word)
			run.Await("words about "+q.word, func() bool {
				return slices.ContainsFunc(said(q.word), func(s string) bool { return strings.Contains(strings.ToLower(s), want) })
			})
			if got := said(q.word); len(got) != 1 {
				t.Errorf("%s: told %q", q.word, got)
			}
			calls := 0
			for _, r := range run.Model.Requests() {
				if bytes.Contains(r.Body, []byte(`"`+q.word+`"`)) {
					calls++
				}
			}
			if calls != q.calls {
				t.Errorf("%s: the model was asked %d times, not %d", q.word, calls, q.calls)
			}
		}
	}
}

// well answers those who are not of the load.
func well(l *faulttest.Workload) model.Brain {
	return func(ctx context.Context, p *model.Prompt) model.Answer {
		if text := p.LastText(); strings.HasPrefix(text, "ill") {
			return model.Reply(model.Say("well: " + text))
		}
		return l.Brain(ctx, p)
	}
}

// The model refuses: too many requests, with and without a word how long,
// overloaded, broken, a bad request, a bad key. What passes is tried again, eight
// times at most and not before the model allows it; what does not is said once.
// (F10)
func TestAModelThatRefusesIsAskedAgainOnlyWhenThatHelps(t *testing.T) {
	t.Parallel()
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		run := faulttest.Open(t, faulttest.Options{
			Engine: e, Shape: fewer(), Brain: well,
			Config: map[string]string{"retry": "{base: 20ms}"},
		})
		const wait = time.Second
		some := func(status int, p float64, seed uint64, f model.Fault) model.Fault {
			f.Kind, f.Status, f.Probability, f.Seed, f.Match = model.FaultStatus, status, p, seed, "question"
			return f
		}
		check := askIll(t, run, []ill{
			{"ill with 529 for ever", model.Fault{Kind: model.FaultStatus, Status: 529}, 9, "too busy"},
			{"ill with 400", model.Fault{Kind: model.FaultStatus, Status: 400}, 1, "did not accept"},
			{"ill with 401", model.Fault{Kind: model.FaultStatus, Status: 401}, 1, "cannot be used"},
			{"ill with 500 twice", model.Fault{Kind: model.FaultStatus, Status: 500, Next: 2}, 3, ""},
			{"ill with 429 and a wait", model.Fault{Kind: model.FaultStatus, Status: 429, RetryAfter: model.Duration(wait), Next: 3}, 4, ""},
			{"ill with 429 and a date", model.Fault{Kind: model.FaultStatus, Status: 429, RetryAfter: model.Duration(wait), RetryDate: true, Next: 1}, 2, ""},
		})
		if err := run.Model.Plan(
			// Rare enough that no call comes to its ninth refusal.
			some(429, 0.06, 1, model.Fault{}), some(429, 0.04, 2, model.Fault{RetryAfter: model.Duration(wait)}),
			some(529, 0.06, 3, model.Fault{}), some(500, 0.04, 4, model.Fault{HTMLBody: true}),
		); err != nil {
			t.Fatal(err)
		}
		run.Start()
		run.Drive()
		check()
		report := run.Finish()
		if report.Told > 0 {
			t.Errorf("%d questions were only told of", report.Told)
		}
		obeyed(t, run, "ill with 429 and a wait", wait)
		t.Logf("%d refusals", run.Model.Bill().Outcomes[model.Refused])
	})
}

// A process is killed around the commits of calls while both models of the agent refuse some, so
// that the other answers in place of the first, or the first is called again. Everybody is answered
// once, and each call is on the books of who answered it. (F10)
func TestKilledWhileAnotherModelAnswersNothingIsLostOrPaidTwice(t *testing.T) {
	t.Parallel()
	faulttest.SkipUnlessLong(t, "F1 kills the process, F10 is the row of a model that refuses, and TestAnotherProviderAnswersWhileOneIsDown (gateway) that of the fall-back")
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		run := faulttest.Open(t, faulttest.Options{
			Engine: e, Shape: faulttest.Shape{Tools: 0.4, Titles: true}.Compacting(), Fallback: true,
			Config: map[string]string{"retry": "{base: 20ms}"},
		})
		kills := faulttest.ScaledSize(60)
		run.Plans.KillAt(kills, 1, 20, "agent.reserve.after", "agent.settle.before", "agent.settle.after")
		if err := run.Model.Plan(model.Fault{Kind: model.FaultStatus, Status: 529, Probability: 0.2, Seed: 1, Match: "question"}); err != nil {
			t.Fatal(err)
		}
		if report := killed(t, run, kills); report.Fallbacks < kills {
			t.Errorf("%d rows of calls of the fall-back, and %d kills", report.Fallbacks, kills)
		}
	})
}

// obeyed holds the times between the requests of one question to the wait.
func obeyed(t *testing.T, run *faulttest.Run, word string, wait time.Duration) {
	t.Helper()
	var before time.Time
	for _, r := range run.Model.Requests() {
		if !bytes.Contains(r.Body, []byte(`"`+word+`"`)) {
			continue
		}
		if gap := r.At.Sub(before); !before.IsZero() && gap < wait {
			t.Errorf("asked again %s after it was asked to wait %s", gap, wait)
		}
		before = r.At
	}
}

// The model falls silent, breaks off, or says what is no answer. What was cut off
// is never taken for whole, no tool runs of half a call, and everybody is answered
// or told. (F11)
func TestAModelThatBreaksOffIsNeverTakenForOneThatAnswered(t *testing.T) {
	t.Parallel()
	faulttest.SkipUnlessLong(t, "F10 is the row of the model, and the suite of package llmtest breaks off each answer in each way")
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		hold, timeout := 500*time.Millisecond, 20*time.Second // a turn that is well is never near it
		if faulttest.IsLong() {
			hold, timeout = 0, 90*time.Second // silent until somebody gives up
		}
		shape := fewer()
		shape.Spawns = -1 // a question that is only told of may have begun some
		run := faulttest.Open(t, faulttest.Options{
			Engine: e, Shape: shape, Brain: well,
			Config: map[string]string{
				"retry":   "{base: 20ms}",
				"circuit": "{failures: -1}", // half of its answers are spoilt, so it would not be called any more
				"worker":  fmt.Sprintf("{turns: 64, attempts: 50, lease: %s, turn_timeout: %s}", faulttest.Lease, timeout),
			},
		})
		check := askIll(t, run, []ill{
			{"ill with a byte a second", model.Fault{Kind: model.FaultSlow, Hold: model.Duration(time.Second)}, 1, "too long"},
		})
		kinds := []model.Fault{
			{Kind: model.FaultSilentBefore, Hold: model.Duration(hold)},
			{Kind: model.FaultSilentAfter, Hold: model.Duration(hold), After: 4},
			{Kind: model.FaultClose, After: 3},
			{Kind: model.FaultCut, After: 5},
			{Kind: model.FaultEnd, After: 6},
			{Kind: model.FaultErrorEvent, After: 4, Status: 529},
			{Kind: model.FaultErrorEvent, Status: 500},
			{Kind: model.FaultGarbage, After: 3},
			{Kind: model.FaultHTML},
			{Kind: model.FaultNoUsage},
			{Kind: model.FaultSlow, Hold: model.Duration(time.Millisecond)},
			{Kind: model.FaultCut},
			{Kind: model.FaultEnd, After: 2},
		}
		for i, f := range kinds {
			f.Probability, f.Seed, f.Match = 0.04, uint64(i), "question"
			if err := run.Model.Plan(f); err != nil {
				t.Fatal(err)
			}
		}
		run.Start()
		run.Drive()
		check()
		report := run.Finish()
		hit := 0
		for _, f := range run.Model.Faults() {
			hit += f.Hits
		}
		t.Logf("%d answers were spoilt, %d questions told of", hit, report.Told)
		if hit < len(kinds) || report.Told > hit {
			t.Errorf("%d answers were spoilt, and %d questions told of", hit, report.Told)
		}
	})
}
