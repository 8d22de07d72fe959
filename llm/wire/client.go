package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"parley/llm"
	"parley/transcript"
)

// Setup says which model a Client speaks to, and how. An adapter's own options explain
// the fields.
type Setup struct {
	Provider string
	Model    string
	APIKey   string
	BaseURL  string
	Headers  map[string]string

	HTTPClient *http.Client

	FirstByteTimeout time.Duration
	IdleTimeout      time.Duration
	TotalTimeout     time.Duration

	Info llm.Info // the catalogue's when Window is 0
}

// Client is a model at a provider apart from the protocol. It is safe for concurrent use.
type Client struct {
	header http.Header // of every request

	setup    Setup
	info     llm.Info
	endpoint string

	// What requests share is written once.
	tools    *toolLists
	prefixes *Prefixes
}

// NewClient checks s and returns the client, which posts to method below the base URL
// with these headers, and those that s has. It makes no request.
func NewClient(s Setup, method string, header http.Header) (Client, error) {
	for _, required := range []struct{ name, value string }{{"provider", s.Provider}, {"model", s.Model}} {
		if required.value == "" {
			return Client{}, fmt.Errorf("%s: required", required.name) // the text is all there is
		}
	}
	endpoint, err := llm.Endpoint(s.BaseURL, method)
	if err != nil {
		return Client{}, fmt.Errorf("base url: %w", err)
	}
	if s.Info.Window == 0 {
		s.Info = llm.Lookup(s.Model)
	}
	for name, value := range s.Headers {
		header.Set(name, value)
	}
	return Client{setup: s, info: s.Info, endpoint: endpoint, header: header, tools: &toolLists{}, prefixes: newPrefixes()}, nil
}

// ErrNoKey says that a setup lacks the key that its provider asks for.
var ErrNoKey = errors.New("api key: required")

// Provider is the operator's name for the provider.
func (c *Client) Provider() string { return c.setup.Provider }

// Name is the model's name as the provider knows it.
func (c *Client) Name() string { return c.setup.Model }

// Info is what the model can take and give.
func (c *Client) Info() llm.Info { return c.info }

// MaxTokens is what r asks for, but no more than the model gives.
func (c *Client) MaxTokens(r llm.Request) int {
	switch {
	case r.MaxTokens <= 0:
		return c.info.MaxOutput
	case c.info.MaxOutput > 0:
		return min(r.MaxTokens, c.info.MaxOutput)
	default:
		return r.MaxTokens
	}
}

// NativeBlocks returns what the provider really said in h, and false if that was another
// provider or model.
func (c *Client) NativeBlocks(h transcript.Message) ([]json.RawMessage, bool) {
	if n := h.Native; n != nil && n.Provider == c.setup.Provider && n.Model == c.setup.Model {
		return n.Blocks, true
	}
	return nil, false
}

// Begin starts an exchange of this client.
func (c *Client) Begin(ctx context.Context) *Exchange {
	s := c.setup
	secrets := []string{s.APIKey}
	for _, value := range s.Headers {
		secrets = append(secrets, value)
	}
	return Begin(ctx, s.HTTPClient, Limits{FirstByte: s.FirstByteTimeout, Idle: s.IdleTimeout, Total: s.TotalTimeout}, secrets...)
}

// Prefixes keeps the beginnings of requests to this model.
func (c *Client) Prefixes() *Prefixes { return c.prefixes }

// Post posts a body in an exchange of this client, as [Exchange.Post] does.
func (c *Client) Post(x *Exchange, pieces ...[]byte) error {
	return x.Post(c.endpoint, c.header, pieces...)
}

// Fetch posts a body of another type in an exchange of this client, as [Exchange.Fetch]
// does.
func (c *Client) Fetch(x *Exchange, contentType string, body []byte) ([]byte, error) {
	header := c.header.Clone()
	header.Set("Content-Type", contentType)
	return x.Fetch(c.endpoint, header, body)
}
