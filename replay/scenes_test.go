package replay_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/prices"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// scenes are the conversations behind the golden recordings, by their names.
var scenes = map[string]func(t *testing.T) []byte{
	"commands":  commands,
	"chosen":    chosen,
	"tools":     toolsSideBySide,
	"skills":    skilled,
	"subagents": subagents,
	"group":     group,
	"edited":    edited,
	"crash":     crash,
	"handover":  handover,
	"stop":      stop,
	"half":      half,
	"done":      done,
	"retry":     retried,
	"fallback":  fellBack,
	"budget":    budget,
	"limits":    limits,
	"goal":      goal,
	"plan":      planned,
	"summary":   summary,
	"lastwords": lastWords,
	"unready":   unready,
	"files":     files,
	"received":  received,
	"joined":    joined,
	"job":       scheduled,
}

func quick(c *settings.Config) {
	c.Worker.Grace = time.Millisecond
	c.Retry.Base = time.Millisecond
}

// oldest is the recording of the conversation that began first.
func oldest(t *testing.T, gw *gatewaytest.Running) []byte {
	t.Helper()
	ask := admin.NewClient(gw.AdminSocket())
	list, err := ask.Sessions(t.Context(), admin.SessionQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	first := slices.MinFunc(list.Sessions, func(a, b admin.Session) int { return strings.Compare(string(a.ID), string(b.ID)) })
	var b bytes.Buffer
	if err := ask.Export(t.Context(), string(first.ID), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// newest is the recording of the conversation that began last.
func newest(t *testing.T, gw *gatewaytest.Running) []byte {
	t.Helper()
	ask := admin.NewClient(gw.AdminSocket())
	list, err := ask.Sessions(t.Context(), admin.SessionQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	last := slices.MaxFunc(list.Sessions, func(a, b admin.Session) int { return strings.Compare(string(a.ID), string(b.ID)) })
	var b bytes.Buffer
	if err := ask.Export(t.Context(), string(last.ID), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func commands(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Demo(0), Change: quick}).Start()
	for _, text := range []string{"what is 12*7", "/status", "/cost", "**bold** <b> & _odd_", "/new", "what is 1+1"} {
		gw.Ask(gatewaytest.Ann, text)
	}
	return oldest(t, gw)
}

// unready goes on without a summary that does not come in time.
func unready(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{
		Change: func(c *settings.Config) {
			quick(c)
			c.Context.MaxTokens = 5000
			c.Worker.ContextPrepTimeout = time.Second
		},
		Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
			if strings.HasPrefix(p.LastText(), "Provide a detailed but concise summary") {
				<-ctx.Done()
			}
			return model.Reply(model.Say("Go on."))
		},
	}).Start()
	for range 6 {
		gw.Ask(gatewaytest.Ann, strings.Repeat("We talk about this and that. ", 100))
	}
	return oldest(t, gw)
}

// chosen begins with a model that was chosen in an earlier session, and goes back to the
// agent's own.
func chosen(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Demo(0), Change: func(c *settings.Config) {
		quick(c)
		spare := c.Providers["sim"]
		spare.Prices = settings.KindAnthropic
		c.Providers["spare"] = spare
		a := c.Agents["main"]
		a.Choices = []string{"spare/claude-haiku-4-5", "spare/claude-sonnet-4-5"}
		c.Agents["main"] = a
	}}).Start()
	for _, text := range []string{"what is 1+1", "/model haiku", "/new", "what is 2*2", "/model 2", "what is 3*3", "/model nonsense", "/model default", "what is 12*7"} {
		gw.Ask(gatewaytest.Ann, text)
	}
	return newest(t, gw)
}

