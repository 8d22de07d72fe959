package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/costs"
	"parley/gateway/gatewaytest"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// binary builds the real program once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "parley-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "parley")
	out, err := exec.Command("go", "build", "-o", path, "parley/cmd/parley").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is the real binary, running.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	ops string
	log *bytes.Buffer
	end chan error
}

func start(t *testing.T, config string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.CommandContext(context.Background(), path, "run", "--config", config), log: &bytes.Buffer{}, end: make(chan error, 1)}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started := make(chan string, 1)
	go func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			p.log.Write(append(s.Bytes(), '\n'))
			var line struct{ Msg, Ops string }
			if json.Unmarshal(s.Bytes(), &line) == nil && line.Msg == "started" {
				started <- line.Ops
			}
		}
		p.end <- p.cmd.Wait()
	}()
	select {
	case p.ops = <-started:
	case err := <-p.end:
		t.Fatalf("the binary ended while starting: %v\n%s", err, p.log)
	case <-time.After(gatewaytest.Patience):
		_ = p.cmd.Process.Kill()
		t.Fatalf("the binary did not start\n%s", p.log)
	}
	t.Cleanup(p.kill)
	t.Cleanup(func() {
		if t.Failed() {
			p.kill()
			t.Logf("its log:\n%s", p.log)
		}
	})
	return p
}

// kill is SIGKILL; nothing of the process runs after it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	if _, ok := <-p.end; ok {
		close(p.end)
	}
}

