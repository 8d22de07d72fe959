package main

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"parley/simulators/model"
	"parley/simulators/telegram"
	"parley/tools/mcp/mcptest"
)

// isGroup reports whether c only holds other commands: by itself it prints its help.
func isGroup(c *cobra.Command) bool {
	return c.HasSubCommands() && !c.LocalFlags().HasFlags()
}

// leaves returns all commands that do something, also hidden ones and those of cobra, as they
// are typed behind parley.
func leaves() (all []string) {
	root := rootCommand(program{getenv: os.LookupEnv})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			if !isGroup(below) {
				all = append(all, strings.TrimPrefix(below.CommandPath(), "parley "))
			}
			walk(below)
		}
	}
	walk(root)
	slices.Sort(all)
	return all
}

// attempt is a command as everyCommand runs it.
type attempt struct {
	command string
	args    string // behind it; WORDS in capitals stand for what the test has got
	status  int    // with which it ends
}

// attempts are all commands in an order in which each has something to do. Those that a test with
// Telegram and MCP alone gives nothing to do end with an error.
var attempts = []attempt{
	{"status", "-c CONFIG", 1}, // of what waits, below,
	{"check-config", "-c CONFIG", 0},
	{"doctor", "-c CONFIG", 2}, // likewise
	{"healthcheck", "-c CONFIG", 78},
	{"schema", "", 0},
	{"version", "", 0},
	{"help", "run", 0},
	{"completion bash", "", 0},
	{"completion fish", "", 0},
	{"completion powershell", "", 0},
	{"completion zsh", "", 0},
	{"man", "ROOM", 0},
	{"init", "-c CONFIG", 1},
	{"prices ls", "-c CONFIG", 0},
	{"prices check", "-c CONFIG", 0},
	{"tools check", "-c CONFIG", 2},
	{"tools call", "-c CONFIG none", 1},
	{"slack manifest", "-c CONFIG", 78},
	{"page", "-c CONFIG", 0},
	{"budget ls", "-c CONFIG", 0},
	{"budget raise", "-c CONFIG global_per_day 5", 0},
	{"budget revoke", "-c CONFIG RAISE", 0},
	{"usage", "-c CONFIG --by person", 0},
	{"pair ls", "-c CONFIG", 0},
	{"pair approve", "-c CONFIG CODE", 0},
	{"pair revoke", "-c CONFIG 1002", 0},
	{"access ls", "-c CONFIG", 0},
	{"access allow", "-c CONFIG tg 1002 --role admin", 0},
	{"access deny", "-c CONFIG tg 1002", 0},
	{"approvals ls", "-c CONFIG", 0},
	{"approvals show", "-c CONFIG FIRST", 0},
	{"approvals approve", "-c CONFIG FIRST", 0},
	{"approvals deny", "-c CONFIG SECOND", 0},
	{"cron ls", "-c CONFIG", 0},
	{"cron run", "-c CONFIG leap", 0},
	{"mcp ls", "-c CONFIG", 0},
	{"mcp show", "-c CONFIG test echo", 0},
	{"mcp allow", "-c CONFIG test echo", 0},
	{"mcp revoke", "-c CONFIG test echo", 0},
	{"mcp login", "-c CONFIG test", 1},
	{"mcp logout", "-c CONFIG test", 0},
	{"mcp serve", "-c CONFIG", 0},
	{"dead-letters ls", "-c CONFIG", 0},
	{"dead-letters show", "-c CONFIG LETTER", 0},
	{"dead-letters redeliver", "-c CONFIG LETTER", 0},
	{"dead-letters drop", "-c CONFIG b0", 0},
	{"why", "-c CONFIG MESSAGE", 0},
	{"signal groups", "-c CONFIG", 1},
	{"signal trust", "-c CONFIG", 1},
	{"signal link", "-c CONFIG", 1},
	{"sessions ls", "-c CONFIG", 0},
	{"sessions show", "-c CONFIG SESSION", 0},
	{"sessions export", "-c CONFIG SESSION --out ROOM/session.jsonl", 0},
	{"sessions import", "-c CONFIG ROOM/session.jsonl", 0},
	{"replay", "ROOM/session.jsonl", 0},
	{"reload", "-c CONFIG", 0},
	{"backup", "-c CONFIG ROOM/backup.zip", 0},
	{"restore", "ROOM/backup.zip --state ROOM/restored", 0},
	{"restore", "ROOM/backup.zip -c CONFIG", 1},
	{"sessions delete", "-c CONFIG SESSION --yes", 0},
	{"forget", "-c CONFIG 1002 --yes", 0},
	{"try", "--pace 0s --state ROOM/try", 0},
	{extractPDF, "", 2},
	{keepSignalCLI, "/bin/true", 0},
	{"sim signal-cli", "--world http://127.0.0.1:1", 1},
	// Those that go on until they are ended are run beside the others.
	{"run", "", 0},
	{"sessions watch", "", 0},
	{"sim", "", 0},
}

