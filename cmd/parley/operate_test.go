package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/gateway/admin"
	"parley/simulators/model"
)

// asked runs a command to its end.
func asked(t *testing.T, args ...string) (status int, out, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "parley", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(instruments(), "PATH="+os.Getenv("PATH"), "HOME="+t.TempDir(), "TZ=UTC")
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return status, stdout.String(), stderr.String()
}

// saidOf is what a command says that must succeed.
func saidOf(t *testing.T, args ...string) string {
	t.Helper()
	status, out, said := asked(t, args...)
	if status != exitOK || said != "" && args[0] != "__complete" {
		t.Fatalf("parley %q ended with %d: %s", args, status, said)
	}
	return out
}

// The parts of an output that are another each time.
var changing = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d UTC`), "DAY"},
	{regexp.MustCompile(`\d+(s|m\d\ds)\b`), "SPAN"},
	{regexp.MustCompile(`process \d+`), "process N"},
	{regexp.MustCompile(`\d\S* \w+ of \d\S* \w+ free`), "ROOM"}, // on the disk of whoever runs this
	{regexp.MustCompile(`\d+(\.\d KiB| B)\b`), "SIZE"},
	{regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`), "SESSION-ID................"},
	{regexp.MustCompile(`/\S*/state\b`), "/state"},
	{regexp.MustCompile(`\$0\.00\d\d\b`), "COST"}, // of one answer: the prompt decides
}

func fixed(s string) string {
	for _, c := range changing {
		s = c.find.ReplaceAllString(s, c.put)
	}
	return s
}

func golden(t *testing.T, what, got, want string) {
	t.Helper()
	if got = fixed(got); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

// operated is a gateway that has answered once, and its configuration.
func operated(t *testing.T) (p *process, config string) {
	t.Helper()
	tg, m := sims(t, model.Echo)
	config = written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	p = start(t, environment, "run", "--config", config)
	say(t, tg, "a canary of a text")
	await(t, tg, "the answer", answer("a canary of a text"))
	settled(t, config)
	return p, config
}

// settled waits until the gateway owes nothing: what people see comes before
// the gateway has written down that they saw it.
func settled(t *testing.T, config string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		st, err := admin.NewClient(filepath.Join(filepath.Dir(config), "state", "admin.sock")).Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if st.Work.Running+st.Work.Waiting+st.Outbox.Pending == 0 {
			return
		}
	}
}

func TestStatusOfAGatewayThatRunsAndOfOneThatEnded(t *testing.T) {
	t.Parallel()
	p, config := operated(t)
	page := saidOf(t, "status", "-c", config)
	golden(t, "status", page, `
parley dev, process N, on /state
running since  TIME (SPAN)
ready          yes
configuration  as of TIME
channel        tg: up for SPAN, last event SPAN ago
work           0 turns running, 0 conversations waiting
turns          1 turn in the last 10 minutes, 0 failed
model          sim/demo: 1 call in the last 10 minutes, 0 failed
answers        0 to send, 0 that may have arrived already
dead letters   none
spent today    COST (DAY)
budget         COST of $50.00 (budgets.global_per_day)
message log    SIZE of 1.0 GiB, 1 message
database       SIZE
disk           ROOM
`)
	// The manual shows the same lines.
	manual, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sample, _ := strings.Cut(string(manual), "$ parley status --state state\n")
	sample, _, _ = strings.Cut(sample, "\n\n")
	names := regexp.MustCompile(`(?m)^ *([a-zA-Z]+(?: [a-z]+)?)  `)
	if want, got := names.FindAllStringSubmatch(page, -1), names.FindAllStringSubmatch(sample, -1); len(want) < 12 || !slices.EqualFunc(want, got, func(a, b []string) bool { return a[1] == b[1] }) {
		t.Errorf("docs/operating.md shows the lines %q of status, which has %q", got, want)
	}
	var st admin.Status
	if err := json.Unmarshal([]byte(saidOf(t, "status", "--json", "--state", filepath.Join(filepath.Dir(config), "state"))), &st); err != nil {
		t.Fatal(err)
	}
	if !st.Fine || st.PID != p.cmd.Process.Pid || st.Spend.Settled == 0 {
		t.Errorf("as JSON: %+v", st)
	}
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Fatalf("the gateway ended with %d", status)
	}
	status, out, said := asked(t, "status", "-c", config)
	if status != exitNobody || out != "" || fixed(said) != "parley: no gateway runs on /state: start it with parley run\n" {
		t.Errorf("afterwards: %d %q %q", status, out, said)
	}
}

