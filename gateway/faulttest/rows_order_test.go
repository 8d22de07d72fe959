package faulttest_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"parley/gateway/admin"
	"parley/gateway/faulttest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// Telegram brings many updates again, up to four times and some of them much
// later, and in whatever order it likes. Each is answered once. (F15)
func TestBroughtAgainAndOutOfOrderEachMessageIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name    string
		webhook bool
	}{{"polled", false}, {"brought", true}} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			if !way.webhook {
				faulttest.SkipUnlessLong(t, "updates come again and out of order by webhook")
			}
			faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
				// Telegram may change the order only of what it has at one time.
				run := faulttest.Open(t, faulttest.Options{Engine: e, Webhook: way.webhook, Shape: faulttest.Shape{Ahead: 1}})
				late := 2 * time.Second
				if faulttest.IsLong() {
					late = 150 * time.Second // the log's own memory is 120 s long
				}
				again := func(p float64, after time.Duration, copies int) telegram.Fault {
					return telegram.Fault{Trouble: telegram.Redelivered, Probability: p, After: after, Copies: copies}
				}
				if err := run.Telegram.Plan(
					again(0.3, 0, 1), again(0.3, 0, 4), again(0.4, late, 2),
					telegram.Fault{Trouble: telegram.Reordered},
				); err != nil {
					t.Fatal(err)
				}
				run.Start()
				run.Drive()
				run.Await("the last copies", func() bool { return run.Telegram.Totals().Confirmed >= run.Workload.Questions() })
				report := run.Finish()
				if report.Repeats > 0 || report.Told > 0 || report.Extra != 0 {
					t.Errorf("%d repeats, %d told, %d extra calls", report.Repeats, report.Told, report.Extra)
				}
				handed := 0
				for _, u := range run.Telegram.Books().Updates {
					handed += u.Handed
				}
				t.Logf("%d updates were handed over %d times", run.Workload.Questions(), handed)
				if handed < 2*run.Workload.Questions() {
					t.Error("hardly anything came again")
				}
			})
		})
	}
}

// physic is what people take who are not of the load.
var physic = regexp.MustCompile(`(poison[12]|medicine)$`)

// Messages that make the worker panic, before their turn is opened or in it, are
// put aside after three tries and their sender is told once; everybody else is
// answered as ever, and so is the sender afterwards. (F20)
func TestAMessageThatPanicsEachTimeIsPutAsideAndOthersAreAnswered(t *testing.T) {
	t.Parallel()
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		run := faulttest.Open(t, faulttest.Options{
			Engine: e,
			Config: map[string]string{"worker": fmt.Sprintf("{turns: 64, attempts: 3, lease: %s}", faulttest.Lease)},
			Brain: func(l *faulttest.Workload) model.Brain {
				return func(ctx context.Context, p *model.Prompt) model.Answer {
					if m := physic.FindString(p.LastText()); m != "" {
						return model.Reply(model.Say(m + " taken"))
					}
					return l.Brain(ctx, p)
				}
			},
		})
		run.Plans.Always("worker.open.before[poison1]=panic,worker.finish.before[poison2]=panic")
		run.Start()
		n := max(faulttest.ScaledSize(10), 4)
		var told []telegram.Chat
		run.Drive(func(ctx context.Context) {
			for i := range n {
				run.AwaitSent(ctx, 5)
				p := telegram.Person{ID: int64(90_000 + i), FirstName: "Eve"}
				told = append(told, telegram.PrivateChat(p))
				for _, text := range []string{fmt.Sprintf("poison%d", 1+i%2), "medicine"} {
					if _, err := run.Telegram.Say(telegram.PrivateChat(p), p, text, telegram.SayOptions{}); err != nil {
						t.Error(err)
					}
				}
			}
		})
		said := func(chat int64) (all []string) {
			for _, m := range run.Telegram.Books().Messages {
				if m.ChatID == chat {
					all = append(all, m.Text())
				}
			}
			return all
		}
		for _, c := range told {
			run.Await("the words after the poison", func() bool { return len(said(c.ID)) >= 2 })
		}
		var letters []admin.DeadLetter
		if err := run.Admin().DeadLetters().List(t.Context(), func(l admin.DeadLetter) bool {
			letters = append(letters, l)
			return true
		}); err != nil {
			t.Error(err)
		}
		report := run.Finish()
		const notice = "I could not handle that message: it failed every time I tried. It was put aside for the operator."
		for _, c := range told {
			if got := said(c.ID); len(got) != 2 || got[0] != notice || got[1] != "medicine taken" {
				t.Errorf("chat %d was told %q", c.ID, got)
			}
		}
		if len(letters) != n || report.Told > 0 || report.Repeats > 0 {
			t.Errorf("%d dead letters of %d, %d questions told, %d repeats", len(letters), n, report.Told, report.Repeats)
		}
	})
}

// Processes are asked to end and started anew, one after the other, while the
// load goes on. Nobody sees more than a pause. (F21)
func TestRestartedInOrderUnderLoadNobodySeesMoreThanAPause(t *testing.T) {
	t.Parallel()
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		shape := faulttest.Shape{}
		if !faulttest.IsLong() {
			shape.Messages = 10 // enough for the restarts, however long they take
		}
		run := faulttest.Open(t, faulttest.Options{Engine: e, Shape: shape})
		run.Start()
		restarts := max(faulttest.ScaledSize(20), 3)
		run.Pace.SetRounds(restarts)
		var longest time.Duration
		run.Drive(func(ctx context.Context) {
			for i := range restarts {
				if !run.AwaitSent(ctx, 10) {
					t.Errorf("the load was over after %d restarts", i)
					return
				}
				began := time.Now()
				run.Restart(i % run.Processes())
				longest = max(longest, time.Since(began))
			}
		})
		report := run.Finish()
		t.Logf("%d restarts, the longest took %s", restarts, longest.Round(time.Millisecond))
		if report.Repeats > 0 || report.Told > 0 || report.Extra > 0 || report.Doubts > 0 {
			t.Errorf("%d repeats, %d told, %d extra calls, %d rows in doubt", report.Repeats, report.Told, report.Extra, report.Doubts)
		}
	})
}
