package signal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	sim "parley/simulators/signal"
)

func TestAMessageIsALineOfTheJournalAndAnEventAsCaptured(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon()
	e := d.events("")
	said := w.say(sim.Chat{}, ann, "hello bot 👋")
	want := fmt.Sprintf(`{"envelope":{"source":%[1]q,"sourceNumber":null,"sourceUuid":%[1]q,"sourceName":"Ann","sourceDevice":1,`+
		`"timestamp":%[2]d,"serverReceivedTimestamp":%[2]d,"serverDeliveredTimestamp":0,`+
		`"dataMessage":{"timestamp":%[2]d,"message":"hello bot 👋","expiresInSeconds":0,"isExpirationUpdate":false,"viewOnce":false}},"account":%[3]q}`,
		ann.ACI, said.Timestamp, number)
	if got := e.next(); got != want {
		t.Errorf("event:\n%s\nnot\n%s", got, want)
	}
	if got := d.journal.await(t, 1)[0]; got != want {
		t.Errorf("journal:\n%s\nnot\n%s", got, want)
	}
	b := w.await("handled", func(b sim.Book) bool { return b.Totals.Handled == 1 })
	if env := b.Envelopes[0]; env.Journal != 1 || env.Clients != 1 || env.Handed != 1 || env.Process != 1 || b.Pending[number] != 0 {
		t.Errorf("books: %+v", env)
	}
}

func TestAnAnswerIsSentAndSeen(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon()
	said := w.say(sim.Chat{}, ann, "hi")
	r := d.send(args{"recipient": []string{ann.ACI}, "message": "**yes**", "textStyle": []string{"0:7:BOLD"}, "quoteTimestamp": said.Timestamp, "quoteAuthor": ann.ACI})
	if len(r.Results) != 1 || r.Results[0].Type != "SUCCESS" || *r.Results[0].RecipientAddress.UUID != ann.ACI {
		t.Errorf("results: %+v", r.Results)
	}
	again := d.send(args{"recipient": ann.Number, "message": "no", "editTimestamp": r.Timestamp})
	b := w.Books()
	m := b.Messages[0]
	if len(b.Messages) != 1 || m.Chat != ann.ACI || m.Timestamp != r.Timestamp || m.Quote.Timestamp != said.Timestamp || m.Text() != "no" ||
		len(m.Versions) != 2 || m.Versions[0].Styles[0].Style != "BOLD" || m.Versions[1].Timestamp != again.Timestamp || m.Process != 1 {
		t.Errorf("books: %+v", b.Messages)
	}
}

func TestADaemonRunsAsAProcessUnderASupervisor(t *testing.T) {
	t.Parallel()
	w := start(t)
	program, err := sim.Install(t.TempDir(), w.URL(), testBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, journal, errs := short(t), newPage(), newPage()
	run := func() *exec.Cmd {
		c := exec.Command(program, "-a", number, "--config="+dir, "-o", "json", "daemon", "--socket", dir+"/run/socket", "--receive-mode", "on-start") //nolint:noctx // killed below
		c.Stdout, c.Stderr = journal, errs
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := run()
	w.say(sim.Chat{}, ann, "one")
	if l := journal.await(t, 1); !strings.Contains(l[0], `"one"`) {
		t.Errorf("journal: %q", l)
	}
	b := w.await("started", func(b sim.Book) bool { return len(b.Daemons) == 1 })
	if b.Daemons[0].PID != first.Process.Pid {
		t.Errorf("pid %d, not %d", b.Daemons[0].PID, first.Process.Pid)
	}
	// It receives before it listens; and until it is done with the message, that
	// would come again.
	errs.await(t, 2)
	w.await("handled", func(b sim.Book) bool { return b.Totals.Handled == 1 })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	w.await("gone", func(b sim.Book) bool { return !b.Daemons[0].Ended.IsZero() })
	w.say(sim.Chat{}, ann, "two")
	if b := w.Books(); b.Pending[number] != 1 {
		t.Errorf("what is said without a daemon does not wait: %+v", b.Totals)
	}
	// The dead one left its socket behind: signal-cli does not start over it. But
	// it receives before it finds out, so the journal may have the message already, or
	// never: who ends so loses what it is busy with.
	second := run()
	if err := second.Wait(); err == nil || second.ProcessState.ExitCode() != 2 {
		t.Errorf("over a stale socket: %v", err)
	}
	if err := syscall.Unlink(dir + "/run/socket"); err != nil {
		t.Fatal(err)
	}
	third := run()
	w.say(sim.Chat{}, ann, "three")
	l := journal.await(t, 2)
	for !strings.Contains(l[len(l)-1], `"three"`) {
		l = journal.await(t, len(l)+1) // one that ends before it has acknowledged gets it again
	}
	if len(l) > 2 && !strings.Contains(l[1], `"two"`) {
		t.Errorf("journal: %q", l)
	}
	if n, err := w.Kill(number); n != 1 || err != nil {
		t.Errorf("kill: %d %v", n, err)
	}
	if err := third.Wait(); err == nil || third.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("killed: %v", err)
	}
}

func TestTheCommandLineIsSignalCLIs(t *testing.T) {
	t.Parallel()
	w := start(t)
	env := func(key string) string {
		return map[string]string{sim.WorldVariable: w.URL(), "HOME": t.TempDir()}[key]
	}
	for _, c := range []struct {
		line   string
		status int
		says   string
	}{
		{"--version", 0, "signal-cli 0.14.8"},
		{"--help", 0, "usage: signal-cli"},
		{"daemon", 1, "at least one channel parameter is required"},
		{"-a +4900000000 daemon --http 127.0.0.1:0", 1, "user is not registered"},
		{"-a", 1, "argument -a: expected one argument"},
		{"-o xml daemon --http", 1, "invalid choice: 'xml' (choose from {plain-text,json})"},
		{"daemon --receive-mode never --http", 1, "invalid choice: 'never'"},
		{"daemon --nonsense", 1, "unrecognized arguments: '--nonsense'"},
		{"daemon --no-receive-stdout=yes --http", 1, "ignored explicit argument 'yes'"},
		{"receive", 1, "knows the commands daemon and link only"},
		{"daemon --socket /x --config /y", 1, "unrecognized arguments: '--config'"},
		{"--socket /x daemon", 1, "unrecognized arguments: '--socket'"},
		{"--data-dir /x daemon", 1, "unrecognized arguments: '--data-dir'"},
		{"--config", 1, "argument --config: expected one argument"},
		{"daemon send", 1, "unrecognized arguments: 'send'"},
		{"-a" + number + " -ojson --trust-new-identities=always daemon --tcp=127.0.0.1:99999", 2, "failed to bind socket 127.0.0.1:99999"},
	} {
		out := newPage()
		status := sim.Main(strings.Fields(c.line), env, out, out)
		ls, _ := out.lines()
		if text := strings.Join(ls, "\n"); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d, %s", c.line, status, text)
		}
	}
	out := newPage()
	if status := sim.Main([]string{"daemon", "--http"}, func(string) string { return "" }, out, out); status != 1 {
		t.Errorf("without a world: %d", status)
	}
}

