package faulttest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley/gateway/faulttest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// Another program polls the bot, Telegram asks for waits, its proxy is down: the
// waits are kept to the second, and nothing is lost or said twice. A group that
// becomes a supergroup keeps its conversation. (F14)
func TestTelegramMayRefuseAsItDoes(t *testing.T) {
	t.Parallel()
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		moving := telegram.Chat{ID: -770_001, Kind: telegram.Group, Title: "moving"}
		eve := telegram.Person{ID: 70_001, FirstName: "Eve"}
		run := faulttest.Open(t, faulttest.Options{Engine: e, Shape: fewer(), Brain: func(l *faulttest.Workload) model.Brain {
			return func(ctx context.Context, p *model.Prompt) model.Answer {
				if !strings.Contains(p.LastText(), "moving") {
					return l.Brain(ctx, p)
				}
				asked := 0
				for _, m := range p.Messages {
					asked += strings.Count(m.Text, "moving")
				}
				return model.Reply(model.Say(strings.Repeat("asked ", asked)))
			}
		}})
		n := faulttest.ScaledSize(100)
		if err := run.Telegram.Plan(
			telegram.Fault{Trouble: telegram.Conflict, Method: "getUpdates", Skip: 3, Next: max(n/50, 1)},
			telegram.Fault{Trouble: telegram.TooManyRequests, Method: "sendMessage", RetryAfter: 1, Every: 9, Next: n},
			telegram.Fault{Trouble: telegram.TooManyRequests, Method: "editMessageText", RetryAfter: 1, Every: 5, Next: n},
			telegram.Fault{Trouble: telegram.TooManyRequests, Method: "getUpdates", RetryAfter: 2, Skip: 2, Next: 1},
			telegram.Fault{Trouble: telegram.BadGateway, Method: "getUpdates", Every: 4, Next: n},
			telegram.Fault{Trouble: telegram.BadGateway, Method: "sendMessage", Every: 11, Next: n},
			telegram.Fault{Trouble: telegram.InternalError, Method: "sendMessage", Every: 13, Next: n},
		); err != nil {
			t.Fatal(err)
		}
		ask := func(c telegram.Chat) {
			if _, err := run.Telegram.Say(c, eve, "@"+faulttest.Username+" moving on", telegram.SayOptions{}); err != nil {
				t.Error(err)
			}
		}
		answered := func(c telegram.Chat, times int) func() bool {
			return func() bool {
				return slices.ContainsFunc(run.Telegram.Books().Messages, func(m telegram.MessageEntry) bool {
					return m.ChatID == c.ID && strings.Count(m.Text(), "asked") == times
				})
			}
		}
		run.Start()
		run.Drive(func(ctx context.Context) {
			ask(moving)
			if !run.WaitUntil(ctx, answered(moving, 1)) {
				return
			}
			super, _, err := run.Telegram.Migrate(moving, eve)
			if err != nil {
				t.Error(err)
				return
			}
			ask(super)
			moving = super
		})
		run.Await("the conversation to go on in the supergroup", answered(moving, 2))
		run.Telegram.ClearFaults()
		report := run.Finish()
		if report.Repeats > 0 || report.Told > 0 {
			t.Errorf("%d repeats, %d told", report.Repeats, report.Told)
		}
		got := run.Telegram.Totals()
		t.Logf("%d faults fell", got.Faults)
		if got.Violations > 0 {
			t.Errorf("%d calls came before a wait was over", got.Violations)
		}
		if got.Faults < n {
			t.Errorf("only %d faults fell", got.Faults)
		}
	})
}

// Each turn shows its whole answer for a while before it is stored, and processes are
// killed meanwhile: what was shown is no answer yet, so it may be asked for again; and
// when it becomes one Telegram is not asked to change it. (firstday T11)
func TestAWholePreviewIsNoAnswerBeforeItsTurnIsStored(t *testing.T) {
	t.Parallel()
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		shape := faulttest.Shape{Tools: -1, Spawns: -1}
		if !faulttest.IsLong() {
			shape.Conversations, shape.Messages = 8, 4
		}
		run := faulttest.Open(t, faulttest.Options{Engine: e, Shape: shape})
		run.Plans.Always("worker.finish.before=delay:2500ms")
		run.Start()
		run.Drive(run.KillRandomly(max(faulttest.ScaledSize(25), 3), 8))
		for i := range run.Processes() {
			run.Restart(i) // what is shown is stored by then
		}
		report := run.Finish()
		if report.Unasked == 0 || report.Extra == 0 {
			t.Errorf("%d messages stood already, and %d calls were made again: the row proves nothing", report.Unasked, report.Extra)
		}
	})
}
