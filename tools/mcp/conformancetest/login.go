package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"parley/tools/mcp"
	"parley/tools/mcp/oauth"
)

// metadataDocument is the client ID metadata document that the suite knows.
const metadataDocument = "https://conformance-test.local/client-metadata.json"

// maxLogins is how often the operator logs in, however often the server wants it.
const maxLogins = 3

// operator logs in as an operator with a browser would: the suite's authorization servers ask
// nobody, and lead back at once.
type operator struct {
	host   *mcp.Host
	logins int
}

// logIn logs in at the only server.
func (o *operator) logIn(ctx context.Context) error {
	if o.logins++; o.logins > maxLogins {
		return fmt.Errorf("the server wants more than %d logins", maxLogins)
	}
	started, err := o.host.BeginLogin(ctx, "suite", "http://127.0.0.1:3000/callback")
	if err != nil {
		return err // it says what failed
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, started.URL, nil)
	if err != nil {
		return fmt.Errorf("open %s: %w", started.URL, err)
	}
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := browser.Do(r)
	if err != nil {
		return fmt.Errorf("open %s: %w", started.URL, err)
	}
	if err := res.Body.Close(); err != nil {
		return fmt.Errorf("open %s: %w", started.URL, err)
	}
	return o.host.FinishLogin(ctx, "suite", res.Header.Get("Location")) // as above
}

// client is what the suite says of a client that is registered already.
type client struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
	Key    string `json:"private_key_pem"`
}

// loginConfig returns how parley logs in at the suite's server. Secrets are put into files of dir.
func loginConfig(ctx context.Context, server *url.URL, dir string) (c oauth.Config, err error) {
	var known client
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &known); err != nil {
			return c, fmt.Errorf("read MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	if known.ID == "" {
		return oauth.Config{ClientMetadata: metadataDocument}, nil
	}
	c.ClientID = known.ID
	if c.Issuer, err = issuerOf(ctx, server); err != nil {
		return c, err
	}
	if scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO"); scenario == "auth/client-credentials-basic" || scenario == "auth/client-credentials-jwt" {
		c.Grant = oauth.ClientCredentials
	}
	for _, f := range []struct {
		text, name string
		path       *string
	}{{known.Secret, "secret", &c.ClientSecretFile}, {known.Key, "key", &c.KeyFile}} {
		if f.text == "" {
			continue
		}
		*f.path = filepath.Join(dir, f.name)
		if err := os.WriteFile(*f.path, []byte(f.text), 0o600); err != nil {
			return c, fmt.Errorf("write the client's %s: %w", f.name, err)
		}
	}
	return c, nil
}

// issuerOf returns what an operator would know who registered a client: at whom.
func issuerOf(ctx context.Context, server *url.URL) (string, error) {
	for _, path := range []string{"/.well-known/oauth-protected-resource" + server.Path, "/.well-known/oauth-protected-resource"} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.Scheme+"://"+server.Host+path, nil)
		if err != nil {
			return "", fmt.Errorf("ask for the metadata: %w", err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", fmt.Errorf("ask for the metadata: %w", err)
		}
		var said struct {
			Servers []string `json:"authorization_servers"`
		}
		err = json.NewDecoder(res.Body).Decode(&said)
		if err = errors.Join(err, res.Body.Close()); err == nil && res.StatusCode == http.StatusOK && len(said.Servers) > 0 {
			return said.Servers[0], nil
		}
	}
	return "", errors.New("the suite's server has no metadata")
}
