package oauth_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/tools/mcp/mcptest"
	"parley/tools/mcp/oauth"
)

const redirect = "http://127.0.0.1:3000/callback"

// silent is a world to which nothing is done.
type silent struct{}

func (silent) Note(string) error { return nil }
func (silent) Die()              {}

// rig is a client, and the servers at which it logs in.
type rig struct {
	*mcptest.Authority
	*oauth.Client
	t       *testing.T
	folder  string
	clock   *atomic.Int64 // seconds that have passed
	log     *bytes.Buffer
	options oauth.Options
}

func newRig(t *testing.T, change func(a *mcptest.Authority, o *oauth.Options)) *rig {
	t.Helper()
	r := &rig{t: t, folder: filepath.Join(t.TempDir(), "logins"), clock: &atomic.Int64{}, log: &bytes.Buffer{}}
	began := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return began.Add(time.Duration(r.clock.Load()) * time.Second) }
	r.Authority = mcptest.NewAuthority(t, silent{})
	r.Now = now
	r.options = oauth.Options{
		Server: "test", URL: r.URL(), HTTP: &http.Client{Transport: &http.Transport{}}, Folder: r.folder,
		Log: slog.New(slog.NewTextHandler(r.log, nil)), Now: now,
	}
	if change != nil {
		change(r.Authority, &r.options)
	}
	r.Client = oauth.New(r.options)
	t.Cleanup(func() {
		for _, secret := range r.Tokens() {
			if strings.Contains(r.log.String(), secret) {
				t.Errorf("a secret stands in the log:\n%s", r.log)
			}
		}
	})
	return r
}

// pass lets time pass.
func (r *rig) pass(d time.Duration) { r.clock.Add(int64(d.Seconds())) }

// logIn logs in.
func (r *rig) logIn(scopes ...string) {
	r.t.Helper()
	started, err := r.Begin(r.t.Context(), redirect, scopes...)
	if err != nil {
		r.t.Fatal(err)
	}
	address := r.Browse(r.t, started.URL)
	if err := r.Finish(r.t.Context(), address); err != nil {
		r.t.Fatal(err)
	}
}

// token returns what a request of c would bear.
func token(t *testing.T, c *oauth.Client) (string, error) {
	t.Helper()
	source, err := c.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := source.Token()
	if got == nil {
		return "", err
	}
	return got.AccessToken, err
}

// ask asks the MCP server with the token of c, as the protocol's library does: once more if c says
// that there is another. It returns the last status.
func (r *rig) ask(c *oauth.Client, tool string) (int, error) {
	r.t.Helper()
	for again := false; ; again = true {
		bears, err := token(r.t, c)
		if err != nil {
			return 0, err
		}
		q, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.URL(), nil)
		if err != nil {
			r.t.Fatal(err)
		}
		q.Header.Set("Mcp-Name", tool)
		if bears != "" {
			q.Header.Set("Authorization", "Bearer "+bears)
		}
		res, err := http.DefaultClient.Do(q)
		if err != nil {
			r.t.Fatal(err)
		}
		if again || res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
			_ = res.Body.Close()
			return res.StatusCode, nil
		}
		if err := c.Authorize(r.t.Context(), q, res); err != nil {
			return res.StatusCode, err
		}
	}
}

func (r *rig) isAccepted(c *oauth.Client) {
	r.t.Helper()
	if status, err := r.ask(c, ""); err != nil || status == http.StatusUnauthorized || status == http.StatusForbidden {
		r.t.Errorf("the server answers %d, %v\n%s", status, err, r.log)
	}
}

// wantsLogin checks that a request fails because the operator has to log in, and why.
func (r *rig) wantsLogin(c *oauth.Client, tool, why string) {
	r.t.Helper()
	_ = r.needOf(c, tool, why)
}

