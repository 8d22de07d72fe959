package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// says gives the main agent a prompt.
func says(prompt string) func(*settings.Config) {
	return func(c *settings.Config) {
		a := c.Agents["main"]
		a.Prompt = prompt
		c.Agents["main"] = a
	}
}

// ruleIn is the word behind "RULE-" in a system prompt.
func ruleIn(system string) string {
	_, rest, _ := strings.Cut(system, "RULE-")
	word, _, _ := strings.Cut(rest, ".")
	return word
}

// looksFirst answers with the rule of its prompt, after a tool; held up before that where the
// message says "wait". What begins with "research" is handed to a sub-agent.
type looksFirst struct {
	waiting chan struct{}
	held    chan struct{}

	mu    sync.Mutex
	rules map[string][]string // of each request, by the question
}

func (l *looksFirst) answer(ctx context.Context, p *model.Prompt) model.Answer {
	question := p.LastText()
	l.mu.Lock()
	if l.rules == nil {
		l.rules = map[string][]string{}
	}
	l.rules[question] = append(l.rules[question], ruleIn(p.System))
	l.mu.Unlock()
	if len(p.Answering()) > 0 {
		return model.Reply(model.Say(ruleIn(p.System)))
	}
	if strings.Contains(question, "wait") && l.waiting != nil {
		l.waiting <- struct{}{}
		select {
		case <-l.held:
		case <-ctx.Done():
		}
	}
	if strings.HasPrefix(question, "research") {
		return model.Reply(model.Use("sessions_spawn", map[string]any{"task": "count whales"}))
	}
	return model.Reply(model.Use("list_directory", map[string]any{"path": "."}))
}

func (l *looksFirst) of(question string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rules[question]
}

// requirements B18, TX19: what an operator changes holds from the next turn on, and never within
// one: neither for its later requests nor for the sub-agents that it starts.
func TestAReloadHoldsFromTheNextTurnOn(t *testing.T) {
	t.Parallel()
	l := &looksFirst{waiting: make(chan struct{}), held: make(chan struct{})}
	dir := t.TempDir()
	files := func(rule, output string) {
		write(t, dir, map[string]string{"AGENTS.md": "RULE-" + rule + ".", "prices.json": fmt.Sprintf(
			`{"prices": [{"provider": "demo", "model": "demo", "input": "0", "output": %q, "source": "t", "date": "2031-02-03"}]}`, output)})
	}
	instructed := func(c *settings.Config) {
		a := c.Agents["main"]
		a.Instructions = []string{dir}
		c.Agents["main"], c.Prices.File = a, filepath.Join(dir, "prices.json")
	}
	files("zero", "0")
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: l.answer, Change: instructed})
	gw := env.Start()
	files("one", "0")
	if _, err := gw.Reload(); err != nil { // so that no part has what it was started with
		t.Fatal(err)
	}
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "research whales, and wait")
	<-l.waiting // for the answer to the first of its requests
	files("two", "10")
	done := gw.Reconfigure(func(c *settings.Config) {
		instructed(c)
		c.Budgets.Turn = "0.90"
		a := c.Agents["main"]
		a.Tools = []string{"list_directory"} // no sub-agents any more
		c.Agents["main"] = a
	})
	if want := []string{"agents.main.instructions", "agents.main.tools", "budgets.turn", "prices.file"}; !slices.Equal(done.Changed, want) || len(done.NeedRestart) > 0 {
		t.Errorf("changed %q, restart %q; want %q", done.Changed, done.NeedRestart, want)
	}
	if got := gw.Ask(gatewaytest.Ben, "after the reload"); got != "two" {
		t.Errorf("Ben is told %q", got)
	}
	close(l.held)
	gw.NextDelivered()
	for question, want := range map[string][]string{
		"research whales, and wait": {"one", "one"}, "count whales": {"one", "one"}, "after the reload": {"two", "two"},
	} {
		if got := l.of(question); !slices.Equal(got, want) {
			t.Errorf("the requests of %q have the rules %q, not %q", question, got, want)
		}
	}
	if got := gw.Ask(gatewaytest.Ann, "/cost"); !strings.Contains(got, "With its sub-agents: $0.00\n") {
		t.Errorf("a turn that began with the old prices has cost\n%s", got)
	}
	if got := gw.Ask(gatewaytest.Ben, "/cost"); strings.Contains(got, "This conversation: $0.00\n") {
		t.Errorf("a turn that began with the new prices has cost\n%s", got)
	}
}