// No command writes the configuration file, nor anything beside it: what is decided while a gateway
// runs is in its state. (docs/decisions/0084)
func TestNoCommandWritesTheConfiguration(t *testing.T) {
	t.Parallel()
	const inside = "PARLEY_TEST_READ_ONLY"
	if os.Getenv(inside) != "" {
		everyCommand(t, true)
		return
	}
	t.Run("each command has arguments", func(t *testing.T) {
		t.Parallel()
		var tried []string
		for _, a := range attempts {
			tried = append(tried, a.command)
		}
		slices.Sort(tried)
		tried = slices.Compact(tried)
		all := leaves()
		for _, c := range all {
			if !slices.Contains(tried, c) {
				t.Errorf("parley %s is not tried", c)
			}
		}
		for _, c := range tried {
			if !slices.Contains(all, c) {
				t.Errorf("there is no parley %s", c)
			}
		}
	})
	// One after the other: each runs seventy processes beside its gateway.
	t.Run("where they could", func(t *testing.T) {
		everyCommand(t, false)
	})
	t.Run("from a read-only file system", func(t *testing.T) {
		// This test again, where mounting is no business of others.
		ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestNoCommandWritesTheConfiguration$")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		switch {
		case cmd.Process == nil:
			t.Skipf("this machine allows no mount namespaces, so only the run in which the file could be written stands: %v", err)
		case strings.Contains(string(out), noMounts):
			t.Skipf("%s on this machine, so only the run in which the file could be written stands", noMounts)
		case err != nil:
			t.Errorf("%v\n%s", err, out)
		}
	})
}

const noMounts = "no file system may be mounted"