func (p *process) scrape() string {
	p.t.Helper()
	resp, err := http.Get("http://" + p.ops + "/metrics") //nolint:noctx // a test's own process
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

var costSeries = regexp.MustCompile(`(?m)^parley_llm_cost_usd_total\{[^}]*\} (\S+)$`)

// exported is the sum of the cost counters, in dollars.
func exported(t *testing.T, metrics string) float64 {
	t.Helper()
	sum := 0.0
	series := costSeries.FindAllStringSubmatch(metrics, -1)
	if len(series) == 0 {
		t.Fatal("no cost is exported")
	}
	for _, m := range series {
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	return sum
}

func writeConfig(t *testing.T, h *gatewaytest.House) string {
	t.Helper()
	path := filepath.Join(h.Dir, "parley.yaml")
	text := fmt.Sprintf(`
state_dir: %s
name: kill-test
channels: {telegram: {tg: {token: "%s", api_url: %s, access: {everyone: true}}}}
providers: {sim: {kind: anthropic, base_url: %s, prices: demo}}
agents: {main: {model: sim/demo}}
worker: {turns: 64, attempts: 20} # a turn that was killed four times is not poison here
ops: {listen: "127.0.0.1:0"}
log: {format: json}
`, filepath.Join(h.Dir, "state"), gatewaytest.Token, h.Telegram.URL(), h.Model.URL())
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The real binary is killed again and again under load. Nothing accepted is
// lost, nothing is answered twice but what is marked so, each chat is answered
// in its order, Prometheus equals the ledger, and the ledger the bill. (F5, I7)
func TestKilledAtAnyMomentNothingIsLostNothingTwiceAndTheMoneyIsExact(t *testing.T) {
	t.Parallel()
	chats, perChat, kills := 12, 6, 5
	if os.Getenv("PARLEY_LONG") != "" { // make test-long
		chats, perChat, kills = 40, 40, 39
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))

	demo, ok := demoPrice(t)
	if !ok {
		t.Fatal("the demonstration model has no price")
	}
	house := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
			a := model.Echo(ctx, p)
			a.Latency, a.Pace = 20*time.Millisecond, 3*time.Millisecond
			return a
		},
		Prices: map[string]model.Price{"demo": {
			Input: int64(demo.Input), Output: int64(demo.Output), CacheRead: int64(demo.CacheRead),
			CacheWrite5m: int64(demo.CacheWrite5m), CacheWrite1h: int64(demo.CacheWrite1h),
		}},
	})
	config := writeConfig(t, house)
	p := start(t, config)

	t.Cleanup(func() {
		if t.Failed() {
			diagnose(t, house)
		}
	})
	words := func(chat, n int) string {
		return fmt.Sprintf("question-%d-%d with some words to stream slowly", chat, n)
	}
	for n := range perChat {
		for c := range chats {
			person := telegram.Person{ID: int64(5000 + c), FirstName: fmt.Sprintf("P%d", c)}
			house.Say(telegram.PrivateChat(person), person, words(c, n))
		}
		if n < kills {
			// A kill comes after a random number of further answers.
			target := house.Telegram.Totals().Sent + rng.IntN(chats)
			house.Await("some answers", func(b telegram.Book) bool { return b.Totals.Sent >= target })
			p.kill()
			p = start(t, config)
		}
	}
	answered := func(b telegram.Book) map[string][]telegram.MessageEntry {
		m := map[string][]telegram.MessageEntry{}
		for _, e := range b.Messages {
			if id := questionIn(e.Text()); id != "" {
				m[id] = append(m[id], e)
			}
		}
		return m
	}
	book := house.Await("every answer", func(b telegram.Book) bool {
		done := 0
		for _, es := range answered(b) {
			for _, e := range es {
				if strings.Contains(e.Text(), "to stream slowly") {
					done++
					break
				}
			}
		}
		return done == chats*perChat
	})

	last := map[int64]int{}
	for _, e := range book.Messages {
		id := questionIn(e.Text())
		if id == "" {
			t.Errorf("chat %d got %q", e.ChatID, e.Text())
			continue
		}
		parts := strings.Split(id, "-")
		chat, _ := strconv.Atoi(parts[1])
		n, _ := strconv.Atoi(parts[2])
		if int64(5000+chat) != e.ChatID {
			t.Errorf("chat %d got the answer of chat %d", e.ChatID, 5000+chat)
		}
		if n < last[e.ChatID] {
			t.Errorf("chat %d: answer %d came after answer %d", e.ChatID, n, last[e.ChatID])
		}
		last[e.ChatID] = max(last[e.ChatID], n)
	}
	for id, es := range answered(book) {
		for _, again := range es[1:] {
			if strings.HasPrefix(again.Text(), "question") {
				t.Errorf("%s was answered again, and not marked as a possible repeat: %q", id, again.Text())
			}
		}
	}

	before := exported(t, p.scrape())
	p.kill()
	p = start(t, config)
	if after := exported(t, p.scrape()); after != before {
		t.Errorf("after a kill Prometheus shows %v, before it was %v", after, before)
	}
	p.kill()

	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(house.Dir, "state", "parley.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	var booked, most costs.Amount
	interrupted := 0
	err = store.Ledger(t.Context(), "", func(_ sessionkeys.SessionID, e costs.Entry) bool {
		booked += e.Amount
		most += max(e.Amount, e.Upper)
		if e.State == costs.Interrupted {
			interrupted++
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := booked.Dollars(); !near(got, before) {
		t.Errorf("Prometheus shows %v dollars, the ledger holds %v", before, got)
	}
	bill := house.Model.Bill()
	billed := costs.Amount(bill.Pico)
	if billed < booked || billed > most {
		t.Errorf("the bill is %s, the ledger says between %s and %s", billed, booked, most)
	}
	t.Logf("%d questions, %d kills, %d interrupted calls, booked %s, billed %s, at most %s",
		chats*perChat, kills+2, interrupted, booked, billed, most)
}

// diagnose shows what the platform and the store say after a failure.
func diagnose(t *testing.T, h *gatewaytest.House) {
	t.Helper()
	b := h.Telegram.Books()
	for _, u := range b.Updates {
		if u.Confirmed.IsZero() {
			t.Logf("not confirmed: %+v", u)
		}
	}
	for _, m := range b.Messages {
		if questionIn(m.Text()) == "" {
			t.Logf("chat %d was told %q", m.ChatID, m.Text())
		}
	}
	t.Logf("totals %+v, pending %v, polling %v", b.Totals, b.Pending, b.Polling)
	store, err := sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(h.Dir, "state", "parley.db")})
	if err != nil {
		t.Logf("open the store: %v", err)
		return
	}
	defer func() { _ = store.Close() }()
	_ = store.Mailboxes(context.Background(), func(m sessions.Mailbox) bool {
		t.Logf("mailbox %s touched %d read %d owner %q epoch %d attempts %d controls %d", m.Key, m.Touched, m.Read, m.Owner.Name, m.Epoch, m.Attempts, m.Controls)
		if m.Turn != nil {
			t.Logf("  open turn %+v", *m.Turn)
		}
		return true
	})
	ds, err := store.Pending(context.Background(), "tg", 0, 100)
	t.Logf("outbox: %+v (%v)", ds, err)
}

var question = regexp.MustCompile(`question-\d+-\d+`)

func questionIn(text string) string { return question.FindString(text) }

func near(a, b float64) bool {
	d := a - b
	return d < 1e-9 && d > -1e-9
}

func demoPrice(t *testing.T) (*costs.Price, bool) {
	t.Helper()
	c, err := costs.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c.Price("demo", "demo")
}
