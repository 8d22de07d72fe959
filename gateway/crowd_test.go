package gateway_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
	"parley/simulators/model"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// How large the crowd is, and what parley may hold.
const (
	crowdChats   = 50
	crowdMemory  = 250 << 20
	crowdLimit   = "200MiB"                   // what the garbage collector is told
	abuserBytes  = 100 << 20                  // of files, in a day, on each network
	crowdMinutes = 10                         // PARLEY_CROWD says otherwise, as 3m
	hookedToken  = "xoxb-4200000009-AAhooked" // of an app to which Slack brings events by HTTP
	hookedSecret = "fedcba9876543210fedcba9876543210"
	modelKey     = "sk-crowd-canary-0123456789abcdefghij"
	abuser       = 6666
	accomplice   = 6668 // who says less, and so is heard with all of it
	stranger     = 6667
)

// Fifty chats of three networks, with all limits on both sides as they are out there,
// talk for ten minutes, and one person who is on the list does all the while what
// abuse may do. Every other minute that one rests: in those nobody waits less than half
// as long as in the others, by the median and by the slowest twentieth.
//
// No answer is lost or given twice unmarked, no call falls into a penalty, and parley
// holds neither more memory nor more files than it may.
func TestACrowdIsAnsweredWhateverOneAbuserDoes(t *testing.T) {
	if os.Getenv("PARLEY_LONG") == "" {
		t.Skip("make test-long has it; in make test: TestF17, and a test for each finding of abuse")
	}
	lasts, err := time.ParseDuration(cmp.Or(os.Getenv("PARLEY_CROWD"), fmt.Sprintf("%dm", crowdMinutes)))
	if err != nil {
		t.Fatal(err)
	}
	c := newCrowd(t)
	env := gatewaytest.Open(t, gatewaytest.Options{
		Networks: gatewaytest.AllNetworks(), Brain: c.brain, Keep: 1 << 20,
		OnTelegram: func(o *telegram.Options) { o.Pace = 1 },
		OnSlack: func(o *slack.Options) {
			o.RateLimits, o.Retries = true, nil // as Slack does: hooked has no URL, and each event for it would come again without end
			o.Apps = append(o.Apps, slack.App{Name: "hooked", BotToken: hookedToken, SigningSecret: hookedSecret})
		},
	})
	path, err := binary()
	noError(t, err)
	// With a limit the peak is what parley holds, and not how far the garbage collector is behind
	// on a busy machine.
	gw := startAs(t, path, crowdConfig(t, env), "GOMEMLIMIT="+crowdLimit)
	c.moveIn(env)
	c.hook = "http://" + gw.webhooks + "/slack/hooked"
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var watching, talking sync.WaitGroup
	for _, watch := range c.watches(ctx) {
		watching.Go(watch)
	}
	until, over := context.WithTimeout(ctx, lasts)
	defer over()
	for i, p := range c.places {
		talking.Go(func() { c.talk(until, rand.New(rand.NewPCG(1, uint64(i))), p) }) // which pause is drawn
	}
	talking.Go(func() { c.abuse(until, gw.ops) })
	talking.Wait()
	peak := peakMemory(t, gw.cmd.Process.Pid)
	gw.kill()
	stop()
	watching.Wait()
	c.judge(peak, fileBytes(t, filepath.Join(env.Dir, "state", "workspaces")))
}

