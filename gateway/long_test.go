package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/agent/pressure"
	"parley/costs"
	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/recording"
	"parley/sessions"
	"parley/simulators/model"
	"parley/transcript"
)

// A conversation far longer than its model's window goes on and on, in the real binary: no
// request is too long for the provider, and what was said at its beginning is known at its
// end, by way of the summaries alone, or of the number of an output that no request has held
// whole. (requirements N01, N03, M06, R01; issue 13)
func TestALongConversationKeepsWhatMatters(t *testing.T) {
	t.Parallel()
	turns, facts, window := 60, []int{5, 12, 25}, 9_000
	if os.Getenv("PARLEY_LONG") != "" {
		turns, facts, window = 400, []int{5, 50, 200}, 32_000
	}
	price := demoPrice(t)
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: honest, Prices: map[string]model.Price{"demo": price}, Window: window, Keep: 1 << 12,
	})
	pages := writePages(t)
	start(t, longConfig(t, env, pages, window))
	ann := env.Direct(gatewaytest.Telegram, 1)
	ask := func(text, want string) {
		t.Helper()
		before := len(ann.Texts())
		ann.Say(text)
		shown := ann.Await("an answer to "+text, func(shown []string) bool { return len(shown) > before && shown[len(shown)-1] == want })
		if len(shown) > before+1 {
			t.Fatalf("%q was answered with %q, not %q", text, shown[before:], want)
		}
	}
	for i := 1; i <= turns; i++ {
		switch {
		case i == facts[0]:
			ask("Mark FACT:colour=green.", "Go on.")
		case i == facts[1]:
			ask("Mark FACT:harbour=Lisbon.", "Go on.")
		case i == facts[2]:
			ask("Read "+filepath.Join(pages, "ledger.txt"), "Read.")
		case i%3 == 0:
			ask("Read "+filepath.Join(pages, fmt.Sprintf("page%d.txt", i%9)), "Read.")
		default:
			ask(fmt.Sprintf("Turn %d. %s", i, strings.Repeat("We talk about this and that. ", 30)), "Go on.")
		}
	}
	ask("Which colour", "green")
	ask("Which harbour", "Lisbon")
	ask("Which code", "7319")
	judgeBill(t, env, price, turns+len(facts), int64(window))
	judgeEstimates(t, env)
}

// judgeBill holds the ledger to the provider's bill, which has no refusal, and prints the
// money.
func judgeBill(t *testing.T, env *gatewaytest.Env, price model.Price, turns int, window int64) {
	t.Helper()
	var billed, uncached, input, cached int64
	entries := env.Model.Bill().Entries
	for _, e := range entries {
		if e.Outcome == model.Refused {
			t.Errorf("the provider refused a request with status %d", e.Status)
		}
		billed += e.Pico
		uncached += e.Usage.TotalInput()*price.Input + e.Usage.Output*price.Output
		input, cached = input+e.Usage.TotalInput(), cached+e.Usage.CacheRead
	}
	used, err := admin.NewClient(filepath.Join(env.Dir, "admin.sock")).Usage(t.Context(), admin.UsageQuery{By: sessions.ByPurpose})
	noError(t, err)
	if int64(used.Total.Cost) != billed {
		t.Errorf("the ledger has %s, the provider's bill %s", used.Total.Cost, costs.Amount(billed))
	}
	var summaries admin.Usage
	for _, g := range used.Groups {
		if g.Group == string(costs.Summary) {
			summaries = g
		}
	}
	if summaries.Calls < 2 {
		t.Errorf("%d summaries: none had to keep what the one before it kept", summaries.Calls)
	}
	t.Logf("%d tokens of input, of which %d from the provider's cache; %.3f extra calls a turn", input, cached, float64(summaries.Calls)/float64(turns))
	t.Logf("%d turns, %d model calls for %s, %d of them summaries for %s; %d%% of the input came from the provider's cache, without which all would cost %s; with the oldest messages left out instead of summarised, %s",
		turns, used.Total.Calls, used.Total.Cost, summaries.Calls, summaries.Cost, cached*100/input, costs.Amount(uncached).Display(), costOfTruncation(entries, price, window).Display())
}

// costOfTruncation is what the same conversation would cost a bot that leaves the oldest
// messages out of each request that is too long: from then on no request begins as the one
// before it did, so that nothing of it is cached. It knows none of the facts.
func costOfTruncation(entries []model.Entry, price model.Price, window int64) costs.Amount {
	var pico, whole, before int64
	for _, e := range entries {
		grown := max(0, e.Usage.TotalInput()-before)
		before = e.Usage.TotalInput()
		if whole += grown; whole <= window*9/10 {
			pico += (whole-grown)*price.CacheRead + grown*price.CacheWrite5m
		} else {
			pico += window * 9 / 10 * price.Input
		}
		pico += e.Usage.Output * price.Output
	}
	return costs.Amount(pico)
}