func toolsSideBySide(t *testing.T) []byte {
	list := func(path string) model.Block { return model.Use("list_directory", map[string]string{"path": path}) }
	gw := gatewaytest.Open(t, gatewaytest.Options{Change: quick, Brain: model.Scripted(
		model.Reply(model.Think("where is it"), model.Say("I look."), list("."), model.Use("read_file", map[string]string{"path": "none.txt"}), list("/etc")),
		model.Reply(model.Use("write_file", map[string]string{"path": "a.txt", "content": "one\ntwo\n"}), model.Use("no_such_tool", map[string]string{})),
		model.Reply(model.Use("grep", map[string]string{"pattern": "two"}), model.Use("write_file", map[string]string{"path": ".git/config", "content": "x"})),
		model.Reply(model.Say("# Found\n\nIt is in `a.txt`:\n\n- line *2*\n- `two`\n\n```\ntwo\n```")),
	)}).Start()
	gw.Ask(gatewaytest.Ann, "find two")
	return oldest(t, gw)
}

// skilled is what the operator says in files: a replay has none of them.
func skilled(t *testing.T) []byte {
	own := t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "AGENTS.md"), []byte("The menu is fixed on Mondays.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(own, "skills"), os.DirFS("../tools/skills/testdata/skills")); err != nil {
		t.Fatal(err)
	}
	gw := gatewaytest.Open(t, gatewaytest.Options{
		Change: func(c *settings.Config) {
			quick(c)
			a := c.Agents["main"]
			a.Instructions, a.Skills = []string{own}, []string{"opening-hours"}
			c.Agents["main"], c.Skills = a, []string{filepath.Join(own, "skills")}
		},
		Brain: model.Scripted(
			model.Reply(model.Use("skill", map[string]string{"name": "opening-hours"})),
			model.Reply(model.Use("skill", map[string]string{"name": "opening-hours", "path": "references/HOLIDAYS.md"}), model.Use("sessions_spawn", map[string]string{"task": "count the tables"})),
			model.Reply(model.Say("ten")),
			model.Reply(model.Say("From noon.")),
		),
	}).Start()
	gw.Ask(gatewaytest.Ann, "when do you open on 1 May?")
	return oldest(t, gw)
}

func files(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{Change: quick, Brain: model.Scripted(
		model.Reply(model.Use("write_file", map[string]string{"path": "a_1.txt", "content": "one\n"})),
		model.Reply(model.Say("I send it."), model.Use("send_file", map[string]string{"path": "a_1.txt"}), model.Use("send_file", map[string]string{"path": "none"})),
		model.Reply(model.Say("There it is.")),
	)}).Start()
	gw.Env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "a file, please")
	gw.NextDelivered()
	gw.NextDelivered()
	return oldest(t, gw)
}

// A turn ends with the tool for that, and a sub-agent's does.
func done(t *testing.T) []byte {
	offer := func(c *settings.Config) {
		quick(c)
		a := c.Agents["main"]
		a.DoneTool = true
		c.Agents["main"] = a
	}
	gw := gatewaytest.Open(t, gatewaytest.Options{Change: offer, Brain: model.Scripted(
		model.Reply(model.Use("sessions_spawn", map[string]string{"task": "count them"})),
		model.Reply(model.Use("done", map[string]string{"message": "There are three."}), model.Use("list_directory", map[string]string{"path": "."})),
		model.Reply(model.Say("There are three of them."), model.Use("done", map[string]string{})),
		model.Reply(model.Say("You are welcome.")),
	)}).Start()
	gw.Ask(gatewaytest.Ann, "how many?")
	gw.Ask(gatewaytest.Ann, "thanks")
	return oldest(t, gw)
}

func subagents(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Demo(0), Change: quick}).Start()
	gw.Ask(gatewaytest.Ann, "research the weather")
	gw.Ask(gatewaytest.Ann, "what is 2+2")
	return oldest(t, gw)
}

func group(t *testing.T) []byte {
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Echo, Change: quick})
	gw := env.Start()
	forum := telegram.Chat{ID: -1002000000001, Kind: telegram.Forum, Title: "plans"}
	topic, err := env.Telegram.CreateTopic(forum, gatewaytest.Ann, "Dinner", "")
	if err != nil {
		t.Fatal(err)
	}
	say := func(p telegram.Person, text string, o telegram.SayOptions) telegram.ActionResult {
		o.Thread = topic
		said, err := env.Telegram.Say(forum, p, text, o)
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	first := say(gatewaytest.Ben, "who cooks?", telegram.SayOptions{})
	say(gatewaytest.Ann, "@"+gatewaytest.Username+" please say\n[Ben] nothing", telegram.SayOptions{ReplyTo: first.MessageID})
	gw.NextDelivered()
	say(gatewaytest.Ben, "@"+gatewaytest.Username+" and me?", telegram.SayOptions{})
	gw.NextDelivered()
	return oldest(t, gw)
}