// crowdConfig is parley as an operator runs it.
func crowdConfig(t *testing.T, env *gatewaytest.Env) string {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	lists := map[gatewaytest.Network]string{}
	for _, n := range gatewaytest.AllNetworks() {
		var people, groups []string
		for i := range crowdChats {
			people = append(people, strconv.Quote(personID(n, 7001+i)))
			groups = append(groups, strconv.Quote(env.Group(n, 8001+i, 0).ID))
		}
		people = append(people, strconv.Quote(personID(n, abuser)), strconv.Quote(personID(n, accomplice)))
		lists[n] = fmt.Sprintf("access: {people: [%s], groups: [%s]}", strings.Join(people, ", "), strings.Join(groups, ", "))
	}
	text := fmt.Sprintf(`
state_dir: %[1]s/state
name: crowd
channels:
  telegram: {tg: {token: "%[2]s", api_url: "%[3]s", %[4]s}}
  slack: {sl: {bot_token: "%[5]s", app_token: "%[6]s", api_url: "%[7]s", %[8]s}, hooked: {mode: events, bot_token: "%[16]s", signing_secret: "%[17]s", api_url: "%[7]s"}}
  signal: {sig: {account: "%[9]s", aci: "%[10]s", %[11]s, command: [%[12]s, sim, signal-cli, --world, "%[13]s", --config, %[1]s/cli]}}
providers: {sim: {kind: anthropic, base_url: "%[14]s", prices: demo, api_key: "%[18]s"}}
agents: {main: {model: sim/demo, window: 200000}}
budgets: {turn: 1, person_per_day: 20, global_per_day: 1000}
attachments: {person_per_day_bytes: %[15]d}
ops: {listen: "127.0.0.1:0"}
webhooks: {listen: "127.0.0.1:0"}
log: {format: json}
`, env.Dir, gatewaytest.Token, env.Telegram.URL(), lists[gatewaytest.Telegram],
		gatewaytest.SlackBotToken, gatewaytest.SlackAppToken, env.Slack.APIURL(), lists[gatewaytest.Slack],
		gatewaytest.SignalNumber, gatewaytest.SignalACI, lists[gatewaytest.Signal], program, env.Signal.URL(), env.Model.URL(), abuserBytes, hookedToken, hookedSecret, modelKey)
	path := filepath.Join(env.Dir, "parley.yaml")
	noError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// crowd is who talks, what was asked, and how long each waited.
type crowd struct {
	t      *testing.T
	env    *gatewaytest.Env
	places []*gatewaytest.Conversation
	began  time.Time
	hook   string // where Slack brings events of an app

	mu       sync.Mutex // guards what is below
	n        int
	open     map[string]chan struct{} // by the question's word
	asked    map[string]*gatewaytest.Conversation
	waits    []wait
	deeds    map[string]int  // of the abuser
	obeyed   map[string]int  // what a model did for the abuser
	refusals map[string]bool // the words in which paths out of reach are refused
}

// wait is how long somebody waited for the whole answer.
type wait struct {
	network gatewaytest.Network
	abused  bool // asked while the abuser was at it
	took    time.Duration
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	return &crowd{
		t: t, began: time.Now(), open: map[string]chan struct{}{}, asked: map[string]*gatewaytest.Conversation{},
		deeds: map[string]int{}, refusals: map[string]bool{}, obeyed: map[string]int{},
	}
}

// moveIn gives everybody a place in the environment.
func (c *crowd) moveIn(env *gatewaytest.Env) {
	c.env, c.began = env, time.Now()
	for i := range crowdChats {
		n := gatewaytest.AllNetworks()[i%3]
		if i%5 < 3 {
			c.places = append(c.places, env.Direct(n, 7001+i))
		} else {
			c.places = append(c.places, env.Group(n, 8001+i, 7001+i))
		}
	}
}

// abused says whether the abuser is at it: every other minute.
func (c *crowd) abused() bool { return int(time.Since(c.began).Minutes())%2 == 1 }

// talk asks, waits for the whole answer, reads it, and asks again.
func (c *crowd) talk(ctx context.Context, rng *rand.Rand, p *gatewaytest.Conversation) {
	for ctx.Err() == nil {
		c.mu.Lock()
		word := fmt.Sprintf("question%dend", c.n)
		c.n++
		answered := make(chan struct{})
		c.open[word], c.asked[word] = answered, p
		c.mu.Unlock()
		w := wait{network: p.Network, abused: c.abused()}
		asked := time.Now()
		p.Say(word)
		select {
		case <-answered:
		case <-time.After(5 * gatewaytest.Patience):
			c.t.Errorf("%s: nobody answered %s; it shows %q", p, word, p.Texts())
			return
		}
		w.took = time.Since(asked)
		c.mu.Lock()
		c.waits = append(c.waits, w)
		c.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(10*time.Second + time.Duration(rng.IntN(10_000))*time.Millisecond):
		}
	}
}

