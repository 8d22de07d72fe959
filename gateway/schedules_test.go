package gateway_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
)

// planning schedules what a person says behind the word, and does all else by saying it.
func planning(_ context.Context, p *model.Prompt) model.Answer {
	if rs := p.Answering(); len(rs) > 0 {
		return model.Reply(model.Say(rs[0].Text))
	}
	task, ok := strings.CutPrefix(p.LastText(), "schedule ")
	if ok && slices.ContainsFunc(p.Tools, func(t model.Tool) bool { return t.Name == "schedule" }) {
		return model.Reply(model.Use("schedule", map[string]string{"action": "add", "task": task, "schedule": "0 9 * * 1-5", "time_zone": "Europe/Berlin"}))
	}
	return model.Reply(model.Say(p.LastText()))
}

// A person schedules something by saying so; it runs, for them, in their chat and from their money; the
// operator sees what it costs, and /schedules removes it. A guest cannot. (docs/decisions/0090)
func TestAPersonSchedulesByTalking(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: planning, Change: func(c *settings.Config) { c.Cron.People.Enabled = true }})
	gw := env.Start()
	ask := admin.NewClient(gw.AdminSocket())
	told := gw.Ask(gatewaytest.Ann, "schedule good morning")
	code := regexp.MustCompile(`^Scheduled as ([a-z2-7]{5}): 0 9 \* \* 1-5, next on .* 09:00 \(Europe/Berlin\): good morning. There are no runs yet`).FindStringSubmatch(told)
	if code == nil {
		t.Fatalf("told %q", told)
	}
	jobs := func() []admin.Job {
		t.Helper()
		page, err := ask.Jobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return page.Jobs
	}
	all := jobs()
	if len(all) != 1 || all[0].Person != "1001" || all[0].State != admin.JobIdle || all[0].Next.IsZero() || all[0].Runs != 0 || !strings.HasSuffix(all[0].Name, code[1]) {
		t.Fatalf("jobs: %+v", all)
	}
	for range 3 {
		if _, err := ask.RunJob(t.Context(), all[0].Name); err != nil {
			t.Fatal(err)
		}
		if got := gw.NextDelivered(); got.Chat != "1001" {
			t.Errorf("it answered in %s", got.Chat)
		}
	}
	if j := jobs()[0]; j.Runs != 3 || j.Cost == 0 || j.Last == nil || j.Last.Outcome != "end_turn" || j.Cost < 3*j.Last.Cost-3 {
		t.Errorf("after three runs: %+v", j)
	}
	if st, err := ask.Status(t.Context()); err != nil || st.Schedules.Jobs != 1 || st.Schedules.People != 1 || st.Schedules.Next.IsZero() || st.Schedules.Failing != 0 {
		t.Errorf("status: %+v, %v", st.Schedules, err)
	}
	if again := gw.Ask(gatewaytest.Ann, "schedule lunch"); !strings.Contains(again, "the median of 3 such runs; this is ") {
		t.Errorf("told %q", again)
	}
	if list := gw.Ask(gatewaytest.Ann, "/schedules"); strings.Count(list, "Europe/Berlin") != 2 {
		t.Errorf("listed %q", list)
	}
	if got := gw.Ask(gatewaytest.Ann, "/schedules remove "+code[1]); got != "Done: "+code[1]+" is removed." {
		t.Errorf("told %q", got)
	}
	if left := jobs(); len(left) != 1 || strings.HasSuffix(left[0].Name, code[1]) {
		t.Errorf("left %+v", left)
	}
	list, err := ask.Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) < 4 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, s := range list.Sessions {
		if s.Messages > 2 { // that in which it was scheduled
			replaysTheSame(t, recordingOf(t, gw, string(s.ID)))
		}
	}
	gw.Reconfigure(func(c *settings.Config) {
		for name, a := range c.Channels.Telegram {
			a.Access.Roles.Guest = []string{"1001"}
			c.Channels.Telegram[name] = a
		}
	})
	if got := gw.Ask(gatewaytest.Ann, "schedule good night"); got != "schedule good night" {
		t.Errorf("a guest is told %q", got)
	}
	if j := jobs()[0]; j.State != admin.JobOff {
		t.Errorf("what a guest has scheduled: %+v", j)
	}
	if got := gw.Ask(gatewaytest.Ann, "/schedules"); got != "You may talk to me here, but not schedule anything." {
		t.Errorf("a guest is told %q", got)
	}
}
