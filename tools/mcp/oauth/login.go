package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// pending is a login whose browser has not come back.
type pending struct {
	state    string
	verifier string // of PKCE
	secret   string // of the client; empty: it has none
	config   *oauth2.Config
	grant    *grant // without tokens
	wantsIss bool   // the authorization server says who it is when the browser comes back
	expires  time.Time
}

// loginTime is how long a person has to log in.
const loginTime = 10 * time.Minute

// Started is a login that a person can go on with.
type Started struct {
	// URL is to be opened in a browser.
	URL string `json:"url"`
	// Redirect is where the browser is led then, with parameters behind it.
	Redirect string    `json:"redirect"`
	State    string    `json:"state"` // the parameter by which that is told from other requests
	Issuer   string    `json:"issuer"`
	Scopes   []string  `json:"scopes,omitempty"`
	Expires  time.Time `json:"expires"`
}

// Reasons why a login comes to nothing.
var (
	ErrByItself  = errors.New("with grant: client_credentials parley logs in by itself")
	errNoPending = errors.New("no login is under way to which this address belongs; begin again")
	errLate      = fmt.Errorf("the login was begun more than %s ago; begin again", loginTime)
	errNoClient  = errors.New("the authorization server registers no clients: register parley there by hand, and write oauth.client_id into the configuration")
	errNoIssuer  = errors.New("the browser came back without saying from which authorization server (iss), though that one does: the login is not safe")
	errNotBearer = errors.New("the authorization server gives tokens of a kind that parley cannot use; it knows Bearer")
)

// Begin begins a login, in place of one under way, and returns what a person has to open. The
// browser comes back to redirect, unless the configuration says where. scopes are asked for besides
// those that the server wants and those that the login had before.
func (c *Client) Begin(ctx context.Context, redirect string, scopes ...string) (Started, error) {
	if c.o.Config.ByItself() {
		return Started{}, ErrByItself
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 2*fetchTime, errSlow)
	defer cancel()
	if c.o.Config.Redirect != "" {
		redirect = c.o.Config.Redirect
	}
	if err := checkRedirect(redirect); err != nil {
		return Started{}, err
	}
	if i := slices.IndexFunc(scopes, func(s string) bool { return !isScope(s) }); i >= 0 {
		return Started{}, fmt.Errorf("%q is no scope", scopes[i])
	}
	c.mu.Lock()
	said := c.said
	c.mu.Unlock()
	at, err := c.discover(ctx, said)
	if err != nil {
		return Started{}, err
	}
	p := &pending{state: rand.Text(), verifier: oauth2.GenerateVerifier(), wantsIss: at.AuthorizationResponseIssParameterSupported, expires: c.o.Now().Add(loginTime)}
	p.grant = &grant{Server: c.o.URL, Resource: at.resource, Issuer: at.Issuer, TokenURL: at.TokenEndpoint, Revoke: at.RevocationEndpoint}
	if err := c.register(ctx, at, redirect, p); err != nil {
		return Started{}, err
	}
	p.grant.Scopes = c.scopes(at, said, scopes)
	p.config = &oauth2.Config{
		ClientID: p.grant.ClientID, ClientSecret: p.secret, RedirectURL: redirect, Scopes: p.grant.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: at.AuthorizationEndpoint, TokenURL: at.TokenEndpoint, AuthStyle: p.grant.Style},
	}
	open := p.config.AuthCodeURL(p.state, oauth2.S256ChallengeOption(p.verifier), oauth2.SetAuthURLParam("resource", at.resource))
	c.mu.Lock()
	c.pending = p
	c.mu.Unlock()
	return Started{URL: open, Redirect: redirect, State: p.state, Issuer: visible(at.Issuer), Scopes: p.grant.Scopes, Expires: p.expires}, nil
}

// scopes returns what is asked for: what the operator says; else what the server wanted when it
// refused a request; else what it knows. What a login at this authorization server had before stays.
func (c *Client) scopes(at authority, said challenge, more []string) []string {
	wanted := c.o.Config.Scopes
	if len(wanted) == 0 {
		wanted = said.scopes
	}
	if len(wanted) == 0 {
		wanted = at.scopes
	}
	before, err := c.load()
	if err != nil {
		c.o.Log.Warn("earlier login at an MCP server not readable, its rights are not asked for", "server", c.o.Server, "error", err)
	}
	if before != nil && sameIssuer(before.Issuer, at.Issuer) && before.Resource == at.resource && len(wanted) > 0 {
		wanted = union(before.Scopes, wanted)
	}
	if said.problem == "insufficient_scope" {
		wanted = union(wanted, said.scopes)
	}
	if slices.Contains(at.ScopesSupported, "offline_access") {
		wanted = union(wanted, []string{"offline_access"})
	}
	return union(wanted, more)
}