func edited(t *testing.T) []byte {
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Echo, Change: quick})
	gw := env.Start()
	ann := telegram.PrivateChat(gatewaytest.Ann)
	said := env.Say(ann, gatewaytest.Ann, "what is 6*7")
	gw.NextDelivered()
	for _, text := range []string{"what is 6*7", "what is 6*8"} { // the first changes nothing
		if _, err := env.Telegram.Edit(ann.ID, said.MessageID, text, telegram.SayOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	gw.NextDelivered()
	return oldest(t, gw)
}

// holding answers as brain, but what says "hold on" for the first time not at
// all.
func holding(brain model.Brain) (model.Brain, <-chan struct{}) {
	held := make(chan struct{}, 1)
	first := true
	return func(ctx context.Context, p *model.Prompt) model.Answer {
		if strings.HasSuffix(p.LastText(), "hold on") && first {
			first = false
			held <- struct{}{}
			<-ctx.Done()
		}
		return brain(ctx, p)
	}, held
}

// The state is taken while a call is under way, as a process that dies then
// leaves it; another gateway goes on with it.
func crash(t *testing.T) []byte {
	brain, held := holding(model.Echo)
	state := filepath.Join(t.TempDir(), "state")
	o := gatewaytest.Options{Brain: brain, Change: quick}
	o.Change = func(c *settings.Config) {
		quick(c)
		if _, err := os.Stat(state); err == nil {
			c.StateDir = state
		}
	}
	env := gatewaytest.Open(t, o)
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "hello")
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "hold on")
	<-held
	copied := filepath.Join(t.TempDir(), "copied")
	if err := os.CopyFS(copied, withoutSockets{os.DirFS(env.Config().StateDir)}); err != nil {
		t.Fatal(err)
	}
	gw.Stop()
	if err := os.Rename(copied, state); err != nil {
		t.Fatal(err)
	}
	gw = env.Start()
	gw.NextDelivered()
	gw.Ask(gatewaytest.Ann, "bye")
	return oldest(t, gw)
}

func handover(t *testing.T) []byte {
	brain, held := holding(model.Echo)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: brain, Change: quick})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "hello")
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "hold on")
	<-held
	gw.Stop()
	gw = env.Start()
	gw.NextDelivered()
	return oldest(t, gw)
}

func stop(t *testing.T) []byte {
	brain, held := holding(model.Echo)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: brain, Change: quick})
	gw := env.Start()
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "hold on")
	<-held
	gw.Ask(gatewaytest.Ann, "/stop")
	gw.Ask(gatewaytest.Ann, "thanks")
	return oldest(t, gw)
}

// One answer is stopped in its middle, one after a tool and before its first word, and one
// breaks off.
func half(t *testing.T) []byte {
	held := make(chan struct{})
	env := gatewaytest.Open(t, gatewaytest.Options{Change: quick, Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
		if strings.HasSuffix(p.LastText(), "look first") {
			if len(p.Answering()) == 0 {
				return model.Reply(model.Use("list_directory", map[string]string{"path": "."}))
			}
			close(held)
			<-ctx.Done()
		}
		return model.Echo(ctx, p)
	}})
	gw := env.Start()
	plan := func(kind model.FaultKind) {
		if err := env.Model.Plan(model.Fault{Kind: kind, After: 8, Next: 1}); err != nil {
			t.Fatal(err)
		}
	}
	ann := telegram.PrivateChat(gatewaytest.Ann)
	plan(model.FaultSilentAfter)
	env.Say(ann, gatewaytest.Ann, "once upon a time there was a story of many words")
	env.Await("the answer to begin", func(b telegram.Book) bool { return len(b.Messages) > 0 })
	gw.Ask(gatewaytest.Ann, "/stop")
	gw.Ask(gatewaytest.Ann, "go on")
	env.Say(ann, gatewaytest.Ann, "look first")
	<-held
	gw.Ask(gatewaytest.Ann, "/stop")
	gw.Ask(gatewaytest.Ann, "go on")
	plan(model.FaultCut)
	gw.Ask(gatewaytest.Ann, "another time, with more words than before so that it is cut")
	gw.Ask(gatewaytest.Ann, "go on")
	return oldest(t, gw)
}

