package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/costs"
	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/sessions"
	"parley/simulators/model"
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
	judgeBill(t, env, price, turns+len(facts))
}

// judgeBill holds the ledger to the provider's bill, which has no refusal, and prints the
// money.
func judgeBill(t *testing.T, env *gatewaytest.Env, price model.Price, turns int) {
	t.Helper()
	var billed, uncached, input, cached int64
	for _, e := range env.Model.Bill().Entries {
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
	t.Logf("%d turns, %d model calls for %s, %d of them summaries for %s; %d%% of the input came from the provider's cache, without which all would cost %s",
		turns, used.Total.Calls, used.Total.Cost, summaries.Calls, summaries.Cost, cached*100/input, costs.Amount(uncached).Display())
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