// needOf checks as wantsLogin, and returns what is wanted.
func (r *rig) needOf(c *oauth.Client, tool, why string) *oauth.LoginError {
	r.t.Helper()
	_, err := r.ask(c, tool)
	need, ok := errors.AsType[*oauth.LoginError](err)
	if !ok || !strings.Contains(err.Error(), why) || !strings.HasSuffix(err.Error(), ": parley mcp login test") {
		r.t.Fatalf("got %v, want a login because %q", err, why)
	}
	return need
}

func (r *rig) isRight() {
	r.t.Helper()
	if v := r.Violations(); len(v) > 0 {
		r.t.Errorf("the authorization server was asked wrongly: %q", v)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	if need := r.needOf(r.Client, "", "nobody has logged in"); need.More {
		t.Error("there is no login")
	}
	if r.Status() != nil {
		t.Error("there is a login before anybody has logged in")
	}
	unfinished := filepath.Join(r.folder, "test.json.123.new") // by a process that was killed
	if err := errors.Join(os.MkdirAll(r.folder, 0o700), os.WriteFile(unfinished, []byte("access-old"), 0o600)); err != nil {
		t.Fatal(err)
	}
	r.logIn("further")
	if got := r.Scopes(); !slices.Equal(got, []string{"further", "use"}) {
		t.Errorf("asked for %q: those that the server wanted, and further", got)
	}
	r.isAccepted(r.Client)
	if st := r.Status(); st == nil || st.Issuer != r.Auth.URL || !slices.Equal(st.Scopes, []string{"use", "further"}) || !st.Expires.Equal(r.Now().Add(mcptest.Lifetime)) {
		t.Errorf("status: %+v", st)
	}
	t.Run("is kept where only its user reads it", func(t *testing.T) {
		for path, want := range map[string]os.FileMode{r.folder: 0o700 | os.ModeDir, filepath.Join(r.folder, "test.json"): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
		all, err := filepath.Glob(r.folder + "/*")
		if err != nil || len(all) != 2 { // with the lock
			t.Errorf("files: %q, %v", all, err)
		}
	})
	t.Run("holds in a process that begins later", func(*testing.T) { r.isAccepted(oauth.New(r.options)) })
	t.Run("and for the URL alone at which it was made", func(t *testing.T) {
		for _, change := range []func(o *oauth.Options){
			func(o *oauth.Options) { o.URL += "/v2" },
			func(o *oauth.Options) { o.Config.Issuer = "https://other.example.org" },
			func(o *oauth.Options) { o.Config.ClientID = "another" },
		} {
			o := r.options
			change(&o)
			if got, err := token(t, oauth.New(o)); got != "" || err != nil {
				t.Errorf("a request would bear %q, %v", got, err)
			}
		}
	})
	t.Run("and is forgotten here and there", func(t *testing.T) {
		if was, err := r.Logout(t.Context()); !was || err != nil || r.Asked("revoke") != 1 {
			t.Errorf("%v, %v, revoked %d times", was, err, r.Asked("revoke"))
		}
		r.wantsLogin(r.Client, "", "nobody has logged in")
		if was, err := r.Logout(t.Context()); was || err != nil {
			t.Errorf("again: %v, %v", was, err)
		}
	})
	r.isRight()
}

func TestTokensAreReplacedBeforeTheirEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.logIn()
	first, _ := token(t, r.Client)
	r.pass(mcptest.Lifetime - 2*time.Minute)
	if now, err := token(t, r.Client); now != first || err != nil || r.Asked("refresh_token") != 0 {
		t.Errorf("two minutes before its end: replaced %d times, %v", r.Asked("refresh_token"), err)
	}
	for n := 1; n <= 3; n++ { // each time by the refresh token that came with the last
		r.pass(90 * time.Second)
		now, err := token(t, r.Client)
		if now == first || err != nil || r.Asked("refresh_token") != n {
			t.Fatalf("half a minute before its end: replaced %d times, %v", r.Asked("refresh_token"), err)
		}
		first = now
		r.isAccepted(r.Client)
		r.pass(mcptest.Lifetime - 2*time.Minute)
	}
	r.isRight()

	t.Run("or when the server takes them no more", func(t *testing.T) {
		r.Expire()
		before := r.Asked("refresh_token")
		r.isAccepted(r.Client)
		if n := r.Asked("refresh_token") - before; n != 1 {
			t.Errorf("replaced %d times", n)
		}
	})
	t.Run("by the same refresh token where no other comes", func(t *testing.T) {
		r := newRig(t, func(a *mcptest.Authority, _ *oauth.Options) {
			answers := 0
			a.Spoil = func(what string, doc map[string]any) {
				if what == "token" {
					if answers++; answers == 2 {
						delete(doc, "refresh_token")
					}
				}
			}
		})
		r.logIn()
		r.pass(mcptest.Lifetime)
		r.isAccepted(r.Client)
		r.pass(mcptest.Lifetime)
		r.wantsLogin(r.Client, "", "its login is over") // this server lets none serve twice, and says so
		if n := r.Asked("refresh_token"); n != 2 {
			t.Errorf("refresh tokens were used %d times", n)
		}
	})
}

// Whoever uses a refresh token twice loses the login: so of all processes that have the folder one
// replaces a token, and the others take what it got.
func TestProcessesReplaceATokenOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.logIn()
	for range 3 {
		r.pass(mcptest.Lifetime - time.Second)
		before := r.Asked("refresh_token")
		got := make([]string, 8)
		var all sync.WaitGroup
		for i := range got {
			c := oauth.New(r.options) // as in another process: nothing is shared but the folder
			all.Go(func() {
				var err error
				if got[i], err = token(t, c); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := r.Asked("refresh_token") - before; n != 1 || len(slices.Compact(got)) != 1 {
			t.Errorf("replaced %d times, with %d tokens", n, len(slices.Compact(got)))
		}
		r.isAccepted(r.Client)
	}
	r.isRight()
}

func TestALoginThatIsOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.logIn()
	thief := t.TempDir()
	if err := os.CopyFS(thief, os.DirFS(r.folder)); err != nil {
		t.Fatal(err)
	}
	r.pass(mcptest.Lifetime)
	r.isAccepted(r.Client)
	o := r.options
	o.Folder = thief
	r.wantsLogin(oauth.New(o), "", "its login is over (the authorization server does not take it any more)")
	r.wantsLogin(r.Client, "", "its login is over")
	before := r.Asked("token")
	r.wantsLogin(oauth.New(r.options), "", "its login is over") // and nobody asks for another token
	if n := r.Asked("token"); n != before || r.Status() != nil {
		t.Errorf("asked for %d more tokens", n-before)
	}
	text, err := os.ReadFile(filepath.Join(r.folder, "test.json"))
	if err != nil || bytes.Contains(text, []byte("refresh-")) || bytes.Contains(text, []byte("access-")) {
		t.Errorf("what is over is kept: %s, %v", text, err)
	}
	r.logIn()
	r.isAccepted(r.Client)
}

func TestAnAuthorizationServerThatIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	r := newRig(t, func(a *mcptest.Authority, _ *oauth.Options) {
		a.Spoil = func(what string, doc map[string]any) {
			if what == "token" && away.Load() {
				doc["error"] = "temporarily_unavailable"
			}
		}
	})
	r.logIn()
	away.Store(true)
	first, _ := token(t, r.Client)
	r.pass(mcptest.Lifetime - 30*time.Second)
	if now, err := token(t, r.Client); now != first || err != nil || !strings.Contains(r.log.String(), "used to its end") {
		t.Errorf("before the token's end: another token, %v\n%s", err, r.log)
	}
	r.pass(time.Minute)
	if now, err := token(t, r.Client); now != "" || err == nil || !strings.Contains(err.Error(), "answered 400: temporarily_unavailable") {
		t.Errorf("behind it: %v", err)
	}
	if r.Status() == nil {
		t.Error("the login is over, although the authorization server did not say so")
	}
}

// A token that was replaced and cannot be written is used still: the old one is worth nothing.
func TestALoginThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	var file string
	r := newRig(t, func(a *mcptest.Authority, o *oauth.Options) {
		file = filepath.Join(o.Folder, "test.json")
		a.Spoil = func(what string, _ map[string]any) {
			if what == "token" && full.Load() { // in place of the file stands what nothing replaces
				if err := errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "x"), 0o700)); err != nil {
					t.Error(err)
				}
			}
		}
	})
	r.logIn()
	full.Store(true)
	r.pass(mcptest.Lifetime)
	r.isAccepted(r.Client)
	r.isAccepted(r.Client)
	if n := r.Asked("refresh_token"); n != 1 || !strings.Contains(r.log.String(), "new token of an MCP server not written") {
		t.Errorf("replaced %d times, and the log says\n%s", n, r.log)
	}
	full.Store(false)
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	r.pass(mcptest.Lifetime)
	r.isAccepted(r.Client)
	r.isAccepted(oauth.New(r.options)) // it is written again
	r.isRight()
}