// judgeEstimates holds what parley took each request for to what the provider counted, and
// prints by how much it was wrong. What errs by more than a tenth either fills the window
// unnoticed or summarises too early.
func judgeEstimates(t *testing.T, env *gatewaytest.Env) {
	t.Helper()
	client := admin.NewClient(filepath.Join(env.Dir, "admin.sock"))
	all, err := client.Sessions(t.Context(), admin.SessionQuery{})
	noError(t, err)
	var file bytes.Buffer
	noError(t, client.Export(t.Context(), string(all.Sessions[0].ID), &file))
	rec, err := recording.Read(&file)
	noError(t, err)
	history := rec.Messages[all.Sessions[0].ID]
	var wrong []float64
	system := int64(-1)
	for i, m := range history {
		size := m.Finish().Size
		if m.Role != transcript.Assistant || size.Input == 0 {
			continue
		}
		if system < 0 {
			system = size.Guess - pressure.GuessMessages(history[:i])
			continue // nothing was counted before it
		}
		got := pressure.Measure(history[:i], size.Model, system).Tokens
		wrong = append(wrong, math.Abs(float64(got-size.Input))/float64(size.Input))
	}
	slices.Sort(wrong)
	if len(wrong) < 50 {
		t.Fatalf("%d estimates", len(wrong))
	}
	median, p99 := wrong[len(wrong)/2], wrong[len(wrong)*99/100]
	if p99 > 0.1 {
		t.Errorf("an estimate in a hundred is wrong by %.1f%% and more", 100*p99)
	}
	t.Logf("%d estimates were wrong by %.2f%% in the median, %.2f%% at the 99th percentile, %.2f%% at most", len(wrong), 100*median, 100*p99, 100*wrong[len(wrong)-1])
}

// demoPrice is what the demonstration model costs, as the provider bills it.
func demoPrice(t *testing.T) model.Price {
	t.Helper()
	c, err := costs.Embedded()
	noError(t, err)
	p, ok := c.Price("demo", "demo")
	if !ok {
		t.Fatal("the demonstration model has no price")
	}
	return model.Price{
		Input: int64(p.Input), Output: int64(p.Output), CacheRead: int64(p.CacheRead),
		CacheWrite5m: int64(p.CacheWrite5m), CacheWrite1h: int64(p.CacheWrite1h),
	}
}

// writePages writes files that are longer than what a request is to hold of them.
func writePages(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	page := strings.Repeat("Nothing happens on this line of the page.\n", 150)
	for i := range 9 {
		noError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("page%d.txt", i)), []byte(page), 0o600))
	}
	ledger := "This is ledger.txt.\n" + page + "The code of the safe is FACT:code=7319.\n" + page
	noError(t, os.WriteFile(filepath.Join(folder, "ledger.txt"), []byte(ledger), 0o600))
	return folder
}

// longConfig is parley on its embedded engine, and a model with a small window.
func longConfig(t *testing.T, env *gatewaytest.Env, pages string, window int) string {
	t.Helper()
	text := fmt.Sprintf(`
state_dir: %[1]s/state
channels: {telegram: {tg: {token: "%[2]s", api_url: "%[3]s", pace: 1000, access: {everyone: true}}}}
providers: {sim: {kind: anthropic, base_url: "%[4]s", prices: demo}}
agents: {main: {model: sim/demo, window: %[5]d, max_tokens: 1000}}
context: {result_bytes: 4096}
files: {extra_roots: ["%[6]s"]}
limits: {person_per_minute: -1, person_burst: -1}
budgets: {turn: 10, session: 100, person_per_day: 100, global_per_day: 100}
ops: {listen: "127.0.0.1:0"}
admin: {socket: %[1]s/admin.sock}
log: {format: json}
`, env.Dir, gatewaytest.Token, env.Telegram.URL(), env.Model.URL(), window, pages)
	path := filepath.Join(env.Dir, "parley.yaml")
	noError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

var (
	factRule   = regexp.MustCompile(`FACT:(\w+)=(\w+)`)
	outputRule = regexp.MustCompile(`(\w+)\.txt[^\[]*\[output (\d+): bytes`)
	noteRule   = regexp.MustCompile(`output (\d+) is (\w+)\.txt`)
)

// honest is a model that knows nothing but what its request holds: it reads the files that
// it is asked to read, summarises the facts and the shortened outputs of its request, and
// answers from them.
func honest(_ context.Context, p *model.Prompt) model.Answer {
	asked := p.LastText()
	facts, outputs := knownFrom(p)
	say := func(text string) model.Answer { return model.Reply(model.Say(text)) }
	if strings.HasPrefix(asked, "Provide a detailed but concise summary") {
		notes := []string{"We talked."}
		for key, value := range facts {
			notes = append(notes, fmt.Sprintf("FACT:%s=%s", key, value))
		}
		for name, n := range outputs {
			notes = append(notes, fmt.Sprintf("output %s is %s.txt", n, name))
		}
		return say(strings.Join(notes, "\n"))
	}
	if path, ok := strings.CutPrefix(asked, "Read "); ok {
		if len(p.Answering()) > 0 {
			return say("Read.")
		}
		return model.Reply(model.Use("read_file", map[string]string{"path": path}))
	}
	if key, ok := strings.CutPrefix(asked, "Which "); ok {
		if value, known := facts[key]; known {
			return say(value)
		}
		if n, known := outputs["ledger"]; known && len(p.Answering()) == 0 {
			return model.Reply(model.Use("read_output", map[string]any{"output": json.Number(n), "pattern": "FACT:" + key}))
		}
		return say("I do not know.")
	}
	return say("Go on.")
}

// knownFrom returns the facts that a request holds, and the numbers of its shortened
// outputs.
func knownFrom(p *model.Prompt) (facts, outputs map[string]string) {
	facts, outputs = map[string]string{}, map[string]string{}
	read := func(text string) {
		for _, m := range factRule.FindAllStringSubmatch(text, -1) {
			facts[m[1]] = m[2]
		}
		for _, m := range outputRule.FindAllStringSubmatch(text, -1) {
			outputs[m[1]] = m[2]
		}
		for _, m := range noteRule.FindAllStringSubmatch(text, -1) {
			outputs[m[2]] = m[1]
		}
	}
	for _, m := range p.Messages {
		read(m.Text)
		for _, r := range m.Results {
			read(r.Text)
		}
	}
	return facts, outputs
}
