package prices_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley/costs"
	"parley/gateway/prices"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func list(input string) string {
	return fmt.Sprintf(`{"prices": [{"provider": "openai", "model": "mine", "input": %q, "output": "7", "source": "me", "date": "2030-01-02"}]}`, input)
}

// watched is a table whose file a test writes, and what was told of it.
type watched struct {
	*prices.Table
	t    *testing.T
	file string
	tick chan time.Time
	log  bytes.Buffer

	told chan bool // each Reloaded
	mu   sync.Mutex
	at   time.Time // the newest row
}

func (w *watched) CountReload(ok bool, _ time.Time) { w.told <- ok }
func (w *watched) SetPricesDate(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = at
}

// watch opens one and watches its file.
func watch(t *testing.T, content string) *watched {
	t.Helper()
	w := opened(t, content)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Watch(ctx, w.tick) })
	t.Cleanup(func() { stop(); running.Wait() })
	return w
}

func opened(t *testing.T, content string) *watched {
	t.Helper()
	w := &watched{t: t, file: filepath.Join(t.TempDir(), "prices.json"), tick: make(chan time.Time), told: make(chan bool, 16)}
	w.write(content)
	var err error
	w.Table, err = prices.Open(prices.Options{
		Config: prices.Config{File: w.file}, Families: map[string]string{"local": "openai"},
		Observer: w, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watched) write(content string) {
	w.t.Helper()
	// As editors and clusters do: a new file in place of the old one.
	next := w.file + ".next"
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(next, w.file); err != nil {
		w.t.Fatal(err)
	}
}

// look makes it look as often as it takes to believe a change, and once more, so
// that this is over.
func (w *watched) look() {
	for range 3 {
		w.tick <- time.Time{}
	}
}

func (w *watched) want(input costs.Amount, told ...bool) {
	w.t.Helper()
	p, ok := w.Price("local", "mine")
	if !ok || p.Input != input*costs.USD/1_000_000 {
		w.t.Errorf("the price is %+v, not $%d", p, input)
	}
	for _, want := range told {
		select {
		case got := <-w.told:
			if got != want {
				w.t.Errorf("told %v, not %v", got, want)
			}
		default:
			w.t.Errorf("nothing was told, not %v", want)
		}
	}
	if len(w.told) > 0 {
		w.t.Errorf("told once more: %v", <-w.told)
	}
}

func TestAChangedFileHoldsWithoutARestart(t *testing.T) {
	t.Parallel()
	w := watch(t, list("3"))
	w.look()
	w.want(3)
	before := w.Snapshot()
	w.write(list("4"))
	w.look()
	w.want(4, true)
	if p, _ := before.Price("local", "mine"); p.Input != 3*costs.USD/1_000_000 {
		t.Errorf("a call that runs has the price %+v", p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at.Year() != 2030 {
		t.Errorf("the newest row is of %s", w.at)
	}
}

func TestABrokenFileKeepsTheOldPricesAndIsSaidOnce(t *testing.T) {
	t.Parallel()
	w := watch(t, list("3"))
	w.write(strings.Replace(list("4"), `"output"`, `"outptu"`, 1))
	w.look()
	w.look()
	w.want(3, false)
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.look()
	w.want(3, false)
	w.write(list("5"))
	w.look()
	w.want(5, true)
	log := w.log.String()
	if strings.Count(log, "level=ERROR") != 2 || !strings.Contains(log, "outptu") || !strings.Contains(log, "no such file") {
		t.Errorf("the log is\n%s", log)
	}
}

func TestAFileThatIsStillBeingWrittenIsNotTaken(t *testing.T) {
	t.Parallel()
	w := opened(t, list("3"))
	for _, content := range []string{`{"prices": []}`, list("4"), `{"prices": [`, list("5")} {
		w.write(content)
		w.Look()
		w.want(3)
	}
	w.Look()
	w.want(5, true)
	w.write(list("6"))
	w.Look()
	w.write(list("5")) // it was a mistake
	w.Look()
	w.write(list("6"))
	w.Look()
	w.want(5)
}

func TestAPipeIsNoFileOfPrices(t *testing.T) {
	t.Parallel()
	w := watch(t, list("3"))
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(w.file, 0o600); err != nil {
		t.Fatal(err)
	}
	w.look() // opening it would wait for somebody who writes
	w.want(3, false)
	if _, err := prices.Open(prices.Options{Config: prices.Config{File: w.file}}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
}

func TestAFileThatCameBackAsItWasIsReadAgain(t *testing.T) {
	t.Parallel()
	w := watch(t, list("3"))
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.write(list("3"))
	w.look()
	w.want(3, false, true)
}

func TestPricesThatWerePreparedHoldWhenTheyAreAdopted(t *testing.T) {
	t.Parallel()
	w := watch(t, list("3"))
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte(list("4")), 0o600); err != nil {
		t.Fatal(err)
	}
	families := map[string]string{"local": "openai"}
	d, err := w.Prepare(prices.Config{File: other}, families, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.want(3)
	w.Adopt(d)
	w.want(4)
	w.write(list("5")) // nobody looks at that file any more
	w.look()
	w.look()
	w.want(4)
	w.file = other
	w.write(list("6"))
	w.look()
	w.want(6, true)
	w.write(list("-1"))
	if _, err := w.Prepare(prices.Config{File: other}, families, nil); !errors.Is(err, costs.ErrPrices) {
		t.Errorf("%v", err)
	}
	w.want(6)
}

func TestAMistakeInTheFileIsOneAtTheStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prices.json")
	_, err := prices.Open(prices.Options{Config: prices.Config{File: file}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(file, []byte(list("-1")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = prices.Open(prices.Options{Config: prices.Config{File: file}})
	if !errors.Is(err, costs.ErrPrices) || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "row 1 (openai mine): input: ") {
		t.Errorf("%v", err)
	}
	if _, err := prices.Open(prices.Options{Config: prices.Config{File: "/dev/zero"}}); err == nil || len(err.Error()) > 200 {
		t.Errorf("%v", err)
	}
}

func TestTheCeilingIsForModelsWithoutAPrice(t *testing.T) {
	t.Parallel()
	table, err := prices.Open(prices.Options{
		Config:   prices.Config{Ceiling: prices.Ceiling{Input: "10", Output: "50"}},
		Families: map[string]string{"claude": "anthropic"},
	})
	if err != nil {
		t.Fatal(err)
	}
	u := costs.Usage{Input: 100_000, CacheRead: 100_000, CacheWrite1h: 100_000, Output: 100_000, Tier: "unheard-of", Source: costs.Reported}
	a, p, err := table.Cost("claude", "unheard-of", u)
	if err != nil || a != 8*costs.USD || !p.Ceiling {
		t.Errorf("%s by %+v, %v", a, p, err)
	}
	if upper, err := p.WorstCase(300_000, 100_000); err != nil || upper != a {
		t.Errorf("at most %s, %v", upper, err)
	}
	if p, ok := table.Price("claude", "claude-haiku-5-5"); !ok || p.Ceiling {
		t.Errorf("%+v", p)
	}
	// What is not known of a known model is unknown, not at the ceiling.
	if _, p, err := table.Cost("claude", "claude-haiku-5-5", u); !errors.Is(err, costs.ErrNoPrice) || p == nil || p.Ceiling {
		t.Errorf("%+v, %v", p, err)
	}
	u.ServerTools = map[string]int64{"web_search": 1}
	if _, _, err := table.Cost("claude", "unheard-of", u); !errors.Is(err, costs.ErrNoPrice) {
		t.Errorf("a server tool has the price of a token: %v", err)
	}
	charged := costs.USD
	u.Charged = &charged
	if a, p, err := table.Cost("claude", "unheard-of", u); a != costs.USD || p != nil || err != nil {
		t.Errorf("what was charged is %s by %+v, %v", a, p, err)
	}
}

func TestHalfACeilingIsNone(t *testing.T) {
	t.Parallel()
	for _, c := range []prices.Ceiling{{Input: "1"}, {Output: "1"}, {Input: "-1", Output: "1"}, {Input: "1", Output: "1e3"}, {Input: "0.1234567", Output: "1"}} {
		if p, err := c.Price(); err == nil || p != nil {
			t.Errorf("%+v is %+v, %v", c, p, err)
		}
	}
	if p, err := (prices.Ceiling{}).Price(); p != nil || err != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestTheRowsAreAFileOfTheSamePrices(t *testing.T) {
	t.Parallel()
	table, err := prices.Open(prices.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := table.View().Rows("", "")
	b, err := json.Marshal(map[string]any{"prices": rows})
	if err != nil {
		t.Fatal(err)
	}
	again, err := costs.Load(bytes.NewReader(b), "again")
	if err != nil {
		t.Fatal(err)
	}
	known, err := costs.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		want, _ := known.Price(r.Provider, r.Model)
		got, _ := again.Price(r.Provider, r.Model)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s %s:\n%s", r.Provider, r.Model, d)
		}
	}
	if len(rows) < 40 || len(table.View().Rows("anthropic", "")) >= len(rows) {
		t.Errorf("%d rows", len(rows))
	}
	if dated := table.View().Rows("", "claude-sonnet-4-5-20250929"); len(dated) != 1 || dated[0].Model != "claude-sonnet-4-5" {
		t.Errorf("%+v", dated)
	}
	if none := table.View().Rows("anthropic", "gpt-5"); len(none) != 0 {
		t.Errorf("%+v", none)
	}
}