func TestSessionsAndUsageOfAGatewayThatAnswered(t *testing.T) {
	t.Parallel()
	_, config := operated(t)
	list := saidOf(t, "sessions", "ls", "-c", config, "--since", "1d", "--channel", "tg")
	golden(t, "sessions ls", list, `
SESSION                     STATE  LAST CHANGE              MESSAGES     COST   HELD  KEY
SESSION-ID................  idle   TIME         2  COST  $0.00  main:4200000001:telegram:dm:1001
`)
	_, rest, _ := strings.Cut(list, "\n")
	id, _, _ := strings.Cut(rest, " ")
	show := saidOf(t, "sessions", "show", id[:15], "-c", config)
	show = regexp.MustCompile(`OPENED +TOOK`).ReplaceAllString(show, "OPENED  TOOK")                       // as wide as it took long
	show = regexp.MustCompile(` +([\d.]+m?s) `).ReplaceAllString(show, "  $1 ")                            // and as narrow as it was quick
	show = regexp.MustCompile(`about \d+ of \d+ tokens \(\d+ %\)`).ReplaceAllString(show, "about SO MANY") // requirements M01
	golden(t, "sessions show", regexp.MustCompile(`t-[0-9a-f]{32}|[\d.]+m?s |main  main|\$0\.00\d\d  \$0\.00\d\d`).ReplaceAllString(show, "* "), `
session SESSION-ID................
key     main:4200000001:telegram:dm:1001
since   TIME, last change TIME
context about SO MANY

SESSION                     ROLE  AGENT  STATE  MESSAGES  CALLS      OWN  SUBTREE   HELD
SESSION-ID................  *    idle          2      1  *   $0.00

TURN                                OPENED  TOOK  OUTCOME   STEPS  ATTEMPTS     COST  CHANNEL
*   TIME  *  end_turn      1         1  COST  tg
`)
	table := saidOf(t, "usage", "-c", config)
	csv := saidOf(t, "usage", "-c", config, "--by", "channel", "--format", "csv", "--since", "24h")
	if m := regexp.MustCompile(`^channel,calls,cost_usd,[a-z_,]+\ntg,1,(0\.\d{6,12}),(\d+,){6}0\n$`).FindStringSubmatch(csv); m == nil || !strings.Contains(table, "$"+m[1]+" ") {
		t.Errorf("usage:\n%s\n%s", table, csv)
	}
	for _, args := range [][]string{{"sessions", "ls"}, {"sessions", "show", id}, {"usage"}, {"usage", "--by", "session"}, {"status"}, {"sessions", "show", id, "--json"}} {
		if out := saidOf(t, append(args, "-c", config)...); strings.Contains(out, "canary") {
			t.Errorf("%q shows a text or a secret: %s", args, out)
		}
	}
	if out := saidOf(t, "sessions", "show", id, "--transcript", "-c", config); strings.Count(out, "    a canary of a text\n") != 2 {
		t.Errorf("the transcript: %s", out)
	}
	if out := saidOf(t, "__complete", "sessions", "show", "-c", config, ""); !strings.HasPrefix(out, id+"\n") {
		t.Errorf("completion offers %q", out)
	}
	file := filepath.Join(t.TempDir(), "session.jsonl")
	if out := saidOf(t, "sessions", "export", id[:15], "-c", config, "--out", file); out != "" {
		t.Errorf("an export into a file says %q", out)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the export: %v %v", info, err)
	}
	other := filepath.Join(filepath.Dir(file), "latest.jsonl")
	if err := os.Symlink(file, other); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(filepath.Dir(file), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // both ends: no open waits for the other one
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()                         //nolint:errcheck // nothing was written
	for _, name := range []string{other, pipe} { // a link stays one, and so does what is no file
		mode := func() os.FileMode {
			info, err := os.Lstat(name)
			if err != nil {
				t.Fatal(err)
			}
			return info.Mode()
		}
		before := mode()
		if saidOf(t, "sessions", "export", id, "-c", config, "--out", name); mode() != before {
			t.Errorf("an export into %s made it %v", name, mode())
		}
	}
	if out := saidOf(t, "sessions", "export", id, "-c", config); strings.Count(out, "\n") != 11 || !strings.Contains(out, "a canary of a text") {
		t.Errorf("the export has %d lines: %s", strings.Count(out, "\n"), out)
	}
	if out := saidOf(t, "replay", file); !strings.HasSuffix(out, ": the same\n") {
		t.Errorf("the replay says %s", out)
	}
	if out := saidOf(t, "sessions", "import", file, "-c", config); !regexp.MustCompile(`^session [0-9A-Z]{26} has 2 messages, in main:\S+\.\nTo go on with it, write there: /resume [0-9A-Z]{26}\n$`).MatchString(out) {
		t.Errorf("the import says %s", out)
	}
	for status, args := range map[int][]string{
		exitFailed: {"sessions", "export", "01ZZ", "-c", config},
		exitUsage:  {"sessions", "show", "../status", "-c", config},
	} {
		if got, out, _ := asked(t, args...); got != status || out != "" {
			t.Errorf("%q ended with %d: %s", args, got, out)
		}
	}
	if got, out, words := asked(t, "sessions", "import", config, "-c", config); got != exitUsage || out != "" || !strings.Contains(words, "not a recording of parley") {
		t.Errorf("the import of a configuration ended with %d: %s%s", got, out, words)
	}
}

func TestStatusEndsWithOneWhenSomethingIsWrong(t *testing.T) {
	t.Parallel()
	_, m := sims(t, model.Echo)
	config := written(t, "http://127.0.0.1:1", m.URL(), "127.0.0.1:0")
	p := start(t, environment, "run", "--config", config)
	socket := filepath.Join(filepath.Dir(config), "state", "admin.sock")
	for {
		if _, err := admin.NewClient(socket).Status(t.Context()); err == nil {
			break
		} else if !errors.Is(err, admin.ErrNoGateway) || p.cmd.Process.Signal(syscall.Signal(0)) != nil {
			t.Fatal(err)
		}
	}
	status, out, said := asked(t, "status", "-c", config)
	if status != exitFailed || !strings.Contains(out, "channel        tg: not connected, last event never") ||
		said != "parley: something is wrong: the channel tg is not connected; the log says why (channel=tg)\n" {
		t.Errorf("it ended with %d: %s%s", status, out, said)
	}
}

func TestAGatewayThatWasKilledLeavesNothingInTheWay(t *testing.T) {
	t.Parallel()
	p, config := operated(t)
	p.end(syscall.SIGKILL)
	if status, _, said := asked(t, "status", "-c", config); status != exitNobody {
		t.Errorf("of the dead one status says, with %d: %s", status, said)
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(config), "state", "admin.sock")); err != nil {
		t.Fatalf("the killed gateway took its socket with it: %v", err)
	}
	start(t, environment, "run", "--config", config)
	for {
		status, _, said := asked(t, "status", "-c", config, "--json")
		if status == exitOK || status == exitFailed {
			return
		}
		if status != exitNobody {
			t.Fatalf("of the second one status says, with %d: %s", status, said)
		}
	}
}