func TestASecondDaemonWaitsForTheFoldersLock(t *testing.T) {
	t.Parallel()
	w := start(t)
	dir := t.TempDir()
	first := w.daemon(func(o *sim.DaemonOptions) { o.Config = dir })
	errs := newPage()
	second, err := sim.NewDaemon(sim.DaemonOptions{World: w.URL(), Config: dir, Account: number, TCP: "127.0.0.1:0", Stderr: errs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- second.Run(ctx) }()
	if l := errs.await(t, 2); !strings.Contains(l[1], "Config file is in use by another instance, waiting") {
		t.Errorf("it says %q", l)
	}
	if b := w.Books(); len(b.Daemons) != 1 {
		t.Errorf("both run: %+v", b.Daemons)
	}
	_ = first.end()
	select {
	case <-second.Ready():
	case <-time.After(patience):
		t.Error("it does not begin when the first has ended")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestADaemonEndsWhenTheServiceIsGone(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon()
	w.Reset()
	if err := <-d.ended; err == nil {
		t.Error("it goes on without an error")
	} else {
		d.ended <- err
	}
}

func TestSince0144TheHostIsHeldToTheAddress(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{sim.Version013: 200, sim.Version014: 421} {
		d := start(t, func(o *sim.Options) { o.Version = version }).daemon()
		for _, c := range []struct {
			method, path, host, kind string
			status                   int
		}{
			{"GET", "/api/v1/check", "", "", 200},
			{"GET", "/api/v1/check", "evil.example", "", want},
			{"POST", "/api/v1/check", "", "", 405},
			{"GET", "/api/v1/rpc", "", "", 405},
			{"POST", "/api/v1/rpc", "", "text/plain", 415},
			{"POST", "/api/v1/events", "", "", 405},
			{"GET", "/api/v1/nothing", "", "", 404},
		} {
			q, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+d.HTTPAddr()+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			q.Host = c.host
			q.Header.Set("Content-Type", c.kind)
			res, err := d.client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != c.status {
				t.Errorf("%s: %s %s for %q: %s", version, c.method, c.path, c.host, res.Status)
			}
		}
	}
}

func TestAMalformedRequestIsAnsweredAsSignalCLIDoes(t *testing.T) {
	t.Parallel()
	d := start(t).daemon()
	for _, c := range []struct {
		body, want string
		status     int
	}{
		{``, `"code":-32700,"message":"Empty input line"`, 200},
		{`{`, `"code":-32700`, 200},
		{`7`, `"code":-32600,"message":"unexpected type: NUMBER"`, 200},
		{`[]`, `"code":-32600,"message":"invalid request"`, 200},
		{`{}`, `"code":-32600,"message":"only jsonrpc version 2.0 is supported"`, 200},
		{`{"jsonrpc":"2.0"}`, `"code":-32600,"message":"method field must be set","data":null},"id":null`, 200},
		{`{"jsonrpc":"2.0","method":"nonsense","id":3}`, `"code":-32601,"message":"Method not implemented","data":null},"id":3`, 200},
		{`{"jsonrpc":"2.0","method":"subscribeReceive","id":3}`, `"code":-32601`, 200},
		{`{"jsonrpc":"2.0","method":"version","id":"a"}`, `{"jsonrpc":"2.0","result":{"version":"0.14.8"},"id":"a"}`, 200},
		{`{"jsonrpc":"2.0","method":"version"}`, ``, 201},
		{`{"jsonrpc":"2.0","result":{},"id":1}`, ``, 201},
	} {
		status, text, err := d.post(c.body)
		if err != nil || status != c.status || !strings.Contains(text, c.want) || c.want == "" && text != "" {
			t.Errorf("%s: %d %s %v", c.body, status, text, err)
		}
		if text != "" && !json.Valid([]byte(text)) {
			t.Errorf("%s: %s is not JSON", c.body, text)
		}
	}
}
