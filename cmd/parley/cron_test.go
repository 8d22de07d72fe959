package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"parley/simulators/model"
	"parley/simulators/telegram"
)

var scheduledCode = regexp.MustCompile(`^Scheduled as ([a-z2-7]{5}): `)

// awaitEnd waits for so many messages that end with a text.
func awaitEnd(t *testing.T, tg *telegram.Server, text string, n int) {
	t.Helper()
	await(t, tg, text, func(b telegram.Book) bool {
		found := 0
		for _, m := range b.Messages {
			if strings.HasSuffix(m.Text(), text) {
				found++
			}
		}
		return found >= n
	})
}

// K04: what cron ls shows of the configuration's jobs and of people's, before they ran and afterwards,
// with what the ledger says that they cost; and what status says of all.
func TestCronListsJobsWithTheirRunsAndCosts(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, func(_ context.Context, p *model.Prompt) model.Answer {
		if rs := p.Answering(); len(rs) > 0 {
			return model.Reply(model.Say(rs[0].Text))
		}
		if task, ok := strings.CutPrefix(p.LastText(), "schedule "); ok {
			return model.Reply(model.Use("schedule", map[string]string{"action": "add", "task": task, "schedule": "0 9 29 2 *", "time_zone": "Europe/Berlin"}))
		}
		return model.Reply(model.Say(p.LastText()))
	})
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	plain, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write := func(cron string) {
		t.Helper()
		if err := os.WriteFile(config, append(append([]byte{}, plain...), cron...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, environment, "run", "--config", config).err.awaitLines(t, 1, "gateway started")
	if out := saidOf(t, "cron", "ls", "-c", config); out != "There are no jobs: cron.jobs lists those of the configuration.\n" {
		t.Errorf("without jobs: %q", out)
	}
	write(`cron:
  people: {enabled: true}
  jobs:
    - {name: leap, schedule: "0 0 29 2 *", time_zone: Europe/Berlin, prompt: leap, to: {account: tg, person: "1001"}}
    - {name: idle, every: 24h, prompt: idle, to: {account: tg, person: "1001"}, enabled: false}
`)
	saidOf(t, "reload", "-c", config)
	say(t, tg, "schedule buy flowers")
	code := ""
	await(t, tg, "that it is scheduled", func(b telegram.Book) bool {
		for _, m := range b.Messages {
			if found := scheduledCode.FindStringSubmatch(m.Text()); found != nil {
				code = found[1]
			}
		}
		return code != ""
	})
	settled(t, config)
	name := regexp.MustCompile(`p\.[0-9a-f]{12}\.` + code)
	list := func() string {
		t.Helper()
		out := saidOf(t, "cron", "ls", "-c", config)
		if !name.MatchString(out) {
			t.Fatalf("without %s: %s", code, out)
		}
		return name.ReplaceAllString(out, "p.PERSON______.CODE_")
	}
	golden(t, "cron ls before", list(), `
NAME                  OWNER    SCHEDULE    TIME ZONE      STATE  NEXT                     LAST  OUTCOME  COST  SESSION  PASSED OVER  RUNS 30D  COST 30D
idle                  -        every 24h                  off    -                        -     -        -     -        -            0         $0.00
leap                  -        0 0 29 2 *  Europe/Berlin  idle   TIME  -     -        -     -        -            0         $0.00
p.PERSON______.CODE_  tg 1001  0 9 29 2 *  Europe/Berlin  idle   TIME  -     -        -     -        -            0         $0.00
`)
	for n := range 2 {
		if out := saidOf(t, "cron", "run", "leap", "-c", config); out != "queued a run of leap: parley cron ls shows how it ends\n" {
			t.Errorf("run: %q", out)
		}
		awaitEnd(t, tg, "leap", n+1)
		settled(t, config)
	}
	saidOf(t, "cron", "run", name.FindString(saidOf(t, "cron", "ls", "-c", config)), "-c", config)
	awaitEnd(t, tg, "buy flowers", 1)
	settled(t, config)
	out := list()
	for _, want := range []string{
		`(?m)^leap .* idle +\S+ \S+ \S+ +\S+ \S+ \S+ +end_turn +\$0\.\d+ +\S{26} +- +2 +\$0\.\d+$`,
		`(?m)^p\.PERSON______\.CODE_ +tg 1001 .* end_turn +\$0\.\d+ +\S{26} +- +1 +\$0\.\d+$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("cron ls afterwards:\n%s\nwant %s", out, want)
		}
	}
	if out := saidOf(t, "status", "-c", config); !regexp.MustCompile(`(?m)^schedules      2 jobs \(1 of people\), the next at \S+ \S+ \S+$`).MatchString(out) {
		t.Errorf("status: %s", out)
	}
	if status, _, said := asked(t, "cron", "run", "nothing", "-c", config); status == exitOK || !strings.Contains(said, `no job "nothing"`) {
		t.Errorf("a job that is none: %d, %s", status, said)
	}
	say(t, tg, "/schedules remove "+code)
	await(t, tg, "that it is removed", answer("Done: "+code+" is removed."))
	if out := saidOf(t, "cron", "ls", "-c", config); name.MatchString(out) {
		t.Errorf("after it was removed: %s", out)
	}
}
