package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"parley/simulators/model"
)

// requirements B18, through the real binary: parley reload and SIGHUP take up what an operator
// wrote, and say mistakes as check-config does.
func TestReload(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	if status, _, said := asked(t, "reload", "-c", config); status != exitNobody || !strings.Contains(said, "no gateway runs on") {
		t.Errorf("without a gateway: %d %q", status, said)
	}
	p := start(t, environment, "run", "--config", config)
	p.err.awaitLines(t, 1, `"msg":"connected"`) // else its status is no success
	original, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	rewrite := func(old, now string) {
		t.Helper()
		text := strings.Replace(string(original), old, now, 1)
		if old != "" && text == string(original) {
			t.Fatalf("%q is not in the configuration", old)
		}
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := saidOf(t, "reload", "-c", config); got != "reloaded: nothing has changed\n" {
		t.Errorf("unchanged: %q", got)
	}
	rewrite("window: 200000", "window: 200000, prompt: Be brief., max_iterations: x")
	status, out, said := asked(t, "reload", "-c", config)
	if status != exitConfig || out != "" || !strings.HasPrefix(said, config+":5:") || !strings.Contains(said, ": agents.main.max_iterations: ") || !strings.Contains(said, "\n    max_iterations: …\n") || strings.Contains(said, "See parley --help") {
		t.Errorf("with a mistake: %d %q %q", status, out, said)
	}
	if status, out, said := asked(t, "status", "-c", config); status != exitFailed || !strings.Contains(out, "ready          yes\n") || !strings.Contains(out, ", not reloaded ") || !strings.Contains(said, "max_iterations") {
		t.Errorf("its status: %d %q %q", status, out, said)
	}
	rewrite("window: 200000", "window: 200000, model: sim/demo2")
	if status, _, said := asked(t, "reload", "-c", config); status != exitConfig || !strings.Contains(said, "agents.main.model: stands here a second time") {
		t.Errorf("with another mistake: %d %q", status, said)
	}
	rewrite("level: debug", "level: info")
	if got := saidOf(t, "reload", "-c", config); got != "reloaded: log.level\n" {
		t.Errorf("the level: %q", got)
	}
	rewrite("worker: {grace: 30s}", "worker: {grace: 31s}\nbudgets: {turn: \"0.50\"}")
	if got := saidOf(t, "reload", "-c", config); got != "reloaded: budgets.turn\nreloaded: log.level\nneeds a restart: worker.grace\n" {
		t.Errorf("a restart: %q", got)
	}
	if got := saidOf(t, "status", "-c", config); !strings.Contains(got, "needs restart  worker.grace\n") {
		t.Errorf("its status: %q", got)
	}
	rewrite("", "")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.err.awaitLines(t, 1, `"changed":["budgets.turn"],"needs_restart":[]`)
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("it ended with %d", status)
	}
}
