// Package oauth logs parley in at MCP servers that ask for it, as the protocol's authorization says.
//
//	request ── Client ── grant ── a file in the folder of logins
//	              └ login ── discovery ── authorization server
//
// An operator logs in once ([Client.Begin], [Client.Finish]); the grant that comes of it is a file.
// [Client] is what the protocol's library asks for a token before each request, and what it tells
// when a server refuses one. Metadata, registration and tokens are fetched by that library's oauthex
// and by golang.org/x/oauth2; what is decided about them is decided here. See docs/decisions/0104.
package oauth

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"parley/problems"
	"parley/tools"
)

// Config is what an operator says of how parley logs in at a server. Without anything it is asked
// of the server, and parley registers itself.
type Config struct {
	// Grant is AuthorizationCode, the default: a person logs in; or ClientCredentials: parley does.
	Grant Grant `yaml:"grant"`
	// ClientID is what parley was registered as at the Issuer.
	ClientID string `yaml:"client_id"`
	// ClientSecretFile holds the secret of ClientID.
	ClientSecretFile string `yaml:"client_secret_file"`
	// KeyFile holds, as PEM, the private key by which ClientID proves who it is: RSA, P-256 or Ed25519.
	KeyFile string `yaml:"key_file"`
	// Issuer is the authorization server that is asked, and no other. Required with a secret or a key.
	Issuer string `yaml:"issuer"`
	// ClientMetadata is the URL of a client ID metadata document of the operator's.
	ClientMetadata string `yaml:"client_metadata"`
	// Redirect is where the browser is led at the end, if that is registered; empty: a port of this
	// machine that is free then.
	Redirect string `yaml:"redirect"`
	// Scopes are asked for in place of those that the server names.
	Scopes []string `yaml:"scopes"`
}

// Grant describes who logs in.
type Grant string

// Grants.
const (
	AuthorizationCode Grant = "authorization_code"
	ClientCredentials Grant = "client_credentials"
)

// IsZero reports whether the operator says nothing.
func (c Config) IsZero() bool {
	return c.Grant == "" && c.ClientID == "" && c.ClientSecretFile == "" && c.KeyFile == "" && c.Issuer == "" && c.ClientMetadata == "" && c.Redirect == "" && len(c.Scopes) == 0
}

// ByItself reports whether parley logs in without a person.
func (c Config) ByItself() bool { return c.Grant == ClientCredentials }

// Files returns the paths of files that hold secrets.
func (c Config) Files() []string {
	return slices.DeleteFunc([]string{c.ClientSecretFile, c.KeyFile}, func(path string) bool { return path == "" })
}

// Validate reports every mistake, with its path below at. It opens no file.
func (c Config) Validate(ps *problems.List, at string) {
	switch {
	case !slices.Contains([]Grant{"", AuthorizationCode, ClientCredentials}, c.Grant):
		ps.Add(at+".grant", "%q is none of %s, %s%s", c.Grant, AuthorizationCode, ClientCredentials,
			tools.Suggest(string(c.Grant), []string{string(AuthorizationCode), string(ClientCredentials)}))
	case c.ByItself() && c.ClientID == "":
		ps.Add(at+".client_id", "%w: what parley was registered as", problems.ErrRequired)
	case c.ByItself() && len(c.Files()) == 0:
		ps.Add(at+".client_secret_file", "%w: the file of the client's secret; or key_file, that of its private key", problems.ErrRequired)
	case c.ByItself() && c.ClientMetadata+c.Redirect != "":
		ps.Add(at+".grant", "with client_credentials no person logs in, so client_metadata and redirect have no effect: remove them")
	case !c.ByItself() && c.KeyFile != "":
		ps.Add(at+".key_file", "is for grant: client_credentials")
	}
	switch {
	case c.ClientSecretFile != "" && c.KeyFile != "":
		ps.Add(at+".key_file", "not together with client_secret_file")
	case c.ClientID == "" && c.ClientSecretFile != "":
		ps.Add(at+".client_id", "%w: whose secret it is", problems.ErrRequired)
	case c.ClientID != "" && c.ClientMetadata != "":
		ps.Add(at+".client_metadata", "not together with client_id")
	case c.Issuer == "" && len(c.Files()) > 0:
		ps.Add(at+".issuer", "%w: the authorization server that may see the secret; its metadata says it as issuer", problems.ErrRequired)
	}
	if c.Issuer != "" {
		ps.Check(at+".issuer", checkSecure(c.Issuer))
	}
	if u, err := url.Parse(c.ClientMetadata); c.ClientMetadata != "" && (err != nil || u.Scheme != "https" || strings.Trim(u.Path, "/") == "") {
		ps.Add(at+".client_metadata", "%q is not https with a path", c.ClientMetadata)
	}
	if c.Redirect != "" {
		ps.Check(at+".redirect", checkRedirect(c.Redirect))
	}
	for i, s := range c.Scopes {
		if !isScope(s) {
			ps.Add(fmt.Sprintf("%s.scopes[%d]", at, i), "%q: a scope is visible ASCII without spaces, quotes and backslashes", s)
		}
	}
	for key, path := range map[string]string{"client_secret_file": c.ClientSecretFile, "key_file": c.KeyFile} {
		if path != "" && !filepath.IsAbs(path) {
			ps.Add(at+"."+key, "%s is not an absolute path", path)
		}
	}
}

// checkRedirect reports what is wrong with where a browser is led at the end of a login.
func checkRedirect(redirect string) error {
	u, err := url.Parse(redirect)
	switch {
	case err != nil || u.Host == "" || u.Path == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil: // browsers put a path there
		return fmt.Errorf("%q is not a URL of a scheme, a host and a path, which may be /", redirect)
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u) && u.Port() != "":
		return nil
	}
	return fmt.Errorf("%q is neither https nor http://127.0.0.1 with a port", redirect)
}

// checkSecure reports a URL that secrets may not go to.
func checkSecure(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return fmt.Errorf("%q is not the URL of a server", text)
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u):
		return nil
	}
	return fmt.Errorf("%q is not https", text)
}

func isLoopback(u *url.URL) bool {
	return slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname())
}

// isScope reports whether s is a scope-token of RFC 6749, appendix A.4.
func isScope(s string) bool {
	return s != "" && len(s) <= 256 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// scopesIn returns the scopes of a text that a server gave.
func scopesIn(text string) (all []string) {
	for s := range strings.FieldsSeq(text) {
		if isScope(s) && len(all) < 100 {
			all = append(all, s)
		}
	}
	return all
}

// union returns scopes of several lists, each once, in order.
func union(lists ...[]string) (all []string) {
	for _, list := range lists {
		for _, s := range list {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}
