package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/runtest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

func TestSimEndsInOrderWhenToldTo(t *testing.T) {
	t.Parallel()
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		p := start(t, nil, "sim", "--telegram", "127.0.0.1:0", "--slack", "127.0.0.1:0", "--signal", "127.0.0.1:0", "--signal-cli", "127.0.0.1:0", "--model", "127.0.0.1:0", "--brain", "echo")
		for _, url := range []string{after(p.await("Telegram: "), "Telegram:"), after(p.await("Slack: "), "Slack:"), after(p.await("Signal: "), "Signal:"), after(p.await("Model: "), "Model:")} {
			if !strings.HasPrefix(url, "http://127.0.0.1:") || strings.HasSuffix(url, ":0") {
				t.Errorf("it says it is at %q", url)
			}
		}
		if status := p.end(s); status != exitOK || p.err.String() != "" {
			t.Errorf("after %v it ended with %d: %s", s, status, p.err.String())
		}
	}
}

func TestASupervisorRunsTheSignalCLIOfSim(t *testing.T) {
	t.Parallel()
	sim := start(t, nil, "sim", "--telegram", "127.0.0.1:0", "--slack", "127.0.0.1:0", "--signal", "127.0.0.1:0", "--signal-cli", "127.0.0.1:0", "--model", "127.0.0.1:0")
	world := after(sim.await("Signal: "), "Signal:")
	cli := start(t, nil, "sim", "signal-cli", "--world", world, "-a", "+4915550000001", "-o", "json", "daemon", "--http=127.0.0.1:0")
	request(t, http.MethodPost, world+"/sim/say", `{"from":{"aci":"00000000-0000-4000-8000-000000000001"},"text":"hello"}`)
	cli.await(`"message":"hello"`)
	if status := cli.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("it ended with %d: %s", status, cli.err.String())
	}
	if status := sim.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("sim ended with %d: %s", status, sim.err.String())
	}
	if status := start(t, nil, "sim", "signal-cli", "--world="+world, "daemon").end(syscall.Signal(0)); status != 1 {
		t.Errorf("without a channel it ended with %d", status)
	}
}

// sims starts the two servers in this process.
func sims(t *testing.T, brain model.Brain) (*telegram.Server, *model.Server) {
	t.Helper()
	tg, err := telegram.New(telegram.Options{Pace: 200, Bots: []telegram.Bot{{Token: token, Username: "parley_bot", Name: "parley"}}})
	if err != nil {
		t.Fatal(err)
	}
	m := model.New(model.Options{Brain: brain, Keys: []string{key}})
	runtest.Serve(t, tg, m)
	return tg, m
}

const (
	token = "4200000001:AAcanary7AAcanary7AAcanary7AAcanary7"
	key   = "sk-canary7"
)