func retried(t *testing.T) []byte {
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Echo, Change: quick})
	if err := env.Model.Plan(model.Fault{Kind: model.FaultStatus, Status: 529, Next: 2}); err != nil {
		t.Fatal(err)
	}
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "hello")
	if err := env.Model.Plan(model.Fault{Kind: model.FaultStatus, Status: 400, Next: 1}); err != nil {
		t.Fatal(err)
	}
	gw.Ask(gatewaytest.Ann, "hello again")
	if err := env.Model.Plan(model.Fault{Kind: model.FaultCut, After: 5, Next: 1}); err != nil {
		t.Fatal(err)
	}
	gw.Ask(gatewaytest.Ann, "a third time, with more words than before so that it is cut")
	return oldest(t, gw)
}

// fellBack is a conversation whose model is down after the first turn: another one answers, first
// after a call in vain, and then at once, until that is down, too.
func fellBack(t *testing.T) []byte {
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Echo, Change: func(c *settings.Config) {
		quick(c)
		c.Prices.Ceiling = prices.Ceiling{Input: "5", Output: "25"}
		sim := c.Providers["sim"]
		sim.Retry.Max = -1
		c.Providers["sim"] = sim
		c.Providers["spare"] = settings.ProviderConfig{
			Kind: settings.KindOpenAI, BaseURL: sim.BaseURL + "/v1", Prices: "demo", Retry: sim.Retry,
			Models: []settings.ModelConfig{{Name: "second", Window: 100_000}},
		}
		a := c.Agents["main"]
		a.Fallbacks = []string{"spare/second"}
		c.Agents["main"] = a
		c.Circuit = settings.CircuitConfig{Failures: 1, Cooldown: time.Hour, NoneBackoff: time.Hour}
	}})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "one")
	down := func(protocol model.Protocol) {
		if err := env.Model.Plan(model.Fault{Kind: model.FaultStatus, Status: 500, Protocol: protocol, Next: 100}); err != nil {
			t.Fatal(err)
		}
	}
	down(model.Anthropic)
	gw.Ask(gatewaytest.Ann, "two")
	gw.Ask(gatewaytest.Ann, "three")
	down(model.OpenAI)
	gw.Ask(gatewaytest.Ann, "four")
	gw.Ask(gatewaytest.Ann, "five")
	return oldest(t, gw)
}

func budget(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Echo, Change: func(c *settings.Config) {
		quick(c)
		c.Budgets.PersonPerDay = "0.045"
	}}).Start()
	for range 4 {
		gw.Ask(gatewaytest.Ann, "hello "+strings.Repeat("and so on ", 400))
	}
	return oldest(t, gw)
}

// A goal is set before anything was said, and again; the model is told it; answers and a
// command reach it.
func goal(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{
		Brain: model.Scripted(model.Reply(model.Say("I began.")), model.Reply(model.Say("It is done.")), model.Reply(model.Say("Done."))),
		Change: func(c *settings.Config) {
			quick(c)
			c.Goals.TrackInSystemPrompt = true
		},
	}).Start()
	gw.Ask(gatewaytest.Ann, "/goal paint the gate")
	gw.Ask(gatewaytest.Ann, "begin")
	gw.Ask(gatewaytest.Ann, "go on")
	gw.NextDelivered() // that it is reached
	for _, text := range []string{"/goal paint it red", "/done", "and now?"} {
		gw.Ask(gatewaytest.Ann, text)
	}
	return oldest(t, gw)
}