// requirements B15, TX19: what waited in the queue is taken before what came later, and each
// turn by the configuration of its beginning.
// (requirements B16)
func TestAReloadComesBetweenTheQueueAndWhatComesLater(t *testing.T) {
	t.Parallel()
	l := &looksFirst{waiting: make(chan struct{}), held: make(chan struct{})}
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: l.answer, Change: func(c *settings.Config) { queued(c); says("RULE-one.")(c) }})
	gw := env.Start()
	chat := telegram.PrivateChat(gatewaytest.Ann)
	env.Say(chat, gatewaytest.Ann, "first, and wait")
	<-l.waiting
	env.Say(chat, gatewaytest.Ann, "second, in the queue")
	env.Await("the queue", func(b telegram.Book) bool { return b.Pending[gatewaytest.Username] == 0 })
	gw.Reconfigure(func(c *settings.Config) { queued(c); says("RULE-two.")(c) })
	env.Say(chat, gatewaytest.Ann, "third, after the reload")
	close(l.held)
	for range 3 {
		gw.NextDelivered()
	}
	if got := env.SentTexts(chat); !slices.Equal(got, []string{"one", "two", "two"}) {
		t.Errorf("answered %q", got)
	}
	if got := l.of("first, and wait"); !slices.Equal(got, []string{"one", "one"}) {
		t.Errorf("the first turn has the rules %q", got)
	}
}

// requirements B18: a reload while messages pour in loses none, answers each once, and each turn
// has one configuration from its first request to its last.
func TestReloadsDuringAFloodLoseNothing(t *testing.T) {
	t.Parallel()
	const people, messages = 20, 5
	l := &looksFirst{}
	change := func(rule int) func(*settings.Config) {
		return func(c *settings.Config) {
			queued(c)
			says(fmt.Sprintf("RULE-%d.", rule))(c)
		}
	}
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: l.answer, Change: change(0)})
	gw := env.Start()
	ctx, stop := context.WithCancel(t.Context())
	var reloading, talking sync.WaitGroup
	reloads := 0
	reloading.Go(func() {
		for ; ctx.Err() == nil; reloads++ {
			gw.Reconfigure(change(reloads))
		}
	})
	for i := range people {
		p := telegram.Person{ID: int64(5000 + i), FirstName: "P"}
		talking.Go(func() {
			for k := range messages {
				env.Say(telegram.PrivateChat(p), p, fmt.Sprintf("question %d of %d", k, p.ID))
			}
		})
	}
	talking.Wait()
	for range people * messages {
		gw.NextDelivered()
	}
	stop()
	reloading.Wait()
	gw.Stop()
	if n := len(env.Telegram.Books().Messages); n != people*messages {
		t.Errorf("%d answers to %d messages", n, people*messages)
	}
	if len(l.rules) != people*messages {
		t.Errorf("%d questions reached the model", len(l.rules))
	}
	for question, rules := range l.rules {
		if len(rules) != 2 || rules[0] != rules[1] {
			t.Errorf("the requests of %q have the rules %q", question, rules)
		}
	}
	if reloads < 3 {
		t.Errorf("only %d reloads meanwhile", reloads)
	}
}

// queued has messages wait while their person's turn runs.
func queued(c *settings.Config) {
	tg := c.Channels.Telegram["tg"]
	tg.WhileBusy = policy.Queue
	c.Channels.Telegram["tg"] = tg
}

var errMistaken = errors.New("parley.yaml:3:5: agents.main: this is a mistake\nparley.yaml:4:1: and another")

