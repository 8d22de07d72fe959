package signal_test

import (
	"bufio"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sim "parley/simulators/signal"
)

const sendToAnn = `{"jsonrpc":"2.0","id":1,"method":"send","params":{"recipient":"00000000-0000-4000-8000-000000000001","message":"x"}}`

func TestFaultsOfACallFallBeforeOrAfterItIsApplied(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trouble sim.Trouble
		status  int // 0: no answer
		text    string
		sent    int
	}{
		{sim.HTTPError, 500, "", 0},
		{sim.InternalError, 200, `"code":-32603`, 0},
		{sim.IOError, 200, `"code":-3`, 0},
		{sim.UserError, 200, `"code":-1`, 0},
		{sim.Dropped, 0, "", 0},
		{sim.KilledBefore, 0, "", 0},
		{sim.Ambiguous, 0, "", 1},
		{sim.Truncated, 0, "", 1},
		{sim.Garbage, 200, "<html>", 1},
		{sim.KilledAfter, 0, "", 1},
	} {
		t.Run(string(c.trouble), func(t *testing.T) {
			t.Parallel()
			w := start(t)
			d := w.daemon()
			w.meet(ann)
			if err := w.Plan(sim.Fault{Trouble: c.trouble, Method: "send", Chat: ann.Number, Next: 1}); err != nil {
				t.Fatal(err)
			}
			if r := d.call("version", nil); r.Error != nil {
				t.Errorf("version: %+v", r.Error)
			}
			status, text, err := d.post(strings.Replace(sendToAnn, ann.ACI, ann.Number, 1))
			if (err != nil) != (c.status == 0) || c.status != 0 && status != c.status || !strings.Contains(text, c.text) {
				t.Errorf("answer: %d %q %v", status, text, err)
			}
			b := w.Books()
			if b.Totals.Sent != c.sent || b.Totals.Faults != 1 || b.Calls[len(b.Calls)-1].Fault != c.trouble || b.Totals.Unconfirmed != c.sent ||
				c.sent == 1 && !b.Messages[0].Unconfirmed {
				t.Errorf("books: %+v %+v", b.Totals, b.Calls)
			}
			if c.trouble == sim.KilledBefore || c.trouble == sim.KilledAfter {
				if err := d.end(); !errors.Is(err, sim.ErrKilled) {
					t.Errorf("it ended with %v", err)
				}
			} else {
				d.send(args{"recipient": ann.ACI, "message": "after"})
			}
		})
	}
}

func TestACallThatHangsNeverAnswersOthersDo(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon(func(o *sim.DaemonOptions) { o.TCP = "127.0.0.1:0" })
	w.meet(ann)
	p := dial(t, "tcp", d.TCPAddr())
	if err := w.Plan(sim.Fault{Trouble: sim.Hanging, Next: 1}); err != nil {
		t.Fatal(err)
	}
	p.write(sendToAnn)
	w.await("the first", func(b sim.Book) bool { return b.Totals.Calls == 1 })
	p.write(`{"jsonrpc":"2.0","id":"third","method":"version"}`)
	if got := p.read(); !strings.Contains(got, `"id":"third"`) {
		t.Errorf("the answer: %s", got)
	}
}

func TestADaemonThatHangsAcceptsAndDoesNothing(t *testing.T) {
	t.Parallel()
	w := start(t)
	errs := newPage()
	d := w.daemon(func(o *sim.DaemonOptions) {
		o.TCP, o.Verbose, o.Stderr = "127.0.0.1:0", true, errs
	})
	p := dial(t, "tcp", d.TCPAddr())
	p.write(`{"jsonrpc":"2.0","id":0,"method":"version"}`)
	if got := p.read(); !strings.Contains(got, `"version"`) {
		t.Fatalf("before: %s", got) // it is served, and told of messages
	}
	if n, err := w.Hang(number); n != 1 || err != nil {
		t.Fatalf("hang: %d %v", n, err)
	}
	// The order is on its way: what is asked until it came is answered.
	w.say(sim.Chat{}, ann, "hello")
	w.await("handed out", func(b sim.Book) bool { return b.Envelopes[0].Handed == 1 })
	p.write(`{"jsonrpc":"2.0","id":1,"method":"version"}`)
	if n, err := w.Resume(number); n != 1 || err != nil {
		t.Fatalf("resume: %d %v", n, err)
	}
	got := p.read() + p.read()
	if !strings.Contains(got, "hello") || !strings.Contains(got, `"version"`) {
		t.Errorf("after it goes on: %s", got)
	}
	w.await("handled", func(b sim.Book) bool { return b.Totals.Handled == 1 })
	ls, _ := errs.lines()
	if text := strings.Join(ls, "\n"); !strings.Contains(text, "DEBUG JsonRpcReader - Received json rpc request, method: version") || !strings.Contains(text, "DEBUG ReceiveHelper") {
		t.Errorf("log:\n%s", text)
	}
}