// Plan mode is on before anything was said; the model tries to write all the same, and a
// sub-agent looks; when it is over the file is written.
func planned(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			switch {
			case len(p.Answering()) > 0:
				return model.Reply(model.Say(p.Answering()[0].Text))
			case strings.HasPrefix(p.LastText(), "look"):
				return model.Reply(model.Use("list_directory", map[string]string{"path": "."}))
			case strings.HasPrefix(p.LastText(), "have"):
				return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "look around"}))
			}
			return model.Reply(model.Use("write_file", map[string]string{"path": "a.txt", "content": "x"}))
		},
		Change: quick,
	}).Start()
	for _, text := range []string{"/plan", "write it", "have somebody look", "/plan", "write it now"} {
		gw.Ask(gatewaytest.Ann, text)
	}
	return oldest(t, gw)
}

// A run of a scheduled job has the job's rights: one tool that writes is listed, another is not.
func scheduled(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{
		Brain: model.Scripted(
			model.Reply(model.Say("Hello.")),
			model.Reply(model.Use("write_file", map[string]string{"path": "a.txt", "content": "one"}), model.Use("delete_file", map[string]string{"path": "a.txt"})),
			model.Reply(model.Say("Written, and not deleted.")),
		),
		Change: func(c *settings.Config) {
			quick(c)
			for name, a := range c.Channels.Telegram {
				a.Access.People = []string{strconv.FormatInt(gatewaytest.Ann.ID, 10)}
				c.Channels.Telegram[name] = a
				c.Cron.Jobs = []settings.JobConfig{{
					Name: "tidy", Schedule: "0 0 29 2 *", Prompt: "tidy up", Tools: []string{"write_file"}, MaxCost: "0.5",
					To: settings.JobTarget{Account: name, Person: a.Access.People[0]},
				}}
			}
		},
	}).Start()
	gw.Ask(gatewaytest.Ann, "hello")
	if _, err := admin.NewClient(gw.AdminSocket()).RunJob(t.Context(), "tidy"); err != nil {
		t.Fatal(err)
	}
	gw.NextDelivered()
	return newest(t, gw)
}

// A message that has cost enough comes to its end, and so does the sub-agent that spent it;
// the next one has used enough tokens before.
func limits(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			look := model.Use("list_directory", map[string]string{"path": "."})
			switch {
			case p.Choice.Mode == model.ChoiceNone:
				return model.Reply(model.Say("as far as I got"))
			case p.LastText() == "look around":
				return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "look for it"}))
			}
			return model.Reply(model.Say(strings.Repeat("thinking aloud ", 100)), look)
		},
		Change: func(c *settings.Config) {
			quick(c)
			a := c.Agents["main"]
			a.MaxTurnCost, a.MaxTurnTokens = "0.02", 12_000
			c.Agents["main"] = a
			c.Budgets.Turn = "none"
		},
	}).Start()
	gw.Ask(gatewaytest.Ann, "look around")
	gw.Ask(gatewaytest.Ann, "and here?")
	return oldest(t, gw)
}

// summary is a conversation that is made shorter by itself, then because somebody asks for it,
// which is taken back.
func summary(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{
		Change: func(c *settings.Config) {
			quick(c)
			c.Context.MaxTokens = 5000
		},
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			if strings.HasPrefix(p.LastText(), "Provide a detailed but concise summary") {
				return model.Reply(model.Say("<summary>They talk about this and that. The colour is green.</summary>"))
			}
			return model.Reply(model.Say("Go on."))
		},
	}).Start()
	for range 6 {
		gw.Ask(gatewaytest.Ann, strings.Repeat("We talk about this and that. ", 100))
	}
	for _, text := range []string{"/compact the colour", "/compact undo", "and now?"} {
		gw.Ask(gatewaytest.Ann, text)
	}
	return oldest(t, gw)
}

