package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

func cronCommand(p program) *cobra.Command {
	return groupCommand("cron", "Look at what agents do at set times, and have it done now",
		`The jobs stand in the configuration, under cron.jobs, or people have scheduled them in a chat,
where cron.people lets them; docs/operating.md explains both.`,
		listJobsCommand(p), runJobCommand(p))
}

func listJobsCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:   "ls",
		Short: "List the jobs with their next and last runs, and what they cost",
		Long: `ls lists the jobs of the configuration and, with an owner, what people have scheduled. COST is
that of the last run; the last two columns are of the runs of the last 30 days. All are the
ledger's, with sub-agents.`,
	}, func(ctx context.Context, ask *admin.Client, _ []string) (admin.JobPage, error) {
		return ask.Jobs(ctx)
	}, func(b *bytes.Buffer, page admin.JobPage) {
		t := newTable("NAME", "OWNER", "SCHEDULE", "TIME ZONE", "STATE", "NEXT", "LAST", "OUTCOME", "COST", "SESSION", "PASSED OVER", "RUNS 30D", "COST 30D")
		for _, j := range page.Jobs {
			owner, next, last, outcome, cost, session, passed := "-", "-", "-", "-", "-", "-", "-"
			if j.Person != "" {
				owner = sanitize(j.Channel + " " + j.Person)
			}
			if !j.Next.IsZero() {
				next = formatTime(j.Next)
			}
			if l := j.Last; l != nil {
				last, outcome, cost, session = formatTime(l.At), sanitize(l.Outcome), l.Cost.String(), sanitize(string(l.Session))
			}
			if j.Passed > 0 {
				passed = fmt.Sprintf("%d, %s", j.Passed, sanitize(j.Because))
			}
			total := j.Cost.String()
			if j.Unpriced > 0 {
				total += fmt.Sprintf(", %d unpriced", j.Unpriced)
			}
			t.add(sanitize(j.Name), owner, sanitize(j.Schedule), sanitize(j.TimeZone), string(j.State), next, last, outcome, cost, session, passed, strconv.Itoa(j.Runs), total)
		}
		t.printOr(b, "There are no jobs: cron.jobs lists those of the configuration.")
	})
}

func runJobCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:   "run NAME",
		Short: "Have a job run now, once",
		Long: `run queues a run of the job as if it were due now, also if the job is not enabled. Its answer
goes where those of its other runs go, and its schedule stays as it is.`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeWith(p, func(ctx context.Context, ask *admin.Client) (names []string, err error) {
			page, err := ask.Jobs(ctx)
			for _, j := range page.Jobs {
				names = append(names, j.Name)
			}
			return names, err
		}),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.Job, error) {
		return ask.RunJob(ctx, args[0])
	}, func(b *bytes.Buffer, j admin.Job) {
		fmt.Fprintf(b, "queued a run of %s: parley cron ls shows how it ends\n", sanitize(j.Name))
	})
}
