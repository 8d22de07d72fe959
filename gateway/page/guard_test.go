package page_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
)

func budget(c *settings.Config) { c.Budgets.Session = "0.0001" }
func onlyAnn(c *settings.Config) {
	for name, a := range c.Channels.Telegram {
		a.Access.Everyone, a.Access.People = false, []string{"1001"}
		c.Channels.Telegram[name] = a
	}
}

// Who has not logged in sees nothing, on loopback too, and does nothing.
func TestNobodySeesAnythingWithoutLoggingIn(t *testing.T) {
	t.Parallel()
	gw := open(t, gatewaytest.Options{})
	b := newBrowser(t, gw)
	for _, path := range []string{"/", "/sessions", "/sessions/x", "/waiting", "/trouble", "/actions", "/why", "/dead-letters/x", "/else"} {
		if body := b.see(path); !strings.Contains(body, "<h1>Log in</h1>") || strings.Contains(body, "Logged in") {
			t.Errorf("%s shows\n%s", path, body)
		}
	}
	token := hidden(t, b.see("/login"), "token")
	for _, path := range []string{"/raise", "/raises/x", "/approvals/x", "/dead-letters/x", "/logout"} {
		if status, body := b.send(path, url.Values{"token": {token}}); status != http.StatusForbidden {
			t.Errorf("%s is answered with %d: %s", path, status, body)
		}
	}
	code, err := client(gw).PageCode(t.Context())
	if err != nil || code.URL != gw.PageURL() {
		t.Fatalf("%+v, %v", code, err)
	}
	form := url.Values{"token": {token}, "code": {strings.ToLower(strings.ReplaceAll(code.Code, "-", " "))}}
	if status, body := b.send("/login", form); status != http.StatusOK || !strings.Contains(body, "Logged in as uid ") {
		t.Errorf("with a code: %d\n%s", status, body)
	}
	other := newBrowser(t, gw)
	form.Set("token", hidden(t, other.see("/login"), "token"))
	if status, _ := other.send("/login", form); status != http.StatusUnauthorized {
		t.Errorf("with the same code again: %d", status)
	}
	for _, f := range []url.Values{{"name": {"ann"}, "password": {password + " "}}, {"name": {"ben"}, "password": {password}}, {"name": {"ann"}, "password": {""}}, {}} {
		f.Set("token", form.Get("token"))
		if status, _ := other.send("/login", f); status != http.StatusUnauthorized {
			t.Errorf("with %v: %d", f, status)
		}
	}
	form = url.Values{"token": form["token"], "name": {"ann"}, "password": {password}}
	if status, body := other.send("/login", form); status != http.StatusTooManyRequests || !strings.Contains(body, "Too many tries") {
		t.Errorf("after five mistakes: %d", status)
	}
	b.see("/")
	if _, body := b.send("/logout", url.Values{"token": {hidden(t, b.see("/"), "token")}}); !strings.Contains(body, "<h1>Log in</h1>") {
		t.Errorf("after the log-out:\n%s", body)
	}
	if body := b.see("/"); !strings.Contains(body, "<h1>Log in</h1>") {
		t.Errorf("after the log-out:\n%s", body)
	}
}

// Other sites, and other names for this address, can neither read nor do anything.
func TestOthersCannotUseTheBrowserOfAnOperator(t *testing.T) {
	t.Parallel()
	gw := open(t, gatewaytest.Options{})
	b := newBrowser(t, gw).logIn()
	token := hidden(t, b.see("/"), "token")
	form := url.Values{
		"token": {token}, "once": {"abcdefgh12345678"}, "budget": {"global_per_day"}, "amount": {"1"}, "for": {"1h"},
	}
	for name, change := range map[string]func(*http.Request){
		"another site":                  func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another port of this machine":  func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"another site, an old browser":  func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "http://evil.example") },
		"a name turned to this address": func(r *http.Request) { r.Host = "evil.example" },
		"the same with the port":        func(r *http.Request) { r.Host = "evil.example" + b.base[strings.LastIndex(b.base, ":"):] },
	} {
		r := b.request(http.MethodPost, "/raise", form)
		change(r)
		if status, body := b.ask(r); status != http.StatusForbidden && status != http.StatusMisdirectedRequest {
			t.Errorf("%s raises a budget: %d\n%s", name, status, body)
		}
	}
	for name, bad := range map[string]string{"no token": "", "another's token": hidden(t, newBrowser(t, gw).see("/login"), "token"), "half a token": token[:20]} {
		f := url.Values{"token": {bad}}
		for k, v := range form {
			if k != "token" {
				f[k] = v
			}
		}
		if status, body := b.send("/raise", f); status != http.StatusForbidden {
			t.Errorf("%s raises a budget: %d\n%s", name, status, body)
		}
	}
	r := b.request(http.MethodGet, "/", nil)
	r.Host = "evil.example"
	if status, body := b.ask(r); status != http.StatusMisdirectedRequest || strings.Contains(body, "Overview") {
		t.Errorf("a name turned to this address reads %d\n%s", status, body)
	}
	r = b.request(http.MethodGet, "/raise", nil)
	if status, _ := b.ask(r); status != http.StatusNotFound {
		t.Errorf("a link raises a budget: %d", status)
	}
	p, err := client(gw).TotalBudgets(t.Context())
	if err != nil || p.Budgets[0].Raised != 0 {
		t.Errorf("%+v, %v", p.Budgets, err)
	}
}

// By http browsers send the cookies of a host to all its ports: one that a program of an agent listens
// on gets nothing with which it could use the page, neither the cookie nor where that belongs.
func TestAnotherPortOfTheHostGetsNoLogIn(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, open(t, gatewaytest.Options{})).logIn()
	own, err := url.Parse(b.address("/"))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.http.Jar.Cookies(own)) != 1 {
		t.Fatalf("the page itself gets %v", b.http.Jar.Cookies(own))
	}
	for _, path := range []string{"/", "/s/", "/waiting", "/s/AAAAAAAAAAAAAAAAAAAAAAAAAA/"} {
		other := &url.URL{Scheme: "http", Host: own.Hostname() + ":1", Path: path}
		if got := b.http.Jar.Cookies(other); len(got) > 0 {
			t.Errorf("%s gets %v", other, got)
		}
	}
	stranger := newBrowser(t, open(t, gatewaytest.Options{}))
	for _, path := range []string{"/", "/login", "/s/", "/waiting"} {
		if body := stranger.see(path); strings.Contains(body, "/s/") {
			t.Errorf("who has not logged in learns the path:\n%s", body)
		}
	}
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	t.Parallel()
	gw := open(t, gatewaytest.Options{})
	b := newBrowser(t, gw).logIn()
	for _, path := range []string{"/", "/login", "/nowhere", "/static/page.css", "/static/page.js", "/static/nothing"} {
		resp, err := b.http.Do(b.request(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		for name, want := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Referrer-Policy":              "same-origin",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "no-store",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	resp, err := newBrowser(t, gw).http.Get(gw.PageURL() + "/login") //nolint:noctx // it is short
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if c := resp.Header.Get("Set-Cookie"); !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Strict") || strings.Contains(c, "Domain") {
		t.Errorf("the cookie is %s", c)
	}
}
