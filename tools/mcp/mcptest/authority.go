package mcptest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Authority is an MCP server that wants a login, and the authorization server behind it, each on a
// port of its own. Both are strict: what a client may not do is refused, and is a violation.
type Authority struct {
	Site *httptest.Server // the MCP server, at /mcp
	Auth *httptest.Server

	// Spoil changes what is answered: resource, metadata, register, redirect, token. It must ask
	// nothing of the Authority.
	Spoil func(what string, doc map[string]any)
	Now   func() time.Time

	mu         sync.Mutex // guards what follows
	clients    map[string]registeredClient
	codes      map[string]issued
	access     map[string]issued
	refresh    map[string]issued
	dead       map[string]bool // families of tokens that are worth nothing
	violations []string
	asked      map[string]int // requests, by what was asked
	headers    []http.Header  // of requests to Auth
	scopes     []string       // asked for at last
}

// registeredClient is a client that the authorization server knows.
type registeredClient struct {
	Redirects []string
	Secret    string
	Method    string // how it says who it is
	Key       any    // public, for private_key_jwt
}

// issued is a code or a token.
type issued struct {
	client, redirect, challenge, family string
	scopes                              []string
	expires                             time.Time
	used                                bool
}

func (i issued) spent() issued {
	i.used = true
	return i
}

// Lifetime is how long a token is valid.
const Lifetime = time.Hour

// NewAuthority starts both servers. Every tool needs the scope use, and note the scope note too.
func NewAuthority(t *testing.T, w World) *Authority {
	t.Helper()
	a := &Authority{
		Now: time.Now, Spoil: func(string, map[string]any) {},
		clients: map[string]registeredClient{}, codes: map[string]issued{}, access: map[string]issued{}, refresh: map[string]issued{}, dead: map[string]bool{}, asked: map[string]int{},
	}
	a.Site, a.Auth = httptest.NewServer(a.site(indiscreet(w))), httptest.NewServer(a.auth())
	t.Cleanup(a.Site.Close)
	t.Cleanup(a.Auth.Close)
	return a
}

// indiscreet is the server of New with one more tool, bearer: it returns the token with which it is
// called.
func indiscreet(w World) http.Handler {
	s := New(w)
	sdk.AddTool(s, &sdk.Tool{Name: "bearer", Description: "Return the token."}, func(_ context.Context, r *sdk.CallToolRequest, _ text) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Extra.Header.Get("Authorization")[len("Bearer "):]}}}, nil, nil
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true})
}

// URL returns that of the MCP server.
func (a *Authority) URL() string { return a.Site.URL + "/mcp" }

// Register makes a client known, as an operator does by hand.
func (a *Authority) Register(id, secret, method string, key any, redirects ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients[id] = registeredClient{redirects, secret, method, key}
}

// Asked returns how often something was asked: resource, metadata, register, authorize, token
// (authorization_code, refresh_token, client_credentials), revoke, mcp.
func (a *Authority) Asked(what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[what]
}

// Scopes returns what was asked for at last.
func (a *Authority) Scopes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(slices.Values(a.scopes))
}

// Headers returns those of all requests to the authorization server.
func (a *Authority) Headers() []http.Header {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.headers)
}

// Violations returns what clients did that they may not do.
func (a *Authority) Violations() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.violations)
}

// Tokens returns all secrets that were given out.
func (a *Authority) Tokens() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.clients {
		if c.Secret != "" {
			all = append(all, c.Secret)
		}
	}
	return slices.Concat(all, slices.Collect(maps.Keys(a.codes)), slices.Collect(maps.Keys(a.access)), slices.Collect(maps.Keys(a.refresh)))
}

// Forget makes all tokens worth nothing, as an administrator does.
func (a *Authority) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, tokens := range []map[string]issued{a.access, a.refresh} {
		for _, t := range tokens {
			a.dead[t.family] = true
		}
	}
}

// Expire makes access tokens worth nothing before their time; they can be replaced.
func (a *Authority) Expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, t := range a.access {
		t.expires = time.Time{}
		a.access[name] = t
	}
}

// Browse opens an address as the browser of somebody who agrees, and returns where it is led to.
func (a *Authority) Browse(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusFound {
		t.Fatalf("the authorization server answers %s: %q", res.Status, a.Violations())
	}
	return res.Header.Get("Location")
}

