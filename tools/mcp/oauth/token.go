package oauth

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// with has the library of OAuth connect as parley may.
func (c *Client) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, c.o.HTTP)
}

// fetch asks the authorization server of g for a token.
func (c *Client) fetch(ctx context.Context, g *grant, secret string, parameters map[string]string, scopes []string) (*oauth2.Token, error) {
	if err := checkSecure(g.TokenURL); err != nil {
		return nil, err
	}
	values := url.Values{}
	for name, value := range parameters {
		values.Set(name, value)
	}
	cc := clientcredentials.Config{ClientID: g.ClientID, ClientSecret: secret, TokenURL: g.TokenURL, AuthStyle: g.Style, Scopes: scopes, EndpointParams: values}
	t, err := cc.Token(c.with(ctx))
	if err == nil && !strings.EqualFold(t.Type(), "Bearer") {
		return nil, errNotBearer
	}
	return t, err // the caller says what failed
}

// refusal reports whether an authorization server has refused for good, and how.
func refusal(err error) (why string, over bool) {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return "", false
	}
	switch e.ErrorCode {
	case "invalid_grant":
		return "the authorization server does not take it any more", true
	case "invalid_client", "unauthorized_client":
		return "the authorization server does not know the client any more", true
	}
	return "", false
}

// worded returns an error of the library of OAuth without the body of an answer, and without what
// was sent.
func (*Client) worded(err error, secrets ...string) error {
	text := err.Error()
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		text = fmt.Sprintf("the authorization server answered %d", e.Response.StatusCode)
		if e.ErrorCode != "" {
			text += ": " + e.ErrorCode
		}
		if e.ErrorDescription != "" {
			text += ", " + e.ErrorDescription
		}
	}
	for _, s := range secrets {
		if s != "" {
			text = strings.NewReplacer(s, "…", url.QueryEscape(s), "…").Replace(text)
		}
	}
	return errors.New(visible(text))
}

// ownGrant returns a token of parley itself (client credentials), another one than replaced.
func (c *Client) ownGrant(ctx context.Context, replaced string) (*grant, error) {
	select {
	case c.changing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-c.changing }()
	c.mu.Lock()
	g, said := c.own, c.said
	c.mu.Unlock()
	if g != nil && g.Access != replaced && !g.stale(c.o.Now()) {
		return g, nil
	}
	at, err := c.discover(ctx, said)
	if err != nil {
		return nil, err
	}
	scopes := c.o.Config.Scopes
	if len(scopes) == 0 {
		scopes = said.scopes
	}
	if len(scopes) == 0 {
		scopes = at.scopes
	}
	g = &grant{Server: c.o.URL, Resource: at.resource, Issuer: at.Issuer, TokenURL: at.TokenEndpoint, ClientID: c.o.Config.ClientID, Scopes: scopes, Style: oauth2.AuthStyleInParams}
	parameters, secret := map[string]string{"resource": at.resource}, ""
	if c.o.Config.KeyFile != "" {
		parameters["client_assertion_type"] = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
		parameters["client_assertion"], err = c.assertion(at.Issuer)
	} else if secret, err = c.secretOf(g); err == nil {
		g.Style = styleOf(secret, at.TokenEndpointAuthMethodsSupported)
	}
	if err != nil {
		return nil, err
	}
	t, err := c.fetch(ctx, g, secret, parameters, scopes)
	if err != nil {
		_, over := refusal(err)
		err = c.worded(err, secret, parameters["client_assertion"])
		if over {
			err = fmt.Errorf("%w: %w", errRefused, err)
		}
		return nil, fmt.Errorf("get a token for the MCP server %s: %w", c.o.Server, err)
	}
	g.take(t, c.o.Now())
	g.Refresh = "" // there is no need of one
	c.conceal(g)
	c.mu.Lock()
	c.own = g
	c.mu.Unlock()
	return g, nil
}

// assertionTime is how long an assertion is valid.
const assertionTime = time.Minute

// assertion signs who the client is, for one authorization server (RFC 7523).
func (c *Client) assertion(issuer string) (string, error) {
	text, err := os.ReadFile(c.o.Config.KeyFile)
	if err != nil {
		return "", fmt.Errorf("read oauth.key_file: %w", err)
	}
	key, method, err := parseKey(text)
	if err != nil {
		return "", fmt.Errorf("read oauth.key_file: %w", err)
	}
	now := c.o.Now()
	signed, err := jwt.NewWithClaims(method, jwt.RegisteredClaims{
		Issuer: c.o.Config.ClientID, Subject: c.o.Config.ClientID, Audience: jwt.ClaimStrings{issuer}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(assertionTime)),
	}).SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign with oauth.key_file: %w", err)
	}
	return signed, nil
}

var errKey = errors.New("it holds no private key in PEM of RSA, P-256 or Ed25519")

// parseKey returns a private key and how it signs. Its errors say nothing of the key.
func parseKey(text []byte) (crypto.Signer, jwt.SigningMethod, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, nil, errKey
	}
	var key any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, nil, errKey
	}
	method, err := methodFor(signer)
	return signer, method, err
}

// Logout forgets the login, and has the authorization server forget it, if that can. It reports
// whether there was one.
func (c *Client) Logout(ctx context.Context) (bool, error) {
	if c.o.Config.ByItself() {
		return false, ErrByItself
	}
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, errSlow)
	defer cancel()
	unlock, err := c.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	g, errRead := c.load()
	c.mu.Lock()
	c.unsaved, c.pending = nil, nil
	c.mu.Unlock()
	err = os.Remove(c.path())
	if errors.Is(err, os.ErrNotExist) && g == nil {
		return false, nil
	}
	if errors.Is(err, os.ErrNotExist) { // it could not be written
		err = nil
	}
	if err = errors.Join(err, removeUnfinished(c.path()), syncDir(c.o.Folder)); err != nil {
		return true, fmt.Errorf("forget the login at the MCP server %s: %w", c.o.Server, err)
	}
	if errRead == nil && g != nil && g.Revoke != "" && g.Refresh+g.Access != "" {
		if err := c.revoke(ctx, g); err != nil {
			c.o.Log.Warn("login at an MCP server forgotten here, and not at the authorization server", "server", c.o.Server, "issuer", visible(g.Issuer), "error", err)
		}
	}
	c.o.Log.Info("operator logged out of an MCP server", "server", c.o.Server)
	return true, nil
}

// revoke has the authorization server forget a grant (RFC 7009).
func (c *Client) revoke(ctx context.Context, g *grant) error {
	if err := checkSecure(g.Revoke); err != nil {
		return err
	}
	secret, err := c.secretOf(g)
	if err != nil {
		return err
	}
	form := url.Values{"token": {g.Access}, "token_type_hint": {"access_token"}, "client_id": {g.ClientID}}
	if g.Refresh != "" {
		form.Set("token", g.Refresh)
		form.Set("token_type_hint", "refresh_token")
	}
	if secret != "" && g.Style == oauth2.AuthStyleInParams {
		form.Set("client_secret", secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.Revoke, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("ask for it: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if secret != "" && g.Style == oauth2.AuthStyleInHeader {
		r.SetBasicAuth(url.QueryEscape(g.ClientID), url.QueryEscape(secret))
	}
	res, err := c.o.HTTP.Do(r)
	if err != nil {
		return c.worded(err, g.Access, g.Refresh, secret)
	}
	_ = res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %d", res.StatusCode)
	}
	return nil
}