// requirements B18: an invalid configuration changes nothing, and whoever looks sees why: who asked
// for the reload, the log, the status and the metrics. The gateway stays ready.
func TestAConfigurationWithMistakesChangesNothingAndIsSaidEverywhere(t *testing.T) {
	t.Parallel()
	l, log := &looksFirst{}, make(heard, 1<<12)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: l.answer, Change: says("RULE-one."), Log: slog.New(slog.NewTextHandler(log, nil))})
	gw := env.Start()
	client := admin.NewClient(gw.AdminSocket())
	state := func() admin.Status {
		t.Helper()
		st, err := client.Status(t.Context())
		noError(t, err)
		return st
	}
	gw.AwaitMetrics("parley_config_last_reload_successful 1")
	gw.Break(errMistaken)
	_, err := client.Reload(t.Context())
	if e, ok := errors.AsType[*admin.Error](err); !ok || e.Kind != admin.BadConfig || e.Message != errMistaken.Error() {
		t.Errorf("the command is told %v", err)
	}
	if line := log.await(t, "configuration not reloaded"); !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "this is a mistake") {
		t.Errorf("the log says %s", line)
	}
	if st := state(); st.Fine || !st.Ready || st.Reload.Problem != errMistaken.Error() || !slices.ContainsFunc(st.Problems, func(p string) bool {
		return strings.Contains(p, "was not reloaded") && strings.Contains(p, "this is a mistake (and 1 more line)")
	}) {
		t.Errorf("the status is %+v", st)
	}
	gw.AwaitMetrics("parley_config_last_reload_successful 0")
	gw.Get("/readyz", http.StatusOK)

	// One that can be read and not be meant, and one of which a part says no.
	for what, change := range map[string]func(*settings.Config){
		"agents.main.model: no provider": func(c *settings.Config) { c.Agents["main"] = settings.AgentConfig{Model: "nobody/m"} },
		"prices.file: read the prices":   func(c *settings.Config) { c.Prices.File = filepath.Join(t.TempDir(), "none.json") },
		"agents.main.instructions[0]: ": func(c *settings.Config) {
			a := c.Agents["main"]
			a.Prompt, a.Instructions = "RULE-half.", []string{filepath.Join(t.TempDir(), "none")}
			c.Agents["main"] = a
		},
		"files.extra_roots[0]: ": func(c *settings.Config) {
			says("RULE-half.")(c)
			link := filepath.Join(t.TempDir(), "link")
			noError(t, os.Symlink(c.StateDir, link))
			c.Files.ExtraRoots = []string{link}
		},
	} {
		gw.Rewrite(change)
		if _, err := client.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := gw.Ask(gatewaytest.Ann, "hello"); got != "one" {
		t.Errorf("Ann is told %q", got)
	}
	gw.Reconfigure(says("RULE-two."))
	if got := gw.Ask(gatewaytest.Ann, "and now?"); got != "two" {
		t.Errorf("Ann is told %q", got)
	}
	if st := state(); !st.Fine || st.Reload.Problem != "" || st.Reload.Since.Before(st.Since) {
		t.Errorf("the status is %+v", st)
	}
	gw.AwaitMetrics("parley_config_last_reload_successful 1")
}

// What needs a restart stays as it was, and is named until it is done or taken back; all else
// holds. A bot account that was taken out is there until then.
func TestWhatNeedsARestartIsNamedUntilItIsDone(t *testing.T) {
	t.Parallel()
	l := &looksFirst{}
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: l.answer, Change: says("RULE-one.")})
	gw := env.Start()
	client := admin.NewClient(gw.AdminSocket())
	want := func(what string, changed, restart []string, change func(*settings.Config)) {
		t.Helper()
		gw.Rewrite(change)
		r, err := client.Reload(t.Context())
		noError(t, err)
		st, err := client.Status(t.Context())
		noError(t, err)
		if !slices.Equal(r.Changed, changed) || !slices.Equal(r.NeedRestart, restart) || !slices.Equal(st.Reload.NeedRestart, restart) {
			t.Errorf("%s: changed %q, restart %q, in the status %q", what, r.Changed, r.NeedRestart, st.Reload.NeedRestart)
		}
	}
	// The socket is in the state folder where nothing else is said.
	want("several", []string{"agents.main.prompt"}, []string{"admin.socket", "channels.telegram.tg.pace", "state_dir", "worker.turns"}, func(c *settings.Config) {
		says("RULE-two.")(c)
		c.StateDir += "-2"
		c.Worker.Turns = 3
		tg := c.Channels.Telegram["tg"]
		tg.Pace++
		c.Channels.Telegram["tg"] = tg
	})
	want("still", nil, []string{"admin.socket", "state_dir"}, func(c *settings.Config) { says("RULE-two.")(c); c.StateDir += "-2" })
	want("another account", nil, []string{"channels.telegram.further", "channels.telegram.tg"}, func(c *settings.Config) {
		says("RULE-two.")(c)
		tg := c.Channels.Telegram["tg"]
		tg.Token = settings.NewSecret("4200000077:AAexampleAAexampleAAexampleAAexample")
		c.Channels.Telegram = map[string]settings.TelegramConfig{"further": tg}
	})
	if got := gw.Ask(gatewaytest.Ann, "hello"); got != "two" {
		t.Errorf("Ann is told %q", got)
	}
	want("taken back", []string{"agents.main.prompt"}, nil, says("RULE-three."))
}