// written is a file with a configuration for both servers.
func written(t *testing.T, api, base, ops string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "parley.yaml")
	text := fmt.Sprintf(`state_dir: state
log: {level: debug, format: json}
channels: {telegram: {tg: {token: "${TOKEN}", api_url: %q, pace: 200, access: {people: ["1001"]}}}}
providers: {sim: {kind: openai, base_url: "%s/v1", api_key: "${KEY}", prices: demo}}
agents: {main: {model: sim/demo, window: 200000}}
worker: {grace: 30s}
ops: {listen: %q}
`, api, base, ops)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// add appends to a configuration.
func add(t *testing.T, config, text string) {
	t.Helper()
	before, err := os.ReadFile(config)
	if err == nil {
		err = os.WriteFile(config, append(before, text...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var environment = []string{"TOKEN=" + token, "KEY=" + key}

var ann = telegram.Person{ID: 1001, FirstName: "Ann"}

func await(t *testing.T, tg *telegram.Server, what string, done func(telegram.Book) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := tg.Await(ctx, done); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func say(t *testing.T, tg *telegram.Server, text string) {
	t.Helper()
	if _, err := tg.Say(telegram.PrivateChat(ann), ann, text, telegram.SayOptions{}); err != nil {
		t.Fatal(err)
	}
}

func answer(text string) func(telegram.Book) bool {
	return func(b telegram.Book) bool {
		for _, m := range b.Messages {
			if m.Text() == text {
				return true
			}
		}
		return false
	}
}

func TestRunAnswersAndFinishesWhatRunsBeforeItEnds(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}), make(chan struct{})
	tg, m := sims(t, func(ctx context.Context, p *model.Prompt) model.Answer {
		a := model.Echo(ctx, p)
		for _, b := range a.Blocks {
			if strings.Contains(b.Text, "last words") {
				close(asked)
				<-goOn
			}
		}
		return a
	})
	p := start(t, environment, "run", "--config", written(t, tg.URL(), m.URL(), "127.0.0.1:0"))
	say(t, tg, "first words")
	await(t, tg, "the first answer", answer("first words"))

	say(t, tg, "last words")
	<-asked
	status := make(chan int, 1)
	go func() { status <- p.end(syscall.SIGTERM) }()
	// It has stopped taking messages, but still works on the last answer.
	await(t, tg, "the end of polling", func(b telegram.Book) bool { return !b.Polling["parley_bot"] })
	close(goOn)
	select {
	case got := <-status:
		if got != exitOK {
			t.Errorf("it ended with %d: %s", got, p.err.String())
		}
	case <-time.After(patience):
		t.Fatal("it did not end within its grace")
	}
	if b := tg.Books(); !answer("last words")(b) {
		t.Errorf("the answer that ran was lost: %+v", b.Messages)
	}
	log := p.err.String()
	if strings.Contains(log, "canary7") {
		t.Errorf("a secret is in the log:\n%s", log)
	}
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line of the log is not JSON: %s", line)
		}
	}
}

// everySim runs all simulators, and returns the file of a configuration for them, as
// sim prints it with more put behind it, and where the networks are driven from:
// Telegram, Slack and Signal.
func everySim(t *testing.T, more string) (file string, worlds []string) {
	t.Helper()
	sim := start(t, nil, "sim", "--telegram", "127.0.0.1:0", "--slack", "127.0.0.1:0", "--signal", "127.0.0.1:0", "--signal-cli", "127.0.0.1:0", "--model", "127.0.0.1:0", "--pace", "0s")
	for _, name := range []string{"Telegram:", "Slack:", "Signal:"} {
		worlds = append(worlds, after(sim.await(name), name))
	}
	sim.await("A configuration for parley run")
	from := len(sim.said)
	sim.await("agents:")
	// Not below t.TempDir: a socket in the folder has a bounded path.
	dir, err := os.MkdirTemp("", "sim")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file = filepath.Join(dir, "parley.yaml")
	config := append(sim.said[from:], "  ops: {listen: \"127.0.0.1:0\"}", more)
	if err := os.WriteFile(file, []byte(strings.Join(config, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, worlds
}

// As somebody new does it: what sim prints becomes a file, run takes it, and
// whoever writes in a simulated network is answered there.
func TestRunAnswersEverywhereWithTheConfigurationThatSimPrints(t *testing.T) {
	t.Parallel()
	file, worlds := everySim(t, "")
	start(t, nil, "check-config", "-c", file).await(file + ": ok")
	p := start(t, nil, "run", "-c", file)
	books := func(i int, want string) {
		t.Helper()
		for limit := time.Now().Add(patience); !strings.Contains(request(t, http.MethodGet, worlds[i]+"/sim/books", ""), want); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("%s never has %s", worlds[i], want)
			}
		}
	}
	books(1, `"connected":{"sim_bot":1}`) // Slack forgets soon what nobody takes
	for i, hello := range []string{
		`{"chat":{"id":1001,"kind":"private"},"from":{"id":1001,"first_name":"Ann"},"text":"what is 6*7"}`,
		`{"channel":{"id":"D0ANN","kind":"im"},"from":{"id":"U0ANN","name":"ann"},"text":"what is 6*7"}`,
		`{"from":{"aci":"00000000-0000-4000-8000-000000000001","name":"Ann"},"text":"what is 6*7"}`,
	} {
		request(t, http.MethodPost, worlds[i]+"/sim/say", hello)
	}
	for i := range worlds {
		books(i, "= 42")
	}
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("it ended with %d: %s", status, p.err.String())
	}
}

// request is what a server answers.
func request(t *testing.T, method, url, body string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer discard(res.Body)
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v: %s", method, url, res.Status, err, text)
	}
	return string(text)
}

func TestATakenPortIsSaidAndNotTakenForAMistakeInTheConfiguration(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer discard(l)
	tg, m := sims(t, model.Echo)
	for _, args := range [][]string{
		{"run", "-c", written(t, tg.URL(), m.URL(), l.Addr().String())},
		{"try", "--ops", l.Addr().String()},
	} {
		p := start(t, environment, args...)
		for line := range p.lines {
			t.Errorf("%s said %q", args[0], line)
		}
		_ = p.cmd.Wait()
		if got := p.cmd.ProcessState.ExitCode(); got != exitFailed {
			t.Errorf("%s ended with %d", args[0], got)
		}
		if said := p.err.String(); !strings.Contains(said, "parley: ops.listen: listen tcp "+l.Addr().String()) || !strings.Contains(said, "address already in use") {
			t.Errorf("%s said %q", args[0], said)
		}
	}
}
