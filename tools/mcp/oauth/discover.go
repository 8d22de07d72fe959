package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"parley/tools"
)

// challenge is what a server said when it refused a request.
type challenge struct {
	metadata string   // the URL of its metadata; empty: it did not say
	scopes   []string // that it wants
	problem  string   // the error of RFC 6750: invalid_token, insufficient_scope
}

// readChallenge returns what a server says in an answer of 401 or 403. What cannot be read says
// nothing.
func readChallenge(h http.Header) (c challenge) {
	all, err := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	if err != nil {
		return c
	}
	for _, one := range all {
		if one.Scheme == "bearer" {
			return challenge{metadata: one.Params["resource_metadata"], scopes: scopesIn(one.Params["scope"]), problem: one.Params["error"]}
		}
	}
	return c
}

// authority is the authorization server of an MCP server, and what the two say of each other.
type authority struct {
	resource string   // what tokens are for (RFC 8707)
	scopes   []string // that the MCP server knows
	*oauthex.AuthServerMeta
}

// Reasons why it is not known where to log in.
var (
	errNoAuthority = errors.New("the server's metadata names no authorization server")
	errNoPKCE      = errors.New("the authorization server does not offer PKCE with S256, without which no login is safe")
)

// discover finds the authorization server of the MCP server.
func (c *Client) discover(ctx context.Context, said challenge) (authority, error) {
	resource, err := c.discoverResource(ctx, said)
	if err != nil {
		return authority{}, err
	}
	if resource == nil {
		return c.discoverOlder(ctx)
	}
	issuer, err := c.chooseIssuer(resource.AuthorizationServers)
	if err != nil {
		return authority{}, err
	}
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, c.o.HTTP)
	switch {
	case err != nil:
		return authority{}, fmt.Errorf("read the metadata of the authorization server %s: %s", issuer, visible(err.Error()))
	case meta == nil:
		return authority{}, fmt.Errorf("the authorization server %s has no metadata", visible(issuer))
	}
	var scopes []string
	for _, s := range resource.ScopesSupported {
		scopes = append(scopes, scopesIn(s)...)
	}
	return authority{resource.Resource, scopes, meta}, c.check(meta)
}

// check reports why parley does not log in at an authorization server.
func (c *Client) check(meta *oauthex.AuthServerMeta) error {
	if c.o.Config.Issuer != "" && !sameIssuer(meta.Issuer, c.o.Config.Issuer) {
		return fmt.Errorf("the authorization server is %s, and the configuration allows %s alone (issuer)", visible(meta.Issuer), c.o.Config.Issuer)
	}
	if !c.o.Config.ByItself() && !slices.Contains(meta.CodeChallengeMethodsSupported, "S256") {
		return errNoPKCE
	}
	return nil
}

func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// chooseIssuer returns the one of the authorization servers at which parley logs in.
func (c *Client) chooseIssuer(all []string) (string, error) {
	if len(all) == 0 {
		return "", errNoAuthority
	}
	if c.o.Config.Issuer == "" {
		return all[0], nil
	}
	for _, one := range all {
		if sameIssuer(one, c.o.Config.Issuer) {
			return one, nil
		}
	}
	return "", fmt.Errorf("the server's authorization servers are %s, and the configuration allows %s alone (issuer)", visible(strings.Join(all, ", ")), c.o.Config.Issuer)
}

// discoverResource returns what the MCP server says of itself (RFC 9728); nil: it has no such
// metadata, as servers before 2025-06-18. One that is there and does not fit is an error, so that
// nobody gets a login by spoiling it.
func (c *Client) discoverResource(ctx context.Context, said challenge) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(c.o.URL)
	if err != nil {
		return nil, fmt.Errorf("read the server's URL: %w", err)
	}
	root := url.URL{Scheme: u.Scheme, Host: u.Host}
	wellKnown := root.String() + "/.well-known/oauth-protected-resource"
	type place struct{ at, resource string }
	places := []place{{said.metadata, c.o.URL}, {wellKnown + "/" + strings.TrimLeft(u.Path, "/"), c.o.URL}, {wellKnown, root.String()}}
	var unfit error
	for _, p := range places {
		if p.at == "" {
			continue
		}
		witness := &witness{next: c.o.HTTP.Transport}
		meta, err := oauthex.GetProtectedResourceMetadata(ctx, p.at, p.resource, &http.Client{Transport: witness, CheckRedirect: c.o.HTTP.CheckRedirect})
		switch {
		case err == nil && meta != nil:
			return meta, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !witness.gone.Load() && unfit == nil:
			unfit = fmt.Errorf("read the server's metadata: %s", visible(fmt.Sprint(err)))
		}
	}
	return nil, unfit
}

// witness notes whether a server has answered that something is not there.
type witness struct {
	next http.RoundTripper
	gone atomic.Bool
}

// RoundTrip implements [http.RoundTripper].
func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := w.next.RoundTrip(r)
	if err == nil && res.StatusCode/100 == 4 {
		w.gone.Store(true)
	}
	return res, err // as it is
}

// discoverOlder finds the authorization server as revision 2025-03-26 has it: the MCP server is
// one, perhaps without metadata.
func (c *Client) discoverOlder(ctx context.Context) (authority, error) {
	u, err := url.Parse(c.o.URL)
	if err != nil {
		return authority{}, fmt.Errorf("read the server's URL: %w", err)
	}
	base := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	if err := checkSecure(base); err != nil {
		return authority{}, err
	}
	meta, err := auth.GetAuthServerMetadata(ctx, base, c.o.HTTP)
	if err != nil {
		return authority{}, fmt.Errorf("read the metadata of the authorization server %s: %s", base, visible(err.Error()))
	}
	if meta == nil {
		meta = &oauthex.AuthServerMeta{
			Issuer: base, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token", RegistrationEndpoint: base + "/register",
			CodeChallengeMethodsSupported: []string{"S256"}, // which is sent, and the revision requires
		}
	}
	return authority{resource: c.o.URL, AuthServerMeta: meta}, c.check(meta)
}

// maxShown is how many characters are shown of what a server says.
const maxShown = 300

// visible returns what a server says as an operator reads it.
func visible(text string) string {
	text = strings.Join(strings.Fields(tools.Visible(text)), " ")
	if r := []rune(text); len(r) > maxShown {
		return string(r[:maxShown-1]) + "…"
	}
	return text
}