// everyCommand runs every command beside a gateway, and looks at the folder of the configuration
// after each. If that is to be read-only it is a file system of its own, and only the state folder
// in it can be written.
func everyCommand(t *testing.T, readOnly bool) {
	t.Helper()
	site := httptest.NewServer(mcptest.Handler(silentWorld{}))
	t.Cleanup(site.Close)
	tg, m := sims(t, func(ctx context.Context, p *model.Prompt) model.Answer {
		if content, ok := strings.CutPrefix(p.LastText(), "set "); ok {
			return model.Reply(model.Use("write_file", map[string]string{"path": ".env", "content": content}))
		}
		return model.Echo(ctx, p)
	})
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	dir := filepath.Dir(config)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), `people: ["1001"]`, `people: ["1001"], approvers: ["1001"], pairing: true`, 1))
	text = fmt.Appendf(text, `page: {enabled: true, listen: "127.0.0.1:0"}
cron: {jobs: [{name: leap, schedule: "0 0 29 2 *", time_zone: Europe/Berlin, prompt: leap, to: {account: tg, person: "1001"}}]}
mcp:
  servers: [{name: test, url: %q, allow_private: [{cidr: 127.0.0.1/32, ports: [%d]}], tools: [{name: echo, category: read}]}]
  serve: {people: [{name: ann, about: on duty, account: tg, person: "1001"}]}
`, site.URL, site.Listener.Addr().(*net.TCPAddr).Port)
	state := filepath.Join(dir, "state")
	mounted := func(dir string) {
		if !readOnly {
			return
		}
		if err := syscall.Mount("config", dir, "tmpfs", 0, ""); err != nil {
			t.Fatalf("%s: %v", noMounts, err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	}
	mounted(dir)
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	mounted(state)
	if readOnly {
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(config, text, 0o600); err == nil {
			t.Fatal("the configuration can be written")
		}
	}
	before, err := os.Stat(config)
	if err != nil {
		t.Fatal(err)
	}
	unchanged := func(after string) {
		t.Helper()
		now, err := os.ReadFile(config)
		if err != nil || string(now) != string(text) {
			t.Errorf("after %s the configuration is\n%s\n%v", after, now, err)
		}
		if info, err := os.Stat(config); err != nil || !os.SameFile(info, before) || info.Mode() != before.Mode() || !info.ModTime().Equal(before.ModTime()) {
			t.Errorf("after %s the configuration is another file: %v, %v", after, info, err)
		}
		if found, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(found) != 2 {
			t.Errorf("after %s there is %q, %v", after, found, err)
		}
	}

	gateway := start(t, environment, "run", "--config", config)
	asks, err := tg.Say(telegram.PrivateChat(ann), ann, "a canary of a text", telegram.SayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	await(t, tg, "the answer", answer("a canary of a text"))
	settled(t, config)
	if status := gateway.end(syscall.SIGTERM); status != exitOK {
		t.Fatalf("it ended with %d: %s", status, gateway.err.String())
	}
	got := map[string]string{"CONFIG": config, "ROOM": t.TempDir(), "LETTER": buried(t, config), "MESSAGE": strconv.FormatInt(asks.MessageID, 10)}
	gateway = start(t, environment, "run", "--config", config)
	gateway.err.awaitLines(t, 1, "gateway started")
	ben := telegram.Person{ID: 1002, FirstName: "Ben"}
	if _, err := tg.Say(telegram.PrivateChat(ben), ben, "let me in", telegram.SayOptions{}); err != nil {
		t.Fatal(err)
	}
	got["CODE"] = awaitCode(t, tg, "")
	say(t, tg, "set A=1")
	got["FIRST"] = awaitQuestion(t, tg, "A=1")
	say(t, tg, "set A=2")
	got["SECOND"] = awaitQuestion(t, tg, "A=2")
	settled(t, config)
	got["SESSION"] = sessionID.FindString(saidOf(t, "sessions", "ls", "-c", config))
	for !strings.Contains(saidOf(t, "mcp", "ls", "-c", config), "test: up for ") {
	}
	watch, sim := start(t, environment, "sessions", "watch", "-c", config), start(t, nil, "sim", "--telegram", "127.0.0.1:0", "--slack", "127.0.0.1:0", "--signal", "127.0.0.1:0", "--signal-cli", "127.0.0.1:0", "--model", "127.0.0.1:0")
	sim.await("Model: ")

	words := regexp.MustCompile(`[A-Z]{4,}`)
	for _, a := range attempts {
		if a.args == "" && slices.Contains([]string{"run", "sessions watch", "sim"}, a.command) {
			continue
		}
		if a.command == "budget revoke" {
			got["RAISE"] = regexp.MustCompile(`\b[0-9a-f]{32}\b`).FindString(saidOf(t, "budget", "ls", "-c", config))
		}
		args := strings.Fields(a.command + " " + words.ReplaceAllStringFunc(a.args, func(w string) string { return got[w] }))
		p := start(t, environment, args...)
		if err := p.in.Close(); err != nil {
			t.Fatal(err)
		}
		if status := p.wait(); status != a.status {
			t.Errorf("parley %q ended with %d, not %d: %s", args, status, a.status, p.err.String())
		}
		unchanged(a.command)
	}
	for _, p := range []*process{watch, sim, gateway} {
		if status := p.end(syscall.SIGTERM); status != exitOK {
			t.Errorf("parley %q ended with %d: %s", p.cmd.Args[1:], status, p.err.String())
		}
		unchanged(p.cmd.Args[1])
	}
}

var sessionID = regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`)

var questionCode = regexp.MustCompile(`/approve ([0-9A-Z]+) permits`)

// awaitQuestion waits until the bot asks permission for what text is in, and returns the code of
// the question.
func awaitQuestion(t *testing.T, tg *telegram.Server, text string) (code string) {
	t.Helper()
	await(t, tg, "a question about "+text, func(b telegram.Book) bool {
		for _, m := range b.Messages {
			if found := questionCode.FindStringSubmatch(m.Text()); found != nil && strings.Contains(m.Text(), text) {
				code = found[1]
			}
		}
		return code != ""
	})
	return code
}
