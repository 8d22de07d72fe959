package admin_test

import (
	"errors"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
)

// An operator sees the jobs, and has one run, also one that is not enabled; its answer goes to the
// place that the configuration names, and a job that a reload removes does not run any more.
func TestAnOperatorRunsAJob(t *testing.T) {
	t.Parallel()
	gw, ask := newEnv(t, gatewaytest.Options{Change: func(c *settings.Config) {
		for name, a := range c.Channels.Telegram {
			a.Access.Groups = []string{"-2001"}
			c.Channels.Telegram[name] = a
			off := false
			c.Cron.Jobs = []settings.JobConfig{
				{Name: "leap", Schedule: "0 0 29 2 *", Prompt: "x", To: settings.JobTarget{Account: name, Group: "-2001"}},
				{Name: "tidy_up", Schedule: "0 7 * * 1-5", TimeZone: "Europe/Berlin", Prompt: "tidy up", To: settings.JobTarget{Account: name, Group: "-2001"}, Enabled: &off},
			}
		}
	}})
	page, err := ask.Jobs(t.Context())
	if err != nil || len(page.Jobs) != 2 {
		t.Fatalf("jobs: %+v, %v", page, err)
	}
	j := page.Jobs[1]
	if j.Name != "tidy_up" || j.Schedule != "0 7 * * 1-5" || j.TimeZone != "Europe/Berlin" || j.State != admin.JobOff || !j.Next.IsZero() || j.Last != nil || page.Jobs[0].Next.IsZero() {
		t.Errorf("before it ran: %+v", page)
	}
	gw.AskIn(gatewaytest.Kitchen, gatewaytest.Ann, "@"+gatewaytest.Username+" hello") // so the bot knows the group
	if _, err := ask.RunJob(t.Context(), "tidy_up"); err != nil {
		t.Fatal(err)
	}
	answer := gw.NextDelivered()
	if text := gw.Env.DeliveredText(gatewaytest.Kitchen, answer); !strings.HasSuffix(text, "tidy up") || answer.Chat != "-2001" {
		t.Errorf("it answered %q in %s", text, answer.Chat)
	}
	if page, err = ask.Jobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := page.Jobs[1].Last; l == nil || l.Outcome != "end_turn" || l.Cost == 0 || l.At.IsZero() || l.Session == "" {
		t.Errorf("after it ran: %+v", page.Jobs[1])
	}
	gw.Reconfigure(func(c *settings.Config) { c.Cron.Jobs = c.Cron.Jobs[:1] })
	var refused *admin.Error
	if _, err := ask.RunJob(t.Context(), "tidy_up"); !errors.As(err, &refused) || refused.Kind != admin.NotFound || !strings.Contains(refused.Message, `no job "tidy_up"`) {
		t.Errorf("a job that is gone: %v", err)
	}
}