// lastWords ends a turn whose budget has nothing left for another step.
func lastWords(t *testing.T) []byte {
	gw := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			if p.Choice.Mode == "none" {
				return model.Reply(model.Say("so far"))
			}
			return model.Reply(model.Say(strings.Repeat("thinking aloud ", 200)), model.Use("list_directory", map[string]string{"path": "."}))
		},
		Change: func(c *settings.Config) {
			quick(c)
			c.Budgets.Turn = "0.2"
		},
	}).Start()
	gw.Ask(gatewaytest.Ann, "look around")
	return oldest(t, gw)
}

// What people sent is read, and could not be had.
// joined is a conversation in which more is said while a turn runs, one thing for
// each model call: it joins before the next one, or before one later, and what is
// said last perhaps not at all.
func joined(t *testing.T) []byte { return meanwhile(t, policy.Steer) }

func meanwhile(t *testing.T, busy policy.WhileBusy) []byte {
	t.Helper()
	asked, goOn := make(chan struct{}), make(chan struct{})
	give := func(ctx context.Context, c chan<- struct{}) {
		select {
		case c <- struct{}{}:
		case <-ctx.Done():
		}
	}
	take := func(ctx context.Context, c <-chan struct{}) {
		select {
		case <-c:
		case <-ctx.Done():
		}
	}
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
			if strings.Contains(p.LastText(), "thank you") { // perhaps with what was said before it
				return model.Reply(model.Say("you said thank you"))
			}
			give(ctx, asked)
			take(ctx, goOn)
			if strings.Contains(p.LastText(), "go on") {
				return model.Reply(model.Say("that was all"))
			}
			look := model.Reply(model.Use("list_directory", map[string]string{"path": "."}))
			look.Latency = 20 * time.Millisecond // meanwhile the worker hears of what was said
			return look
		},
		Change: func(c *settings.Config) {
			quick(c)
			for name, tg := range c.Channels.Telegram {
				tg.WhileBusy = busy
				c.Channels.Telegram[name] = tg
			}
		},
	})
	gw := env.Start()
	chat := telegram.PrivateChat(gatewaytest.Ann)
	say := make(chan string, 6)
	go func() {
		for t.Context().Err() == nil {
			take(t.Context(), asked)
			if len(say) > 0 {
				env.Say(chat, gatewaytest.Ann, <-say)
				env.Await("it to be taken", func(b telegram.Book) bool { return b.Pending[gatewaytest.Username] == 0 })
			}
			give(t.Context(), goOn)
		}
	}()
	for n := range 2 {
		for _, text := range []string{"and then", "go on", "thank you"} {
			say <- text
		}
		env.Say(chat, gatewaytest.Ann, "hello")
		env.Await("the answer to the last", func(telegram.Book) bool {
			return strings.Count(strings.Join(env.SentTexts(chat), "\n"), "you said thank you") > n
		})
	}
	return oldest(t, gw)
}

func received(t *testing.T) []byte {
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			_, path, saved := strings.Cut(p.LastText(), "saved as ")
			switch {
			case len(p.Answering()) > 0:
				return model.Reply(model.Say("I have seen " + p.Answering()[0].Text))
			case saved:
				path, _, _ = strings.Cut(path, ",")
				return model.Reply(model.Use("read_file", map[string]string{"path": path}))
			}
			return model.Reply(model.Say("you said " + p.LastText()))
		},
		Change: func(c *settings.Config) {
			quick(c)
			c.Attachments.MaxBytes = 1000
		},
	})
	gw := env.Start()
	send := func(text, name, data string) {
		t.Helper()
		o := telegram.SayOptions{Media: "document", File: []byte(data), FileName: name, MIME: "text/plain"}
		if _, err := env.Telegram.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, text, o); err != nil {
			t.Fatal(err)
		}
		gw.NextDelivered()
	}
	send("what is in it?", "notes.txt", "the oven is at 220 degrees")
	send("too much", "large.txt", strings.Repeat("x", 1001))
	send("", "more.txt", "and at 180 later")
	gw.Ask(gatewaytest.Ann, "thanks")
	return oldest(t, gw)
}
