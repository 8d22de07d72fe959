package page_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
)

// chromium is a real browser that a test steers through two pipes.
type chromium struct {
	t       *testing.T
	to      *os.File
	answers *bufio.Reader
	session string
	last    int
	said    []string // by the browser, on its console and about what it refused
	loaded  int
}

// command is one wish, and its answer or an event.
type command struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
}

// startChromium starts the browser with an empty profile.
func startChromium(t *testing.T) *chromium {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("this test needs the command chromium (Debian: apt-get install chromium; make test does that): %v", err)
	}
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(), "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
		"--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "about:blank",
	}
	if os.Geteuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...) // it has none for root
	}
	c := exec.CommandContext(t.Context(), program, args...) // a browser of the machine
	c.ExtraFiles = []*os.File{in, out}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = in.Close(), out.Close()
	stuck := time.AfterFunc(2*gatewaytest.Patience, func() { _ = c.Process.Kill() })
	b := &chromium{t: t, to: to, answers: bufio.NewReader(from)}
	t.Cleanup(func() {
		_ = to.Close() // then it ends
		_ = c.Wait()
		stuck.Stop()
		_ = from.Close()
	})
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call has the browser do something and reads what it answers.
func (b *chromium) call(method string, params any, answer any) {
	b.t.Helper()
	if params == nil {
		params = struct{}{}
	}
	text, err := json.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	b.last++
	line, err := json.Marshal(command{ID: b.last, SessionID: b.session, Method: method, Params: text})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(line, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for id := b.last; ; {
		c := b.next()
		if c.ID != id {
			continue
		}
		if c.Error != nil {
			b.t.Fatalf("%s: %s", method, c.Error)
		}
		if answer != nil {
			if err := json.Unmarshal(c.Result, answer); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// next reads an answer or an event, and notes what is wrong on the page.
func (b *chromium) next() (c command) {
	b.t.Helper()
	line, err := b.answers.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser ended: %v", err)
	}
	if err := json.Unmarshal(line[:len(line)-1], &c); err != nil {
		b.t.Fatal(err)
	}
	switch c.Method {
	case "Page.loadEventFired":
		b.loaded++
	case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
		b.said = append(b.said, string(c.Params))
	}
	return c
}

// run runs a script in the page, as a hand would do things, and returns its value as text. With
// leads it waits until the page that this leads to is there.
func (b *chromium) run(script string, leads bool) string {
	b.t.Helper()
	before := b.loaded
	var answer struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "userGesture": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", script, answer.ExceptionDetails)
	}
	for leads && b.loaded == before {
		b.next()
	}
	return fmt.Sprint(answer.Result.Value)
}

// visit loads a page by its address.
func (b *chromium) visit(address string) {
	b.t.Helper()
	before := b.loaded
	b.call("Page.navigate", map[string]any{"url": address}, nil)
	for b.loaded == before {
		b.next()
	}
}

// hold makes the browser one with a screen of that size, in dark or light.
func (b *chromium) hold(width, height int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// picture takes a screenshot of the page from its top, at most so high.
func (b *chromium) picture(width, height int) []byte {
	b.t.Helper()
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{
		"format": "png", "captureBeyondViewport": true, "clip": map[string]any{"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
	}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

// unfit finds what cannot be used with a thumb or a screen reader: what is wider than the screen,
// buttons and fields that are small or have no name, tables without heads, a page without landmarks.
const unfit = `(() => {
  const bad = [];
  if (document.documentElement.scrollWidth > innerWidth) bad.push("wider than the screen: " + document.documentElement.scrollWidth);
  for (const e of document.querySelectorAll("main button, header a, summary, input:not([type=hidden]), select"))
    if (e.checkVisibility() && e.getBoundingClientRect().height < 44) bad.push("small: " + e.outerHTML);
  for (const e of document.querySelectorAll("input:not([type=hidden]), select"))
    if (e.labels.length === 0) bad.push("no label: " + e.outerHTML);
  for (const e of document.querySelectorAll("table"))
    if (e.querySelector("thead th[scope=col]") === null || [...e.querySelectorAll("tbody tr")].some(r => r.querySelector("th[scope=row]") === null)) bad.push("no heads: " + e.outerHTML);
  for (const e of ["main", "header", "h1", "html[lang]"])
    if (document.querySelectorAll(e).length !== 1) bad.push("not one " + e);
  for (const e of document.querySelectorAll("section"))
    if (document.getElementById(e.getAttribute("aria-labelledby")) === null) bad.push("section without a name");
  return bad.join("\n");
})()`

// An operator with a telephone logs in, looks at the budgets, at a session and its tree, and permits
// what waits, in a real browser, which blocks nothing of the page.
func TestThePageInARealBrowser(t *testing.T) {
	t.Parallel()
	gw := open(t, gatewaytest.Options{})
	gw.Ask(gatewaytest.Ann, "research the weather")
	gw.Ask(gatewaytest.Ann, "/title The weather in the mountains, in the valley and at the sea")
	gw.Ask(gatewaytest.Ben, "hello")
	gw.Ask(gatewaytest.Ann, "set COLOUR=blue")
	code, err := client(gw).PageCode(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := startChromium(t)
	b.hold(360, 740, "light")
	check := func(heading string) {
		t.Helper()
		if got := b.run("document.querySelector('h1').innerText", false); got != heading {
			t.Errorf("the page is %q, and not %q: %s", got, heading, b.run("document.body.innerText", false))
		}
		if bad := b.run(unfit, false); bad != "" {
			t.Errorf("%s: %s", heading, bad)
		}
	}
	b.visit(code.URL)
	check("Log in")
	b.run("document.querySelector('[name=code]').value = '"+code.Code+"'; document.querySelector('form button').click()", true)
	check("Overview")
	if got := b.run("document.querySelector('.budget').innerText", false); !strings.Contains(got, "of $50.00") {
		t.Errorf("the first budget is %q", got)
	}
	if b.run("document.getElementById('pause').hidden", false) != "false" {
		t.Error("the script of the page does not run")
	}
	keep(t, "operator-overview-phone", b.picture(360, 1500))
	b.hold(1000, 700, "dark")
	check("Overview")
	keep(t, "operator-overview", b.picture(1000, 900))

	b.hold(360, 740, "light")
	b.run("document.querySelector('nav a[href$=\"/sessions\"]').click()", true)
	check("Sessions")
	b.run("[...document.querySelectorAll('tbody a')].find(a => a.innerText.startsWith('The weather')).click()", true)
	check("The weather in the mountains, in the valley and at the sea")
	if n, err := strconv.Atoi(b.run("document.querySelectorAll('.tree tbody tr').length", false)); err != nil || n < 3 {
		t.Errorf("the tree has %d rows, %v", n, err)
	}
	keep(t, "operator-session", b.picture(360, 1500))
	b.run("document.querySelector('#h-turns ~ table a').click()", true)
	check("Turn")
	b.run("document.querySelector('nav a[href$=\"/trouble\"]').click()", true)
	check("Trouble")

	b.hold(360, 740, "dark")
	b.run("document.querySelector('nav a[href$=\"/waiting\"]').click()", true)
	check("Waiting")
	keep(t, "operator-waiting", b.picture(360, 860))
	b.run("document.querySelector('.decide button').click()", true)
	check("Waiting")
	if got := b.run("document.querySelector('.notice').innerText", false); !strings.HasPrefix(got, "Permitted, once.") {
		t.Errorf("after the permission it says %q", got)
	}
	gw.NextDelivered()
	b.run("document.querySelector('nav a[href$=\"/actions\"]').click()", true)
	check("What operators did")
	if len(b.said) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(b.said, "\n"))
	}
}
