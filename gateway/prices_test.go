package gateway_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
	"parley/gateway/prices"
	"parley/gateway/settings"
)

// heard is a log of which a test waits for lines.
type heard chan string

func (h heard) Write(b []byte) (int, error) {
	select {
	case h <- string(b):
	default:
	}
	return len(b), nil
}

func (h heard) await(t *testing.T, words string) string {
	t.Helper()
	for patience := time.After(gatewaytest.Patience); ; {
		select {
		case line := <-h:
			if strings.Contains(line, words) {
				return line
			}
		case <-patience:
			t.Fatalf("nobody said %q", words)
		}
	}
}

func TestAGatewayThatRunsTakesNewPricesAndKeepsTheOldOnesOfABrokenFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prices.json")
	write := func(input string) {
		text := fmt.Sprintf(`{"prices": [{"provider": "demo", "model": "demo", "input": %q, "output": "0", "source": "t", "date": "2031-02-03"}]}`, input)
		noError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("0")
	log := make(heard, 1<<12)
	r := gatewaytest.Open(t, gatewaytest.Options{
		Log:    slog.New(slog.NewTextHandler(log, nil)),
		Change: func(c *settings.Config) { c.Prices.File = file },
	}).Start()
	cost := func(want string) {
		t.Helper()
		if got := r.Ask(gatewaytest.Ann, "hello"); !strings.Contains(got, "hello") {
			t.Errorf("Ann is told %q", got)
		}
		if got := r.Ask(gatewaytest.Ann, "/cost"); !strings.Contains(got, want) {
			t.Errorf("/cost says %q, not %q", got, want)
		}
	}
	cost("This conversation: $0.00\n")
	write("x")
	if _, err := r.Reload(); err == nil {
		t.Error("a broken list was taken")
	}
	if line := log.await(t, "configuration not reloaded"); !strings.Contains(line, "row 1 (demo demo)") {
		t.Errorf("the log says %s", line)
	}
	cost("This conversation: $0.00\n")
	r.AwaitMetrics("parley_config_last_reload_successful 0")
	write("10") // not so dear that the budgets refuse it
	if done, err := r.Reload(); err != nil || !slices.Equal(done.Changed, []string{"prices.file"}) {
		t.Errorf("reloaded %q, %v", done.Changed, err)
	}
	cost("This conversation: $0.")
	if got := r.Ask(gatewaytest.Ann, "/cost"); strings.Contains(got, "conversation: $0.00\n") {
		t.Errorf("/cost says %q", got)
	}
	r.AwaitMetrics("parley_config_last_reload_successful 1",
		fmt.Sprintf("parley_llm_price_table_timestamp_seconds %g", float64(time.Date(2031, 2, 3, 0, 0, 0, 0, time.UTC).Unix())))

	// It looks at the file by itself, too.
	write("y")
	log.await(t, "prices not reloaded, previous ones stay in force")
	r.AwaitMetrics("parley_config_last_reload_successful 0")
	write("0")
	log.await(t, "prices reloaded")
	r.AwaitMetrics("parley_config_last_reload_successful 1")
	r.Ask(gatewaytest.Ann, "/new")
	cost("This conversation: $0.00\n")
}

func TestAModelWithoutAPriceIsReckonedAtTheCeiling(t *testing.T) {
	t.Parallel()
	log := make(heard, 1<<12)
	r := gatewaytest.Open(t, gatewaytest.Options{
		Log: slog.New(slog.NewTextHandler(log, nil)),
		Change: func(c *settings.Config) {
			c.Agents = map[string]settings.AgentConfig{"main": {Model: "sim/nobody-knows-it"}}
			c.Prices.Ceiling = prices.Ceiling{Input: "10", Output: "50"}
		},
	}).Start()
	log.await(t, "charged at prices.ceiling")
	if got := r.Ask(gatewaytest.Ann, "hello"); !strings.Contains(got, "hello") {
		t.Errorf("Ann is told %q", got)
	}
	if got := r.Ask(gatewaytest.Ann, "/cost"); strings.Contains(got, "conversation: $0.00\n") || !strings.Contains(got, "no known price") {
		t.Errorf("/cost says %q", got)
	}
	r.AwaitMetrics(`parley_llm_unpriced_requests_total{model="nobody-knows-it",provider="sim",reason="no_price"} 1`)
}
