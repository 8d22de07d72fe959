package page_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
)

const password = "correct horse battery"

// open starts a gateway with the page, and an approver.
func open(t *testing.T, o gatewaytest.Options) *gatewaytest.Running {
	t.Helper()
	if o.Brain == nil {
		o.Brain = model.Demo(0)
	}
	change := o.Change
	o.Change = func(c *settings.Config) {
		c.Page = settings.PageConfig{Enabled: true, Listen: "127.0.0.1:0", Operators: map[string]settings.OperatorConfig{"ann": {Password: settings.NewSecret(password)}}}
		for name, a := range c.Channels.Telegram {
			a.Access.Approvers = []string{"1001"}
			c.Channels.Telegram[name] = a
		}
		if change != nil {
			change(c)
		}
	}
	return gatewaytest.Open(t, o).Start()
}

// browser is somebody's who uses the page by links and forms alone.
type browser struct {
	t    *testing.T
	base string
	http http.Client

	mu    sync.Mutex
	below string // the path of the pages, once they have logged in
}

func newBrowser(t *testing.T, gw *gatewaytest.Running) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, base: gw.PageURL(), http: http.Client{Jar: jar, Transport: &http.Transport{}}}
	t.Cleanup(b.http.CloseIdleConnections)
	return b
}

// ask sends a request and returns status and body, wherever it was led. Links in the body are as if
// the pages stood below no path of their own.
func (b *browser) ask(r *http.Request) (int, string) {
	b.t.Helper()
	resp, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := regexp.MustCompile(`^/s/[A-Z2-7]{26}`).FindString(resp.Request.URL.Path); m != "" {
		b.below = m
	}
	if b.below == "" {
		return resp.StatusCode, string(body)
	}
	return resp.StatusCode, strings.ReplaceAll(string(body), b.below+"/", "/")
}

// address returns where a page is for the browser.
func (b *browser) address(path string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if path == "/login" {
		return b.base + path
	}
	return b.base + b.below + path
}

func (b *browser) request(method, path string, form url.Values) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.address(path), strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.base)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	return r
}

// see returns a page, which must be there.
func (b *browser) see(path string) string {
	b.t.Helper()
	status, body := b.ask(b.request(http.MethodGet, path, nil))
	if status != http.StatusOK {
		b.t.Fatalf("%s is answered with %d:\n%s", path, status, body)
	}
	return body
}

// send sends a form and returns what is seen then.
func (b *browser) send(path string, form url.Values) (int, string) {
	b.t.Helper()
	return b.ask(b.request(http.MethodPost, path, form))
}

// hidden returns the value of a hidden field of a page, the first of that name.
func hidden(t *testing.T, page, name string) string {
	t.Helper()
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no field %s in\n%s", name, page)
	}
	return m[1]
}

// logIn logs in with the password.
func (b *browser) logIn() *browser {
	b.t.Helper()
	form := url.Values{"token": {hidden(b.t, b.see("/login"), "token")}, "name": {"ann"}, "password": {password}}
	if status, body := b.send("/login", form); status != http.StatusOK || !strings.Contains(body, "Logged in as ann") {
		b.t.Fatalf("logged in with %d:\n%s", status, body)
	}
	return b
}

// client is the operator's on the socket.
func client(gw *gatewaytest.Running) *admin.Client { return admin.NewClient(gw.AdminSocket()) }

// within returns the first match of a pattern's first group.
func within(t *testing.T, page, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no %s in\n%s", pattern, page)
	}
	return m[1]
}
