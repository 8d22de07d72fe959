package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/budgets"
	"parley/gateway/policy"
	jobs "parley/gateway/schedule"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
)

// chore is a tool of a category, which counts its runs.
type chore struct {
	noted
	category tools.Category
}

func (c chore) Category(tools.Call) tools.Category { return c.category }

func (c chore) Run(context.Context, tools.Call) (tools.Result, error) {
	c.r.count("chore")
	return tools.Result{Content: "done"}, nil
}

// errand returns a job whose result goes to person 1.
func errand(t testing.TB, prompt string, change ...func(*jobs.Job)) jobs.Job {
	t.Helper()
	j := jobs.Job{Name: "errand", Prompt: prompt, Channel: "tg", To: address(1), MaxIterations: 10, Enabled: true}
	var err error
	if j.Key, err = jobs.KeyFor("main", j.Name, j.To); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&j)
	}
	return j
}

func withJobs(all ...jobs.Job) func(*worker.Options) {
	return func(o *worker.Options) {
		o.Settings.Jobs = map[string]jobs.Job{}
		for _, j := range all {
			o.Settings.Jobs[j.Name] = j
		}
	}
}

func withTool(t testing.TB, tool tools.Tool) func(*worker.Options) {
	t.Helper()
	set, err := tools.NewSet(tool)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *worker.Options) {
		o.Settings.Agents = maps.Clone(o.Settings.Agents)
		ag := o.Settings.Agents["main"]
		ag.Tools = set
		o.Settings.Agents["main"] = ag
	}
}

// due queues a run of a job for a slot.
func (r *fixture) due(j jobs.Job, slot int64) {
	r.t.Helper()
	if err := jobs.Publish(context.Background(), r.log, j, j.Message(time.Unix(slot, 0), time.Now())); err != nil {
		r.t.Fatal(err)
	}
}

// box returns the mailbox of a job.
func (r *fixture) box(j jobs.Job) sessions.Mailbox {
	r.t.Helper()
	m, err := r.store.Mailbox(context.Background(), j.Key.Token())
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// A slot runs once, however often it is queued; its answer goes to the job's address, and the
// people there have a conversation of their own, in which it is not.
func TestASlotOfAJobRunsOnce(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		j := errand(t, "water the flowers")
		r.start("w1", withJobs(j))
		r.say(1, "hello")
		r.idle()
		for range 3 {
			r.due(j, 60)
			r.idle()
		}
		r.due(j, 120)
		r.due(j, 120)
		r.idle()
		r.wantAnswers(1, "re: hello", "re: water the flowers", "re: water the flowers")
		if people := r.mailbox(1); people.Session == r.box(j).Session {
			t.Error("the job runs in the people's session")
		}
		s, err := r.store.Session(t.Context(), r.box(j).Session)
		if err != nil || s.Messages != 2 {
			t.Errorf("the session of a run holds %d messages, %v, and not one question and its answer", s.Messages, err)
		}
	})
}

// K04, K05, S6.14, TS22, conflict 9: reading runs, writing only if it is listed, and what needs a
// person's permission elsewhere never, unless it is listed and the operator has allowed it for jobs.
// Nobody is asked.
func TestToolsOfAJob(t *testing.T) {
	t.Parallel()
	listed := func(j *jobs.Job) { j.Tools = []string{"noted"} }
	allowed := func(j *jobs.Job) { j.AllowAdmin = true }
	for name, c := range map[string]struct {
		category tools.Category
		change   []func(*jobs.Job)
		runs     int
	}{
		"reading":                      {tools.Read, nil, 1},
		"writing":                      {tools.Write, nil, 0},
		"writing that is allowed":      {tools.Write, []func(*jobs.Job){allowed}, 0},
		"writing that is listed":       {tools.Write, []func(*jobs.Job){listed}, 1},
		"admin":                        {tools.Admin, nil, 0},
		"admin that is listed":         {tools.Admin, []func(*jobs.Job){listed}, 0},
		"admin that is allowed":        {tools.Admin, []func(*jobs.Job){allowed}, 0},
		"admin, listed and allowed":    {tools.Admin, []func(*jobs.Job){listed, allowed}, 1},
		"a category that nobody knows": {"other", []func(*jobs.Job){listed}, 0},
		"another tool that is listed":  {tools.Write, []func(*jobs.Job){func(j *jobs.Job) { j.Tools = []string{"note"} }}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				j := errand(t, "tool x", c.change...)
				r.start("w1", withJobs(j), withTool(t, chore{noted{r}, c.category}), func(o *worker.Options) {
					o.Settings.Approvals = approvals.Config{}.Defaults()
					o.Settings.Access = map[string]policy.Access{"tg": {People: []string{"1"}, Approvers: []string{"1"}}}
				})
				r.due(j, 60)
				r.wantAnswers(1, "re: tool x")
				if n := r.counted("chore"); n != c.runs {
					t.Errorf("the tool ran %d times, want %d", n, c.runs)
				}
			})
		})
	}
}

