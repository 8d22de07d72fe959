package gateway_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/simulators/model"
	"parley/simulators/signal"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// canaryForm is what a canary looks like: a word that stands in one conversation
// and nowhere else. mark is the end of each answer.
var (
	canaryForm = regexp.MustCompile(`canary[0-9a-f]{16}`)
	markForm   = regexp.MustCompile(`mark[0-9]+end`)
)

// canariesIn are the canaries in a text, each once.
func canariesIn(text string) []string {
	found := canaryForm.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// gossip is a model that says everything it was ever told of: what reaches it
// from another conversation stands in its answer. Asked to it writes a file, reads
// it, or has a sub-agent gossip.
func gossip(_ context.Context, p *model.Prompt) model.Answer {
	text := p.LastText()
	known := strings.Join(canariesIn(string(p.Body)), " ")
	if len(p.Answering()) == 0 {
		own := canaryForm.FindString(text)
		switch word, _, _ := strings.Cut(text[strings.LastIndexByte(text, ':')+1:], " "); word {
		case "write":
			return model.Reply(model.Use("write_file", map[string]string{"path": "notes.txt", "content": own}))
		case "read":
			return model.Reply(model.Use("read_file", map[string]string{"path": "notes.txt"}))
		case "spawn":
			return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "a child is told " + own}))
		}
	}
	marks := markForm.FindAllString(text, -1)
	return model.Reply(model.Say("I know " + known + " " + strings.Join(marks, " ")))
}

// talk is a conversation with a canary of its own.
type talk struct {
	*gatewaytest.Conversation
	canary string
	marks  []string // of the answers that must come
}

// seen is what can be seen of a gateway from outside: what each conversation shows,
// and what the model was asked.
type seen struct {
	shown     map[string][]string // by talk
	requests  []string
	elsewhere map[string]string // logs, files
}

// strays says where canaries are that do not belong there. Of each conversation
// own is the canary.
func (s seen) strays(own map[string]string) (out []string) {
	for _, where := range slices.Sorted(maps.Keys(s.shown)) {
		for _, text := range s.shown[where] {
			for _, c := range canariesIn(text) {
				if c != own[where] {
					out = append(out, fmt.Sprintf("%s shows %s", where, c))
				}
			}
		}
	}
	for i, r := range s.requests {
		if cs := canariesIn(r); len(cs) > 1 {
			out = append(out, fmt.Sprintf("request %d to the model holds %v", i, cs))
		}
	}
	for _, where := range slices.Sorted(maps.Keys(s.elsewhere)) {
		if cs := canariesIn(s.elsewhere[where]); len(cs) > 1 {
			out = append(out, fmt.Sprintf("%s holds %v", where, cs))
		}
	}
	return out
}

func TestAStrayCanaryIsSeen(t *testing.T) {
	t.Parallel()
	const a, b = "canary0000000000000001", "canary0000000000000002"
	own := map[string]string{"a": a, "b": b}
	for name, c := range map[string]struct {
		seen
		want int
	}{
		"all at home":           {seen{shown: map[string][]string{"a": {"x", a}, "b": {b + b}}, requests: []string{a + a, b, ""}}, 0},
		"in another's chat":     {seen{shown: map[string][]string{"a": {a, "so " + b}}}, 1},
		"one whose chat is not": {seen{shown: map[string][]string{"c": {a}}}, 1},
		"two in one request":    {seen{requests: []string{`{"x":"` + a + `","y":"` + b + `"}`}}, 1},
		"two in one file":       {seen{elsewhere: map[string]string{"notes.txt": a + "\n" + b}}, 1},
	} {
		if got := c.strays(own); len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// talks are conversations of all kinds on all networks, whose ids and names are as
// much alike as the networks let them be.
func talks(t *testing.T, env *gatewaytest.Env, rng *rand.Rand) []*talk {
	t.Helper()
	var places []*gatewaytest.Conversation
	for _, n := range gatewaytest.AllNetworks() {
		for person := 7001; person <= 7002; person++ {
			places = append(places, env.Direct(n, person))
		}
		for group := 7001; group <= 7002; group++ { // the people's own numbers
			places = append(places, env.Group(n, group, 7001))
		}
	}
	// Topics of the same number in two forums, and beside them the General topic.
	for id := int64(-1007001); id >= -1007002; id-- {
		forum := telegram.Chat{ID: id - 1_000_000_000_000, Kind: telegram.Forum, Title: "group 7001"}
		person := gatewaytest.TelegramPerson(7001)
		topic, err := env.Telegram.CreateTopic(forum, person, "group 7001", "")
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, env.InTelegram(forum, person, topic), env.InTelegram(forum, person, 0))
	}
	// Two threads of one channel; a private one and a group of people.
	person := gatewaytest.SlackPerson(7001)
	places = append(places, env.Group(gatewaytest.Slack, 7001, 7001),
		env.InSlack(slack.Channel{ID: "G7001", Kind: slack.Private, Name: "group-7001"}, person),
		env.InSlack(slack.Channel{ID: "G7002", Kind: slack.Group, Name: "group-7001"}, person))
	// A second thread of a direct message.
	places = append(places, env.InSlack(slack.DM(person), person))

	out := make([]*talk, len(places))
	for i, p := range places {
		out[i] = &talk{Conversation: p, canary: fmt.Sprintf("canary%016x", rng.Uint64())}
	}
	return out
}

// seedOf is PARLEY_SEED, or a random one.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64() // any will do
	if text := os.Getenv("PARLEY_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("PARLEY_SEED: %v", err)
		}
	}
	t.Logf("seed %d: PARLEY_SEED=%d repeats it", seed, seed)
	return seed
}