func TestFromACallOnTheWholeDaemonMayHang(t *testing.T) {
	t.Parallel()
	w := start(t)
	errs := newPage()
	d := w.daemon(func(o *sim.DaemonOptions) { o.TCP, o.Verbose, o.Stderr = "127.0.0.1:0", true, errs })
	if err := w.Plan(sim.Fault{Trouble: sim.Hung, Method: "version", Next: 1}); err != nil {
		t.Fatal(err)
	}
	p := dial(t, "tcp", d.TCPAddr())
	p.write(`{"jsonrpc":"2.0","id":1,"method":"version"}`)
	for n := 1; !strings.Contains(strings.Join(errs.await(t, n), "\n"), "hangs"); n++ {
	}
	// What comes now is not even acknowledged, and who connects gets no word.
	w.say(sim.Chat{}, ann, "hello")
	w.await("handed out", func(b sim.Book) bool { return b.Envelopes[0].Handed == 1 })
	late := dial(t, "tcp", d.TCPAddr())
	late.write(`{"jsonrpc":"2.0","id":2,"method":"version"}`)
	if b := w.Books(); b.Totals.Calls != 1 || b.Totals.Acked != 0 {
		t.Errorf("it does something: %+v", b.Totals)
	}
	if n, err := w.Resume(number); n != 1 || err != nil {
		t.Fatalf("resume: %d %v", n, err)
	}
	for !strings.Contains(late.read(), `"id":2`) { // it may be told of the message, too
	}
	w.await("handled", func(b sim.Book) bool { return b.Totals.Handled == 1 })
}

// wire is a client on a raw socket.
type wire struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Scanner
}

func dial(t *testing.T, network, addr string) *wire {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &wire{t, c, bufio.NewScanner(c)}
}

func (p *wire) write(line string) {
	p.t.Helper()
	if _, err := p.conn.Write([]byte(line + "\n")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *wire) read() string {
	p.t.Helper()
	if !p.in.Scan() {
		p.t.Fatalf("no line: %v", p.in.Err())
	}
	return p.in.Text()
}

func TestASocketBringsMessagesUnaskedAndOnSubscription(t *testing.T) {
	t.Parallel()
	w := start(t)
	path := filepath.Join(short(t), "s")
	d := w.daemon(func(o *sim.DaemonOptions) { o.HTTP, o.Socket = "", path })
	p := dial(t, "unix", path)
	p.write(`{"jsonrpc":"2.0","id":1,"method":"subscribeReceive"}`)
	if got := p.read(); got != `{"jsonrpc":"2.0","result":1,"id":1}` {
		t.Errorf("subscribe: %s", got)
	}
	w.say(sim.Chat{}, ann, "twice")
	d.journal.await(t, 1)
	got := p.read() + "\n" + p.read()
	if !strings.Contains(got, `{"jsonrpc":"2.0","method":"receive","params":{"envelope":`) ||
		!strings.Contains(got, `{"jsonrpc":"2.0","method":"receive","params":{"subscription":1,"result":{"envelope":`) {
		t.Errorf("notifications:\n%s", got)
	}
	p.write(`{"jsonrpc":"2.0","id":2,"method":"unsubscribeReceive","params":{"subscription":1}}`)
	if got := p.read(); got != `{"jsonrpc":"2.0","result":{},"id":2}` {
		t.Errorf("unsubscribe: %s", got)
	}
	p.write(`{"jsonrpc":"2.0","id":3,"method":"unsubscribeReceive","params":[1]}`)
	if got := p.read(); !strings.Contains(got, "Unknown subscription id") {
		t.Errorf("unsubscribe again: %s", got)
	}
	p.write(``)
	if got := p.read(); !strings.Contains(got, "Empty input line") {
		t.Errorf("an empty line: %s", got)
	}
	w.say(sim.Chat{}, ann, "once")
	if got := p.read(); !strings.Contains(got, "once") || strings.Contains(got, "subscription") {
		t.Errorf("notification: %s", got)
	}
	if err := w.Plan(sim.Fault{Trouble: sim.StreamCut, Next: 1}); err != nil {
		t.Fatal(err)
	}
	w.say(sim.Chat{}, ann, "cut")
	if p.in.Scan(); strings.HasSuffix(p.in.Text(), "}}") || p.in.Scan() {
		t.Errorf("after a cut: %s", p.in.Text())
	}
}

func TestOnConnectionADaemonReceivesWhileAClientIsThere(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon(mode(sim.OnConnection), func(o *sim.DaemonOptions) { o.TCP = "127.0.0.1:0" })
	w.say(sim.Chat{}, ann, "waits")
	if b := w.Books(); b.Receiving[number] || b.Pending[number] != 1 {
		t.Errorf("it receives without a client: %+v", b)
	}
	p := dial(t, "tcp", d.TCPAddr())
	if got := p.read(); !strings.Contains(got, "waits") {
		t.Errorf("notification: %s", got)
	}
	_ = p.conn.Close()
	w.await("the end of receiving", func(b sim.Book) bool { return !b.Receiving[number] })
	w.say(sim.Chat{}, ann, "stays")
	if b := w.Books(); b.Pending[number] != 1 {
		t.Errorf("it is not there any more: %+v", b)
	}
}