// A folder of logins may have any name: what killed processes left in it is removed, and nothing in
// another folder.
func TestAFolderOfLoginsWithTheSignsOfAPattern(t *testing.T) {
	t.Parallel()
	var other, left string
	r := newRig(t, func(_ *mcptest.Authority, o *oauth.Options) {
		dir := t.TempDir()
		o.Folder = filepath.Join(dir, "bots[1]")
		other, left = filepath.Join(dir, "bots1", "test.json.123.new"), filepath.Join(o.Folder, "test.json.123.new")
		for _, file := range []string{other, left} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("access-old"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	})
	r.logIn()
	r.isAccepted(r.Client)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("tokens are left behind: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

func TestMoreRights(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.wantsLogin(r.Client, "note", "nobody has logged in")
	r.logIn()
	need := r.needOf(r.Client, "note", "it wants a login with more rights (note)")
	if !need.More || !slices.Equal(need.Scopes, []string{"note"}) {
		t.Errorf("got %+v", need)
	}
	r.isAccepted(r.Client) // what it may do it may do still
	r.logIn()
	if got := r.Scopes(); !slices.Equal(got, []string{"note", "use"}) {
		t.Errorf("asked for %q: the rights that it had, and the one that the server wants", got)
	}
	if status, err := r.ask(r.Client, "note"); err != nil || status == http.StatusForbidden {
		t.Errorf("%d, %v", status, err)
	}
	r.isRight()
}

// What an authorization server, a server or somebody in between does wrong ends a login before a
// secret is sent.
func TestLoginsThatAreNotSafe(t *testing.T) {
	t.Parallel()
	set := func(at, key string, value any) func(*mcptest.Authority, *oauth.Options) {
		return func(a *mcptest.Authority, _ *oauth.Options) {
			a.Spoil = func(what string, doc map[string]any) {
				if what == at {
					doc[key] = value
				}
			}
		}
	}
	for name, c := range map[string]struct {
		change func(a *mcptest.Authority, o *oauth.Options)
		want   string
		begins bool
	}{
		"no S256":             {set("metadata", "code_challenge_methods_supported", []string{"plain"}), "does not offer PKCE with S256", false},
		"no PKCE":             {set("metadata", "code_challenge_methods_supported", nil), "does not implement PKCE", false},
		"another resource":    {set("resource", "resource", "https://evil.example.org/mcp"), "read the server's metadata", false},
		"no authority":        {set("resource", "authorization_servers", []string{}), "names no authorization server", false},
		"another issuer":      {set("metadata", "issuer", "https://evil.example.org"), "does not match issuer URL", false},
		"a token over http":   {set("metadata", "token_endpoint", "http://evil.example.org/token"), "token_endpoint", false},
		"no registration":     {set("metadata", "registration_endpoint", ""), "registers no clients", false},
		"an issuer unallowed": {func(_ *mcptest.Authority, o *oauth.Options) { o.Config.Issuer = "https://auth.example.org" }, "the configuration allows https://auth.example.org alone", false},
		"a wrong iss":         {set("redirect", "iss", "https://evil.example.org"), "the browser came back from the authorization server https://evil.example.org", true},
		"iss with a slash": {func(a *mcptest.Authority, _ *oauth.Options) {
			a.Spoil = func(what string, doc map[string]any) {
				if what == "redirect" {
					doc["iss"] = doc["iss"].(string) + "/"
				}
			}
		}, "is not safe", true},
		"an iss that nobody announced": {func(a *mcptest.Authority, _ *oauth.Options) {
			a.Spoil = func(what string, doc map[string]any) {
				delete(doc, "authorization_response_iss_parameter_supported")
				if what == "redirect" {
					doc["iss"] = "https://evil.example.org"
				}
			}
		}, "is not safe", true},
		"no iss": {func(a *mcptest.Authority, _ *oauth.Options) {
			a.Spoil = func(_ string, doc map[string]any) { delete(doc, "iss") }
		}, "without saying from which authorization server", true},
		"a refusal":    {set("redirect", "error", "access_denied"), "the authorization server says: access_denied", true},
		"no code":      {set("redirect", "code", ""), "has no code", true},
		"another kind": {set("token", "token_type", "DPoP"), "it knows Bearer", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.change)
			started, err := r.Begin(t.Context(), redirect)
			if c.begins {
				if err != nil {
					t.Fatal(err)
				}
				err = r.Finish(t.Context(), r.Browse(t, started.URL))
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if n := r.Asked("token"); n != 0 && name != "another kind" {
				t.Errorf("a token was asked for %d times", n)
			}
			if got, _ := token(t, r.Client); got != "" {
				t.Error("there is a token")
			}
		})
	}
}

func TestAnAddressServesOnceAndForItsLogin(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	started, err := r.Begin(t.Context(), redirect)
	if err != nil {
		t.Fatal(err)
	}
	address := r.Browse(t, started.URL)
	for name, wrong := range map[string]string{
		"another state":    strings.Replace(address, started.State, "AAAAAAAAAAAAAAAAAAAAAAAAAA", 1),
		"another path":     strings.Replace(address, "/callback", "/other", 1),
		"another port":     strings.Replace(address, ":3000", ":3001", 1),
		"no address":       "%zz",
		"the login's page": started.URL,
	} {
		if err := r.Finish(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "no login is under way") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.Finish(t.Context(), address); err != nil {
		t.Errorf("the right one behind wrong ones: %v", err)
	}
	if err := r.Finish(t.Context(), address); err == nil || r.Asked("authorization_code") != 1 {
		t.Errorf("the same again: %v, and %d codes were exchanged", err, r.Asked("authorization_code"))
	}
	late, err := r.Begin(t.Context(), redirect)
	if err != nil {
		t.Fatal(err)
	}
	address = r.Browse(t, late.URL)
	r.pass(11 * time.Minute)
	if err := r.Finish(t.Context(), address); err == nil || !strings.Contains(err.Error(), "more than 10m0s ago") {
		t.Errorf("late: %v", err)
	}
	for _, where := range []string{"", "http://example.org/callback", "http://127.0.0.1/callback", "https://example.org/?x=1", "javascript:alert(1)"} {
		if _, err := r.Begin(t.Context(), where); err == nil {
			t.Errorf("%q is taken as where the browser comes back", where)
		}
	}
	r.isRight()
}

// secretFile writes a secret of the operator's.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAsWhomParleyLogsIn(t *testing.T) {
	t.Parallel()
	document := "https://parley.example.org/client.json"
	for name, c := range map[string]struct {
		method     string // of the client of the configuration
		config     oauth.Config
		documents  bool // the authorization server knows client ID metadata documents
		methods    []string
		registered int
	}{
		"a client of the configuration":           {"client_secret_basic", oauth.Config{ClientID: "known"}, true, nil, 0},
		"one that says its secret in the request": {"client_secret_post", oauth.Config{ClientID: "known"}, true, []string{"client_secret_post"}, 0},
		"one without a secret":                    {"none", oauth.Config{ClientID: "known"}, false, nil, 0},
		"a document":                              {"", oauth.Config{ClientMetadata: document}, true, nil, 0},
		"a document that nobody reads":            {"", oauth.Config{ClientMetadata: document}, false, nil, 1},
		"nobody yet":                              {"", oauth.Config{}, true, nil, 1},
		"nobody yet, with a secret":               {"", oauth.Config{}, false, []string{"client_secret_basic"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(a *mcptest.Authority, o *oauth.Options) {
				a.Register(document, "", "none", nil, redirect)
				o.Config = c.config
				if c.method != "" {
					secret := ""
					if c.method != "none" {
						secret = "canary-%secret"
						o.Config.ClientSecretFile, o.Config.Issuer = secretFile(t, secret), a.Auth.URL
					}
					a.Register("known", secret, c.method, nil, redirect)
				}
				a.Spoil = func(what string, doc map[string]any) {
					if what == "metadata" {
						doc["client_id_metadata_document_supported"] = c.documents
						if c.methods != nil {
							doc["token_endpoint_auth_methods_supported"] = c.methods
						}
					}
				}
			})
			r.logIn()
			r.pass(mcptest.Lifetime)
			r.isAccepted(r.Client)
			if n := r.Asked("register"); n != c.registered || r.Asked("refresh_token") != 1 {
				t.Errorf("registered %d times, refreshed %d times", n, r.Asked("refresh_token"))
			}
			r.isRight()
		})
	}
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for _, method := range []string{"client_secret_basic", "private_key_jwt"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(a *mcptest.Authority, o *oauth.Options) {
				o.Config = oauth.Config{Grant: oauth.ClientCredentials, ClientID: "fleet", Issuer: a.Auth.URL}
				if method == "private_key_jwt" {
					o.Config.KeyFile = secretFile(t, text)
				} else {
					o.Config.ClientSecretFile = secretFile(t, "canary-secret")
				}
				a.Register("fleet", "canary-secret", method, &key.PublicKey)
			})
			r.isAccepted(r.Client)
			r.isAccepted(r.Client)
			if n := r.Asked("client_credentials"); n != 1 {
				t.Errorf("a token was asked for %d times", n)
			}
			r.pass(mcptest.Lifetime - time.Second)
			r.isAccepted(r.Client)
			r.Expire()
			r.isAccepted(r.Client)
			if n := r.Asked("client_credentials"); n != 3 || r.Status() == nil {
				t.Errorf("a token was asked for %d times, %v", n, r.Status())
			}
			if _, err := r.Begin(t.Context(), redirect); !errors.Is(err, oauth.ErrByItself) {
				t.Errorf("a person logs in: %v", err)
			}
			r.isRight()
			r.Spoil = func(what string, doc map[string]any) { // the server says that another one is asked
				if what == "resource" {
					doc["authorization_servers"] = []string{"http://127.0.0.1:1"}
				}
			}
			r.Expire()
			if _, err := r.ask(r.Client, ""); err == nil || !strings.Contains(err.Error(), "the configuration allows") {
				t.Errorf("the secret may go elsewhere: %v", err)
			}
		})
	}
}

// No error shows what was sent, even where an authorization server repeats it.
func TestErrorsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	var code string
	r := newRig(t, func(a *mcptest.Authority, o *oauth.Options) {
		a.Register("known", "canary-secret", "client_secret_basic", nil, redirect)
		o.Config = oauth.Config{ClientID: "known", ClientSecretFile: secretFile(t, "canary-secret"), Issuer: a.Auth.URL}
		a.Spoil = func(what string, doc map[string]any) {
			switch what {
			case "redirect":
				code = doc["code"].(string)
			case "token":
				doc["error"], doc["error_description"] = "server_error", "you said "+code+" and canary-secret"
			}
		}
	})
	started, err := r.Begin(t.Context(), redirect)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Finish(t.Context(), r.Browse(t, started.URL))
	if err == nil || !strings.Contains(err.Error(), "answered 400: server_error, you said … and …") {
		t.Errorf("got %v", err)
	}
}
