package faulttest

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"parley/simulators/telegram"
)

// firstJobChat is the group to which the load's first job reports, and those below it are the
// others'. No conversation is there.
const firstJobChat = -40_000

// Every minute is a slot of each job. slotLayout is how a run is told of its slot, which it says.
const (
	jobEvery   = time.Minute
	slotLayout = "2006-01-02 15:04 MST"
)

var (
	jobRunIn    = regexp.MustCompile(`^\[scheduled job beat\d+, due (\d{4}-\d\d-\d\d \d\d:\d\d UTC);`)
	jobResultIn = regexp.MustCompile(`^beat at (\d{4}-\d\d-\d\d \d\d:\d\d UTC) ` + end + `$`)
)

// answerJob is what the model says in a run that is due at a slot.
func answerJob(slot string) string { return "beat at " + slot + " " + end }

// jobName is that of the load's job number i.
func jobName(i int) string { return fmt.Sprintf("beat%d", i) }

// jobs is what the configuration says about jobs.
func (l *Workload) jobs() string {
	var jobs []string
	for i := range l.Shape.Jobs {
		jobs = append(jobs, fmt.Sprintf("{name: %s, every: %s, misfire: all, prompt: beat, to: {account: tg, group: \"%d\"}}", jobName(i), jobEvery, firstJobChat-i))
	}
	return "{jobs: [" + strings.Join(jobs, ", ") + "]}"
}

// groups lists all groups, as the configuration has it, if there are jobs: they report to no other.
func (l *Workload) groups() string {
	if l.Shape.Jobs == 0 {
		return ""
	}
	var ids []string
	for _, c := range l.Conversations {
		if c.Chat.Kind == telegram.Group {
			ids = append(ids, fmt.Sprintf("\"%d\"", c.Chat.ID))
		}
	}
	for i := range l.Shape.Jobs {
		ids = append(ids, fmt.Sprintf("\"%d\"", firstJobChat-i))
	}
	return ", groups: [" + strings.Join(ids, ", ") + "]"
}

// isJobChat reports whether only the results of a job are in a chat.
func (l *Workload) isJobChat(chat int64) bool {
	return chat <= firstJobChat && chat > firstJobChat-int64(l.Shape.Jobs)
}

// meetJobs has the bot be in the groups of the jobs, in which nobody speaks to it.
func (l *Workload) meetJobs(tg *telegram.Server) error {
	for i := range l.Shape.Jobs {
		chat := telegram.Chat{ID: firstJobChat - int64(i), Kind: telegram.Group, Title: fmt.Sprintf("job %d", i)}
		if _, err := tg.Say(chat, telegram.Person{ID: 70_000, FirstName: "Joe"}, "good morning", telegram.SayOptions{}); err != nil {
			return fmt.Errorf("say something to job %d: %w", i, err)
		}
	}
	return nil
}

// AwaitJobs waits until each job has reported what was due by now. The checker wants every run
// until then.
func (r *Run) AwaitJobs() {
	r.t.Helper()
	r.jobsThrough = time.Now().UTC().Truncate(jobEvery)
	if !r.jobsThrough.After(r.jobsFrom) {
		return
	}
	r.Await("what the jobs report of the last minute", func() bool {
		reported := jobReports(r.Workload, r.Telegram.Books())
		var logs *logged
		for i := range r.Workload.Shape.Jobs {
			if len(reported[firstJobChat-int64(i)][r.jobsThrough.Format(slotLayout)]) > 0 {
				continue
			}
			if logs == nil {
				var err error
				if logs, err = readLogs(r.Dir); err != nil {
					r.t.Fatal(err)
				}
			}
			if !logs.passed[jobName(i)][r.jobsThrough] {
				return false
			}
		}
		return true
	})
}

// EndJobs has every process that starts from now on be configured without the jobs, so that no
// run begins. Else one may begin between two looks at what was spent.
func (r *Run) EndJobs() { r.jobsEnded.Store(true) }

// jobReports are what people see of the jobs' runs, by chat and slot.
func jobReports(l *Workload, b telegram.Book) map[int64]map[string][]string {
	all := map[int64]map[string][]string{}
	for _, m := range b.Messages {
		found := jobResultIn.FindStringSubmatch(strings.TrimPrefix(m.Text(), repeatMark))
		if !l.isJobChat(m.ChatID) || !m.Deleted.IsZero() || found == nil {
			continue
		}
		if all[m.ChatID] == nil {
			all[m.ChatID] = map[string][]string{}
		}
		all[m.ChatID][found[1]] = append(all[m.ChatID][found[1]], m.Text())
	}
	return all
}

// checkJobs holds what the jobs reported to their slots: each run once, or again with the mark of
// a repeat.
func (r *Report) checkJobs(l *Workload, b Evidence) {
	reported := jobReports(l, b.Telegram)
	for i := range l.Shape.Jobs {
		chat := firstJobChat - int64(i)
		for at := b.JobsFrom.UTC().Truncate(jobEvery).Add(jobEvery); !at.After(b.JobsThrough); at = at.Add(jobEvery) {
			switch {
			case b.JobsPassed[jobName(i)][at]:
				r.Passed++
			case len(reported[chat][at.Format(slotLayout)]) == 0:
				r.add(Lost, "job %s reported nothing of its run at %s", jobName(i), at.Format(slotLayout))
			}
		}
		for slot, texts := range reported[chat] {
			r.Runs++
			unmarked := 0
			for _, text := range texts {
				if !hasRepeatMark(text) {
					unmarked++
				}
			}
			if unmarked > 1 {
				r.add(Duplicated, "job %s reported its run at %s %d times without the mark of a repeat", jobName(i), slot, unmarked)
			}
		}
	}
}