// register finds out as whom parley logs in: as the client of the configuration, by a client ID
// metadata document, or as a client that is registered now.
func (c *Client) register(ctx context.Context, at authority, redirect string, p *pending) error {
	g, o := p.grant, c.o.Config
	switch {
	case o.ClientID != "":
		g.ClientID = o.ClientID
		secret, err := c.secretOf(g)
		if err != nil {
			return err
		}
		p.secret, g.Style = secret, styleOf(secret, at.TokenEndpointAuthMethodsSupported)
		return nil
	case o.ClientMetadata != "" && at.ClientIDMetadataDocumentSupported:
		g.ClientID, g.Style = o.ClientMetadata, oauth2.AuthStyleInParams
		return nil
	case at.RegistrationEndpoint == "":
		return errNoClient
	}
	ask := &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, ClientName: "parley", ApplicationType: "native",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: methodOf(at.TokenEndpointAuthMethodsSupported),
	}
	if u, err := url.Parse(redirect); err == nil && !isLoopback(u) {
		ask.ApplicationType = "web"
	}
	made, err := oauthex.RegisterClient(ctx, at.RegistrationEndpoint, ask, c.o.HTTP)
	if err != nil {
		return fmt.Errorf("register parley at the authorization server %s: %w", visible(at.Issuer), registrationError(err))
	}
	g.ClientID, g.ClientSecret, p.secret = made.ClientID, made.ClientSecret, made.ClientSecret
	methods := []string{made.TokenEndpointAuthMethod}
	if made.TokenEndpointAuthMethod == "" {
		methods = []string{ask.TokenEndpointAuthMethod}
	}
	g.Style = styleOf(p.secret, methods)
	return nil
}

// registrationError returns err without the body of an answer, in which a secret may stand.
func registrationError(err error) error {
	if e, ok := errors.AsType[*oauthex.ClientRegistrationError](err); ok {
		return errors.New(visible(e.Error()))
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e
	}
	text, _, _ := strings.Cut(err.Error(), ": ")
	text, _, _ = strings.Cut(text, " (")
	return errors.New(visible(text))
}

// methodOf returns how parley would like to prove who it is, of the ways that are known: a program
// keeps no secret from who runs it, so the first is none.
func methodOf(supported []string) string {
	for _, m := range []string{"none", "client_secret_basic", "client_secret_post"} {
		if slices.Contains(supported, m) {
			return m
		}
	}
	return "" // client_secret_basic, by RFC 8414
}

// styleOf returns how the client says who it is.
func styleOf(secret string, methods []string) oauth2.AuthStyle {
	if secret == "" || slices.Contains(methods, "client_secret_post") && !slices.Contains(methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// secretOf returns the secret of the client of a grant; empty: it has none.
func (c *Client) secretOf(g *grant) (string, error) {
	if c.o.Config.ClientSecretFile == "" || g.ClientID != c.o.Config.ClientID {
		return g.ClientSecret, nil
	}
	text, err := os.ReadFile(c.o.Config.ClientSecretFile)
	if err != nil {
		return "", fmt.Errorf("read oauth.client_secret_file: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	c.mu.Lock()
	c.secret = secret
	c.mu.Unlock()
	return secret, nil
}

// Finish ends a login with the address to which the browser was led. Each address serves once.
func (c *Client) Finish(ctx context.Context, address string) error {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return errNoPending // the address is not repeated: a code stands in it
	}
	q := u.Query()
	c.mu.Lock()
	p := c.pending
	if p == nil || q.Get("state") != p.state || !leadsTo(u, p.config.RedirectURL) {
		c.mu.Unlock()
		return errNoPending
	}
	c.pending = nil // whatever comes of it
	c.mu.Unlock()
	if c.o.Now().After(p.expires) {
		return errLate
	}
	// RFC 9207: compared as it stands, before anything else of the answer is believed.
	switch iss, given := q["iss"]; {
	case !given && p.wantsIss:
		return errNoIssuer
	case given && (len(iss) != 1 || iss[0] != p.grant.Issuer):
		return fmt.Errorf("the browser came back from the authorization server %s, and the login was begun at %s: it is not safe", visible(strings.Join(iss, ", ")), visible(p.grant.Issuer))
	case q.Get("error") != "":
		return fmt.Errorf("the authorization server says: %s", visible(q.Get("error")+" "+q.Get("error_description")))
	case q.Get("code") == "":
		return errors.New("the address has no code")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, errSlow)
	defer cancel()
	t, err := p.config.Exchange(c.with(ctx), q.Get("code"), oauth2.VerifierOption(p.verifier), oauth2.SetAuthURLParam("resource", p.grant.Resource))
	if err != nil {
		return fmt.Errorf("exchange the code for a token: %w", c.worded(err, q.Get("code"), p.secret, p.verifier))
	}
	if !strings.EqualFold(t.Type(), "Bearer") {
		return errNotBearer
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	p.grant.take(t, c.o.Now())
	if err := c.save(p.grant); err != nil {
		return err
	}
	c.mu.Lock()
	c.said = challenge{metadata: c.said.metadata}
	c.mu.Unlock()
	c.o.Log.Info("operator logged in at an MCP server", "server", c.o.Server, "issuer", visible(p.grant.Issuer), "scopes", strings.Join(p.grant.Scopes, " "))
	return nil
}

// leadsTo reports whether an address is a redirect with parameters behind it.
func leadsTo(u *url.URL, redirect string) bool {
	bare := *u
	bare.RawQuery, bare.Fragment = "", ""
	return bare.String() == redirect
}