func (a *Authority) note(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[what]++
}

// refuse answers with an error of OAuth, and notes what a client may not do.
func (a *Authority) refuse(w http.ResponseWriter, status int, code, violation string) {
	if violation != "" {
		a.violations = append(a.violations, violation)
	}
	a.answer(w, status, map[string]any{"error": code, "error_description": violation})
}

func (*Authority) answer(w http.ResponseWriter, status int, doc map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}

// site is the MCP server: each request needs a token.
func (a *Authority) site(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	metadata := "/.well-known/oauth-protected-resource/mcp"
	mux.HandleFunc("GET "+metadata, func(w http.ResponseWriter, _ *http.Request) {
		a.note("resource")
		doc := map[string]any{"resource": a.URL(), "authorization_servers": []string{a.Auth.URL}, "scopes_supported": []string{"use", "other"}}
		a.Spoil("resource", doc)
		a.answer(w, http.StatusOK, doc)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		a.note("mcp")
		if r.Header.Get("Mcp-Method") == "" && r.ContentLength > 0 { // of revisions before 2026-07-28
			http.Error(w, "the method is not said", http.StatusBadRequest)
			return
		}
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		a.mu.Lock()
		t, ok := a.access[token]
		ok = ok && !a.dead[t.family] && a.Now().Before(t.expires)
		a.mu.Unlock()
		challenge := fmt.Sprintf(`Bearer resource_metadata="%s%s"`, a.Site.URL, metadata)
		switch {
		case !ok:
			w.Header().Set("WWW-Authenticate", challenge+`, scope="use"`)
			w.WriteHeader(http.StatusUnauthorized)
		case r.Header.Get("Mcp-Name") == "note" && !slices.Contains(t.scopes, "note"):
			w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope", scope="note"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
	return mux
}

// auth is the authorization server.
func (a *Authority) auth() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		a.note("metadata")
		at := a.Auth.URL
		doc := map[string]any{
			"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token", "registration_endpoint": at + "/register", "revocation_endpoint": at + "/revoke",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
			"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic", "client_secret_post", "private_key_jwt"},
		}
		a.Spoil("metadata", doc)
		a.answer(w, http.StatusOK, doc)
	})
	mux.HandleFunc("POST /register", a.register)
	mux.HandleFunc("GET /authorize", a.authorize)
	mux.HandleFunc("POST /token", a.token)
	mux.HandleFunc("POST /revoke", func(_ http.ResponseWriter, r *http.Request) {
		a.note("revoke")
		a.mu.Lock()
		defer a.mu.Unlock()
		a.dead[a.refresh[r.FormValue("token")].family] = true
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.headers = append(a.headers, r.Header.Clone())
		a.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

func (a *Authority) register(w http.ResponseWriter, r *http.Request) {
	a.note("register")
	var asked struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil || len(asked.Redirects) == 0 {
		a.refuse(w, http.StatusBadRequest, "invalid_client_metadata", "a registration without redirects")
		return
	}
	doc := map[string]any{"client_id": "client-" + rand.Text(), "redirect_uris": asked.Redirects, "token_endpoint_auth_method": asked.Method}
	if asked.Method != "none" {
		doc["client_secret"] = "secret-" + rand.Text()
	}
	a.Spoil("register", doc)
	secret, _ := doc["client_secret"].(string)
	a.clients[doc["client_id"].(string)] = registeredClient{Redirects: asked.Redirects, Secret: secret, Method: doc["token_endpoint_auth_method"].(string)}
	a.answer(w, http.StatusCreated, doc)
}

func (a *Authority) authorize(w http.ResponseWriter, r *http.Request) {
	a.note("authorize")
	a.mu.Lock()
	defer a.mu.Unlock()
	q := r.URL.Query()
	c, ok := a.clients[q.Get("client_id")]
	for violation, is := range map[string]bool{
		"an unknown client":                    !ok,
		"a redirect that is not registered":    !slices.Contains(c.Redirects, q.Get("redirect_uri")),
		"a request for something else":         q.Get("response_type") != "code",
		"no PKCE with S256":                    q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43,
		"a resource that is not the server":    q.Get("resource") != a.URL(),
		"a state that can be guessed or is no": len(q.Get("state")) < 20,
	} {
		if is {
			a.refuse(w, http.StatusBadRequest, "invalid_request", violation)
			return
		}
	}
	a.scopes = strings.Fields(q.Get("scope"))
	code := "code-" + rand.Text()
	a.codes[code] = issued{client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), scopes: a.scopes, family: rand.Text()}
	doc := map[string]any{"code": code, "state": q.Get("state"), "iss": a.Auth.URL}
	a.Spoil("redirect", doc)
	to := url.Values{}
	for name, value := range doc {
		to.Set(name, fmt.Sprint(value))
	}
	w.Header().Set("Location", q.Get("redirect_uri")+"?"+to.Encode())
	w.WriteHeader(http.StatusFound)
}

func (a *Authority) token(w http.ResponseWriter, r *http.Request) {
	grant := r.FormValue("grant_type")
	a.note("token")
	a.note(grant)
	a.mu.Lock()
	defer a.mu.Unlock()
	id, ok := a.knows(r)
	if !ok {
		a.refuse(w, http.StatusUnauthorized, "invalid_client", "")
		return
	}
	if r.PostFormValue("resource") != a.URL() {
		a.refuse(w, http.StatusBadRequest, "invalid_target", "a token for another resource than the server")
		return
	}
	var g issued
	spend := func() {} // what the grant is made by, so that it makes no other
	switch grant {
	case "authorization_code":
		code := r.PostFormValue("code")
		g, ok = a.codes[code]
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !ok || g.used || g.client != id || g.redirect != r.PostFormValue("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			a.refuse(w, http.StatusBadRequest, "invalid_grant", "a code that was used, is another's, or has another redirect or verifier")
			return
		}
		spend = func() { a.codes[code] = g.spent() }
	case "refresh_token":
		name := r.PostFormValue("refresh_token")
		g, ok = a.refresh[name]
		switch {
		case ok && g.used: // by somebody who has stolen it, or from whom it was stolen
			a.dead[g.family] = true
			a.refuse(w, http.StatusBadRequest, "invalid_grant", "a refresh token that was used")
			return
		case !ok || g.client != id || a.dead[g.family]:
			a.refuse(w, http.StatusBadRequest, "invalid_grant", "")
			return
		}
		spend = func() { a.refresh[name] = g.spent() }
	case "client_credentials":
		if a.clients[id].Method == "none" {
			a.refuse(w, http.StatusBadRequest, "unauthorized_client", "client credentials of a client without a secret")
			return
		}
		a.scopes = strings.Fields(r.PostFormValue("scope"))
		g = issued{client: id, scopes: a.scopes, family: rand.Text()}
	default:
		a.refuse(w, http.StatusBadRequest, "unsupported_grant_type", "a grant that there is not")
		return
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	doc := map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": int(Lifetime.Seconds()), "scope": strings.Join(g.scopes, " ")}
	if a.Spoil("token", doc); doc["error"] != nil {
		a.answer(w, http.StatusBadRequest, doc)
		return
	}
	spend()
	g.expires = a.Now().Add(Lifetime)
	a.access[access], a.refresh[refresh] = g, g
	a.answer(w, http.StatusOK, doc)
}

// knows returns which client asks for a token, if it says so as it was registered. The caller holds a.mu.
func (a *Authority) knows(r *http.Request) (string, bool) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	} else if plain, err := url.QueryUnescape(secret); err == nil { // RFC 6749, 2.3.1
		secret = plain
	}
	c, ok := a.clients[id]
	switch c.Method {
	case "none":
		return id, ok && !basic && secret == ""
	case "client_secret_post":
		return id, ok && !basic && secret == c.Secret
	case "private_key_jwt":
		_, err := jwt.Parse(r.PostFormValue("client_assertion"), func(*jwt.Token) (any, error) { return c.Key, nil },
			jwt.WithAudience(a.Auth.URL), jwt.WithIssuer(id), jwt.WithSubject(id), jwt.WithExpirationRequired(), jwt.WithTimeFunc(a.Now))
		return id, ok && err == nil && r.PostFormValue("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	default:
		return id, ok && basic && secret == c.Secret
	}
}