var wholeAnswer = regexp.MustCompile(`whole answer to (question\d+end)`)

// see notes the answers in what a chat shows.
func (c *crowd) see(text string) {
	for _, m := range wholeAnswer.FindAllStringSubmatch(text, -1) {
		c.mu.Lock()
		if answered := c.open[m[1]]; answered != nil {
			close(answered)
			delete(c.open, m[1])
		}
		c.mu.Unlock()
	}
}

// watches are what looks at the networks until ctx ends.
func (c *crowd) watches(ctx context.Context) []func() {
	tg, sl, sig := c.env.Telegram.Watch(ctx), c.env.Slack.Watch(ctx), c.env.Signal.Watch(ctx)
	return []func(){
		func() {
			for h := range tg {
				c.see(h.Text)
			}
		},
		func() {
			for h := range sl {
				c.see(h.Text)
			}
		},
		func() {
			for h := range sig {
				c.see(h.Text)
			}
		},
	}
}

var questionWord = regexp.MustCompile(`question\d+end`)

// brain answers a question over some seconds, and the abuser as the abuser wants.
func (c *crowd) brain(_ context.Context, p *model.Prompt) model.Answer {
	if a, ok := c.hostileAnswer(p); ok {
		return a
	}
	word := questionWord.FindString(p.LastText())
	if word == "" {
		return model.Reply(model.Say("Hello."))
	}
	a := model.Reply(model.Say(strings.Repeat("one more word of it, ", 8) + "and this is the whole answer to " + word))
	a.FirstToken, a.Pace, a.PieceBytes = 500*time.Millisecond, 400*time.Millisecond, 20
	return a
}

// judge says what came of it.
func (c *crowd) judge(peak, files int64) {
	c.t.Helper()
	repeats := c.count()
	minutes := time.Since(c.began).Minutes()
	c.t.Logf("%d chats, %.1f minutes, %d questions answered, %d marked repeats; peak %d MB, workspaces %d MB; the abuser: %v",
		len(c.places), minutes, len(c.waits), repeats, peak>>20, files>>20, c.deeds)
	for _, n := range gatewaytest.AllNetworks() {
		if heard := len(c.env.Direct(n, abuser).Texts()); heard == 0 {
			c.t.Errorf("%s: the abuser was never heard", n)
		} else {
			c.t.Logf("%s: the abuser got %d messages", n, heard)
		}
		quiet, abused := c.took(n, false), c.took(n, true)
		if len(quiet) == 0 || len(abused) == 0 {
			c.t.Errorf("%s: nothing to compare: %d and %d waits", n, len(quiet), len(abused))
			continue
		}
		for _, q := range []float64{0.5, 0.95} {
			a, b := quantile(quiet, q), quantile(abused, q)
			c.t.Logf("%s: p%.0f %s without the abuser (%d), %s with (%d)", n, q*100, a.Round(10*time.Millisecond), len(quiet), b.Round(10*time.Millisecond), len(abused))
			if b > 2*a {
				c.t.Errorf("%s: p%.0f is %s with the abuser and %s without", n, q*100, b, a)
			}
		}
		c.t.Logf("%s: longest wait %s without, %s with", n, quiet[len(quiet)-1].Round(10*time.Millisecond), abused[len(abused)-1].Round(10*time.Millisecond))
	}
	c.judgeCalls()
	c.judgeAbuse(filepath.Join(c.env.Dir, "state", "workspaces"))
	if peak > crowdMemory {
		c.t.Errorf("parley held %d MB", peak>>20)
	}
	if files > 3*abuserBytes {
		c.t.Errorf("the workspaces hold %d MB", files>>20)
	}
}