// A job that goes by an account which a reload does not open waits for the restart, too: until then
// nothing runs it, and others run.
func TestAJobOfANewAccountWaitsForTheRestart(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: (&looksFirst{}).answer, Change: says("RULE-one.")})
	gw := env.Start()
	client := admin.NewClient(gw.AdminSocket())
	gw.Rewrite(func(c *settings.Config) {
		says("RULE-one.")(c)
		tg := c.Channels.Telegram["tg"]
		tg.Access = policy.Access{People: []string{"1001"}}
		further := tg
		further.Token = settings.NewSecret("4200000077:AAexampleAAexampleAAexampleAAexample")
		c.Channels.Telegram = map[string]settings.TelegramConfig{"further": further, "tg": tg}
		for _, account := range []string{"tg", "further"} {
			c.Cron.Jobs = append(c.Cron.Jobs, settings.JobConfig{
				Name: "of_" + account, Schedule: "0 0 29 2 *", Prompt: "hello", To: settings.JobTarget{Account: account, Person: "1001"},
			})
		}
	})
	r, err := client.Reload(t.Context())
	noError(t, err)
	if want := []string{"channels.telegram.further", "cron.jobs[1]"}; !slices.Equal(r.NeedRestart, want) {
		t.Errorf("restart %q, want %q", r.NeedRestart, want)
	}
	jobs, err := client.Jobs(t.Context())
	noError(t, err)
	if len(jobs.Jobs) != 1 || jobs.Jobs[0].Name != "of_tg" {
		t.Errorf("the jobs are %+v", jobs.Jobs)
	}
	if _, err := client.RunJob(t.Context(), "of_further"); err == nil {
		t.Error("the job of the account that is not open is run")
	}
	gw.Ask(gatewaytest.Ann, "what comes behind it in the log")
	st, err := client.Status(t.Context())
	noError(t, err)
	if st.DeadLetters != 0 || st.Work.Waiting != 0 {
		t.Errorf("%d dead letters, and work %+v", st.DeadLetters, st.Work)
	}
}

// Whoever is not listed any more is refused from the next message on, and limits and bindings
// hold for it; a new agent's model has metrics of its own.
func TestAccessLimitsAgentsAndBindingsAreReloaded(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(_ context.Context, p *model.Prompt) model.Answer { return answersHere(p) },
	})
	gw := env.Start()
	if got := gw.Ask(gatewaytest.Ben, "who is there?"); got != mainAnswers {
		t.Fatalf("%q answers", got)
	}
	people := func(c *settings.Config, ids ...string) {
		tg := c.Channels.Telegram["tg"]
		tg.Access = policy.Access{People: ids}
		c.Channels.Telegram["tg"] = tg
	}
	gw.Reconfigure(func(c *settings.Config) {
		onDuty(c)
		people(c, "1001")
		c.Bindings = []settings.Binding{{Agent: "duty", Account: "tg", Person: "1001"}}
		c.Limits.PersonPerMinute, c.Limits.PersonBurst = 1, 1
	})
	if got := gw.Ask(gatewaytest.Ben, "still there?"); !strings.Contains(got, "I may only talk to people whom my operator knows") {
		t.Errorf("Ben is told %q", got)
	}
	if got := gw.Ask(gatewaytest.Ann, "who is there?"); got != dutyAnswers {
		t.Errorf("%q answers", got)
	}
	if got := gw.Ask(gatewaytest.Ann, "once more"); !strings.Contains(got, "at most 1 messages a minute") {
		t.Errorf("Ann is told %q", got)
	}
	gw.AwaitMetrics(`parley_llm_requests_total{agent_kind="root",model="duty-model",outcome="ok",provider="sim"} 1`)
	gw.Reconfigure(func(c *settings.Config) { people(c, "1001", "1002") })
	if got := gw.Ask(gatewaytest.Ben, "and now?"); got != mainAnswers {
		t.Errorf("%q answers", got)
	}
	gw.AwaitMetrics(`parley_llm_context_window_tokens{model="duty-model",provider="sim"} 0`)
}