// beside lets a test run beside others, but not at its full size: that takes the whole machine for
// minutes, and others that wait for what people see would wait in vain.
func beside(t *testing.T) {
	t.Helper()
	if os.Getenv("PARLEY_LONG") == "" {
		t.Parallel()
	}
}

// size is n in a long run, and a tenth of it otherwise.
func size(n int) int {
	if os.Getenv("PARLEY_LONG") != "" {
		return n
	}
	return n / 10
}

// Every conversation has a canary in what people say, in files, in the results of
// tools, in sub-agents and in the model's answers. However conversations of all
// networks cross each other, and whatever comes again or restarts, no canary is
// ever seen in another one. (I9)
func TestNoConversationHearsOfAnother(t *testing.T) {
	beside(t)
	seed := seedOf(t)
	rng := rand.New(rand.NewPCG(seed, 9)) // it must repeat
	log := &lines{}
	env := gatewaytest.Open(t, gatewaytest.Options{
		Networks: gatewaytest.AllNetworks(), Brain: gossip, Keep: 1 << 13,
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	again(t, env)
	gw := env.Start()
	all := talks(t, env, rng)
	steps := size(1000)
	restarts := []int{steps / 3, 2 * steps / 3}
	for step := range steps {
		if slices.Contains(restarts, step) {
			gw.Stop()
		}
		c := all[rng.IntN(len(all))]
		if step < len(all) {
			c = all[step] // each at least once
		}
		switch rng.IntN(10) {
		case 0:
			c.Say([]string{"/new", "/cost", "/status", "/agents"}[rng.IntN(4)])
		default:
			mark := fmt.Sprintf("mark%dend", step)
			c.marks = append(c.marks, mark)
			word := []string{"remember", "write", "read", "spawn"}[rng.IntN(4)]
			c.Say(fmt.Sprintf(":%s %s %s", word, c.canary, mark))
		}
		if slices.Contains(restarts, step) {
			gw = env.Start() // what was said meanwhile, too
		}
	}
	for _, c := range all {
		c.AwaitWords(c.marks...)
	}
	gw.Stop()

	s := seen{shown: map[string][]string{}, elsewhere: map[string]string{}}
	own := map[string]string{}
	shown := 0
	for _, c := range all {
		own[c.String()], s.shown[c.String()] = c.canary, c.Texts()
		shown += len(s.shown[c.String()])
		if text := strings.Join(s.shown[c.String()], "\n"); len(c.marks) > 0 && !strings.Contains(text, c.canary) {
			t.Errorf("%s does not even show its own canary: %q", c, text)
		}
	}
	if len(own) != len(all) {
		t.Fatalf("%d places have %d names", len(all), len(own))
	}
	for _, r := range env.Model.Requests() {
		s.requests = append(s.requests, string(r.Body))
	}
	if len(s.requests) < steps/2 {
		t.Errorf("%d questions were asked in %d steps", len(s.requests), steps)
	}
	filesNamed(t, filepath.Join(env.Dir, "state"), "notes.txt", s.elsewhere)
	for _, stray := range s.strays(own) {
		t.Error(stray)
	}
	// What the bot said in places that are none of the conversations.
	if sent := sentEverywhere(env); sent != shown {
		t.Errorf("the bot sent %d messages, %d of them into the conversations", sent, shown)
	}
	if text := canaryForm.FindString(log.String()); text != "" {
		t.Errorf("%s is in the log", text)
	}
}

// again lets every network bring much of what is said several times, and out of
// order where it may.
func again(t *testing.T, env *gatewaytest.Env) {
	t.Helper()
	noError(t, env.Telegram.Plan(telegram.Fault{Trouble: telegram.Redelivered, Probability: 0.2, Copies: 2}))
	if err := env.Slack.Plan(
		slack.Fault{Trouble: slack.Duplicated, Probability: 0.2, Copies: 2}, slack.Fault{Trouble: slack.MentionFirst, Probability: 0.5},
	); err != nil {
		t.Fatal(err)
	}
	noError(t, env.Signal.Plan(signal.Fault{Trouble: signal.Redelivered, Probability: 0.2}))
}

// sentEverywhere counts what the bot said on all networks.
func sentEverywhere(env *gatewaytest.Env) (n int) {
	for _, m := range env.Telegram.Books().Messages {
		if m.Deleted.IsZero() {
			n++
		}
	}
	for _, m := range env.Slack.Books().Messages {
		if m.Deleted.IsZero() {
			n++
		}
	}
	for _, m := range env.Signal.Books().Messages {
		if m.Deleted.IsZero() {
			n++
		}
	}
	return n
}

// filesNamed reads every file of that name under dir.
func filesNamed(t *testing.T, dir, name string, into map[string]string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != name {
			return err
		}
		text, err := os.ReadFile(path)
		into[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