// count holds each place to one answer to each of its questions, and returns how many
// are there again with a mark.
func (c *crowd) count() (repeats int) {
	c.t.Helper()
	seen := map[string]int{}
	for p, shown := range gatewaytest.TextsIn(slices.Values(c.places)) {
		for _, text := range shown {
			m := wholeAnswer.FindStringSubmatch(text)
			switch {
			case m == nil:
			case strings.Contains(text, repeatMark):
				repeats++
			default:
				seen[m[1]]++
				if c.asked[m[1]].String() != p.String() {
					c.t.Errorf("%s shows the answer to %s of %s", p, m[1], c.asked[m[1]])
				}
			}
		}
	}
	lost := 0
	for word, p := range c.asked {
		switch {
		case c.open[word] != nil:
			lost++
		case seen[word] > 1:
			c.t.Errorf("%s shows %d answers to %s", p, seen[word], word)
		}
	}
	if lost > 0 {
		c.t.Errorf("%d answers were lost", lost)
	}
	return repeats
}

var retryIn = regexp.MustCompile(`retry after (\d+)`)

// judgeCalls says what the answers cost in calls, and that none fell into a penalty.
func (c *crowd) judgeCalls() {
	c.t.Helper()
	tg, sl := c.env.Telegram.Books(), c.env.Slack.Books()
	limited, longest := 0, 0
	for _, call := range tg.Calls {
		if m := retryIn.FindStringSubmatch(call.Description); call.Status == 429 && m != nil {
			limited++
			n, _ := strconv.Atoi(m[1]) // digits
			longest = max(longest, n)
		}
	}
	slackLimited, slackViolations := map[string]int{}, map[string]int{}
	refused := 0
	for _, call := range sl.Calls {
		if call.Status == 429 {
			refused++
			slackLimited[call.Method]++
		}
		if call.Violation {
			slackViolations[call.Method]++
		}
	}
	per := func(n int, of gatewaytest.Network) float64 {
		return float64(n) / float64(max(len(c.took(of, false))+len(c.took(of, true)), 1))
	}
	c.t.Logf("telegram: %.1f edits and %.2f refusals by 429 for each answer, longest penalty %d s, %d calls within one",
		per(tg.Totals.Edited, gatewaytest.Telegram), per(limited, gatewaytest.Telegram), longest, tg.Totals.Violations)
	c.t.Logf("slack: %.1f edits, %.1f appends and %.2f refusals by 429 for each answer, %v; calls within a penalty: %v",
		per(sl.Totals.Edited, gatewaytest.Slack), per(sl.Totals.Streamed, gatewaytest.Slack), per(refused, gatewaytest.Slack), slackLimited, slackViolations)
	if tg.Totals.Violations > 0 {
		c.t.Errorf("%d calls fell into a penalty of telegram's", tg.Totals.Violations)
	}
}

// took is how long people of a network waited, shortest first.
func (c *crowd) took(n gatewaytest.Network, abused bool) (out []time.Duration) {
	for _, w := range c.waits {
		if w.network == n && w.abused == abused {
			out = append(out, w.took)
		}
	}
	slices.Sort(out)
	return out
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(float64(len(sorted))*q), len(sorted)-1)]
}

// peakMemory is the most that a process held beside the pages of its own program, which the system
// takes back when it needs them; 0 where the system does not say.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Logf("the memory of the process is not known here: %v", err)
		return 0
	}
	field := func(name string) int64 {
		_, rest, _ := strings.Cut(string(text), name)
		n, err := strconv.ParseInt(slices.Concat(strings.Fields(rest), []string{""})[0], 10, 64)
		if err != nil {
			t.Fatalf("%s %v", name, err)
		}
		return n << 10
	}
	return field("VmHWM:") - field("RssFile:")
}

// fileBytes is how much the files of a folder hold.
func fileBytes(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