// docs/decisions/0065: an agent that is gone finishes nothing; its work waits until it is back.
func TestTheWorkOfAnAgentThatIsGoneWaitsUntilItIsBack(t *testing.T) {
	t.Parallel()
	waiting, held := make(chan struct{}), make(chan struct{})
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: whoAnswers(waiting, held), Change: func(c *settings.Config) {
		onDuty(c)
		c.Bindings = []settings.Binding{{Agent: "duty", Account: "tg", Person: "1001"}}
		queued(c)
	}})
	gw := env.Start()
	chat := telegram.PrivateChat(gatewaytest.Ann)
	env.Say(chat, gatewaytest.Ann, "please wait")
	<-waiting
	env.Say(chat, gatewaytest.Ann, "second")
	env.Await("the queue", func(b telegram.Book) bool { return b.Pending[gatewaytest.Username] == 0 })
	gw.Rewrite(func(c *settings.Config) { delete(c.Agents, "duty"); c.Bindings = nil })
	_, err := gw.Reload()
	noError(t, err)
	close(held) // the turn that runs ends as it began
	if got := gw.NextDelivered(); env.DeliveredText(chat, got) != dutyAnswers {
		t.Errorf("%q answers", env.DeliveredText(chat, got))
	}
	if got := gw.Ask(gatewaytest.Ann, "who is there?"); got != mainAnswers {
		t.Errorf("%q answers", got)
	}
	gw.Reconfigure(func(*settings.Config) {})
	if got := gw.NextDelivered(); env.DeliveredText(chat, got) != dutyAnswers {
		t.Errorf("%q answers what waited", env.DeliveredText(chat, got))
	}
}

// A gateway that watches takes up a change that two looks in a row have found, and tells a
// mistake once. It is off by default.
func TestAGatewayThatWatchesTakesAChangeUpByItself(t *testing.T) {
	t.Parallel()
	l, log := &looksFirst{}, make(heard, 1<<12)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: l.answer, Change: says("RULE-one."), Log: slog.New(slog.NewTextHandler(log, nil))})
	gw := env.Start()
	watched := func(prompt string) func(*settings.Config) {
		return func(c *settings.Config) { says(prompt)(c); c.Reload.Watch = true }
	}
	look := func(n int, want string) {
		t.Helper()
		for range n {
			gw.Looks <- time.Time{}
		}
		if got := gw.Ask(gatewaytest.Ann, "hello"); got != want {
			t.Errorf("Ann is told %q, not %q", got, want)
		}
	}
	gw.Rewrite(watched("RULE-two."))
	look(3, "one")
	_, err := gw.Reload()
	noError(t, err)
	look(3, "two")
	gw.Rewrite(watched("RULE-three."))
	look(1, "two")
	gw.Rewrite(watched("RULE-four.")) // the first one was half written
	look(1, "two")
	look(2, "four") // the last look sees that the one before has ended
	gw.Rewrite(watched("RULE-five."))
	_, err = gw.Reload()
	noError(t, err)
	gw.Rewrite(watched("RULE-four.")) // taken back before it looks
	look(3, "four")
	gw.Break(errMistaken)
	look(5, "four")
	log.await(t, "configuration not reloaded")
	gw.AwaitMetrics("parley_config_last_reload_successful 0")
	gw.Rewrite(watched("RULE-four."))
	look(3, "four")
	gw.AwaitMetrics("parley_config_last_reload_successful 1")
	for {
		select {
		case line := <-log:
			if strings.Contains(line, "configuration not reloaded") {
				t.Error("a mistake is told again")
			}
			continue
		default:
		}
		break
	}
}