// I05: a job that the configuration has no more, or otherwise, does not run, also when its run
// was queued or begun before.
func TestAJobThatIsGoneDoesNotRun(t *testing.T) {
	t.Parallel()
	t.Run("queued before", func(t *testing.T) {
		t.Parallel()
		inFakeTime(t, func(t *testing.T, r *fixture) {
			j := errand(t, "water the flowers")
			for _, now := range []func(*worker.Options){withJobs(), withJobs(errand(t, "", func(j *jobs.Job) { j.To = address(2) })), withJobs(errand(t, "", func(j *jobs.Job) { j.Enabled = false }))} {
				r.due(j, time.Now().Unix())
				p := r.start("w1", now)
				r.idle()
				p.end(t)
			}
			r.wantAnswers(1)
		})
	})
	t.Run("begun before", func(t *testing.T) {
		t.Parallel()
		inFakeTime(t, func(t *testing.T, r *fixture) {
			j := errand(t, "wait a")
			first := r.start("w1", withJobs(j))
			r.due(j, 60)
			r.atGate("a")
			first.die()
			r.start("w2", withJobs())
			r.idle()
			if got := r.answers(1); len(got) > 1 || len(got) == 1 && strings.HasPrefix(got[0], "re:") {
				t.Errorf("a job that is gone answered %q", got)
			}
			if n := len(r.model.Requests()); n != 1 {
				t.Errorf("the model was called %d times", n)
			}
		})
	})
}

// A run that a process left open goes on with the job's rights.
func TestARunThatIsTakenOverKeepsItsBounds(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		reached, open := r.gate("d")
		answer := r.model.Reply
		r.model.Reply = func(n int, q llm.Request) llmtest.Turn {
			if n == 1 {
				r.reach(reached)
				return llmtest.Turn{llmtest.Wait(open), llmtest.Text("too late")}
			}
			return answer(n, q)
		}
		j := errand(t, "tool x")
		tool := withTool(t, chore{noted{r}, tools.Write})
		first := r.start("w1", withJobs(j), tool)
		r.due(j, 60)
		r.atGate("d")
		first.die()
		r.start("w2", withJobs(j), tool)
		r.wantAnswers(1, "re: tool x")
		if r.counted("chore") != 0 || len(r.model.Requests()) != 3 {
			t.Errorf("the tool ran %d times, after %d model calls", r.counted("chore"), len(r.model.Requests()))
		}
	})
}

// A run ends at the job's number of model calls and at its time.
func TestBoundsOfAJob(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.model.Reply = func(n int, _ llm.Request) llmtest.Turn {
			return llmtest.Turn{llmtest.Call{ID: fmt.Sprintf("c%d", n), Name: "noted", Input: fmt.Sprintf(`{"text":"%d"}`, n)}}
		}
		j := errand(t, "work", func(j *jobs.Job) { j.MaxIterations = 3 })
		r.start("w1", withJobs(j), withTool(t, chore{noted{r}, tools.Read}))
		r.due(j, 60)
		r.idle()
		if n := r.counted("chore"); n != 3 {
			t.Errorf("a run of three calls called the tool %d times", n)
		}
	})
	inFakeTime(t, func(t *testing.T, r *fixture) {
		j := errand(t, "wait b", func(j *jobs.Job) { j.Timeout = time.Minute })
		r.start("w1", withJobs(j))
		began := time.Now()
		r.due(j, 60)
		r.await("the run to end", func() bool { return len(r.answers(1)) == 1 })
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
			t.Errorf("a run of a minute took %s", took)
		}
	})
}

// /stop in the chat to which a job's result goes does not find its run, and what people say there
// does not join it.
func TestPeopleDoNotReachIntoARun(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		j := errand(t, "wait c")
		r.start("w1", withJobs(j))
		r.due(j, 60)
		r.atGate("c")
		r.say(1, "/stop")
		r.say(1, "hello")
		r.await("the people's answers", func() bool { return len(r.answers(1)) == 2 })
		r.due(j, 120) // nor does the next run
		synctest.Wait()
		r.open("c")
		r.wantAnswers(1, "Nothing was running.", "re: hello", "re: wait c", "re: wait c")
	})
}

// Nobody's allowance pays for a job, but everything's does.
func TestWhatAJobIsCountedFor(t *testing.T) {
	t.Parallel()
	group := sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.Group, Peer: "-1"}
	l := budgets.Limits{Turn: 1, Session: 2, Person: 3, Group: 4, Day: 5, Month: 6, ChannelsByTheDay: map[string]costs.Amount{"tg": 7}}
	limits := map[string]costs.Amount{}
	for _, s := range l.JobScopes("token", sessions.Turn{ID: "t", Session: "s", Channel: "tg", From: group, Sender: "job:errand"}) {
		if s.Window != costs.Month {
			limits[s.Kind] = s.Limit
		}
	}
	want := map[string]costs.Amount{budgets.Turn: 1, budgets.Session: 2, budgets.Person: 0, budgets.Chat: 0, budgets.Channel: 7, budgets.Global: 5}
	if !maps.Equal(limits, want) {
		t.Errorf("a job is counted for %v, want %v", limits, want)
	}
}

func TestTheLineOfARunNamesItsJob(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		var said bytes.Buffer
		j := errand(t, "water the flowers")
		p := r.start("w1", withJobs(j), func(o *worker.Options) { o.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
		r.due(j, 60)
		r.wantAnswers(1, "re: water the flowers")
		p.end(t)
		if !strings.Contains(said.String(), "job=errand") {
			t.Errorf("the log says %s", said.String())
		}
	})
}
