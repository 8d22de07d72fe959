package tracing

import (
	"cmp"
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"parley/channels"
	"parley/problems"
)

// Config says where traces go. The zero value makes none.
type Config struct {
	// Endpoint is the address of a server that takes OTLP over HTTP, such as
	// http://127.0.0.1:4318; where its path does not end in /v1/traces, that is added.
	// Empty: there are no traces.
	Endpoint string `yaml:"endpoint"`
	// Headers go with every request: a key that the server wants.
	Headers map[string]channels.Secret `yaml:"headers"`
	// Sampling is the share of the messages that are traced: above 0, at most 1. Default 1.
	Sampling float64 `yaml:"sampling"`
	// Service is what the traces call this gateway (service.name). Default parley.
	Service string `yaml:"service"`
}

// tracesPath is the path of OTLP over HTTP to which traces are sent.
const tracesPath = "/v1/traces"

// Defaults fills in what is not said.
func (c Config) Defaults() Config {
	c.Sampling = cmp.Or(c.Sampling, 1)
	c.Service = cmp.Or(c.Service, "parley")
	return c
}

// Enabled reports whether there are traces.
func (c Config) Enabled() bool { return c.Endpoint != "" }

// Validate reports what is wrong with c, which has its defaults.
func (c Config) Validate() error {
	var ps problems.List
	if c.Enabled() {
		_, err := c.url()
		ps.Check("endpoint", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		path := "headers." + name
		value := c.Headers[name].Reveal()
		switch canonical := textproto.CanonicalMIMEHeaderKey(name); {
		case !httpguts.ValidHeaderFieldName(name):
			ps.Add(path, "that is no name of a header")
		case slices.Contains(ownHeaders, canonical):
			ps.Add(path, "parley sets this header itself; leave it out")
		case value == "":
			ps.Add(path, "%w: the value of the header", problems.ErrRequired)
		case !httpguts.ValidHeaderFieldValue(value):
			ps.Add(path, "the value holds what no header may, such as a line break")
		}
	}
	if !(c.Sampling > 0 && c.Sampling <= 1) { // nor what is no number
		ps.Add("sampling", "%v is not a share of the messages: above 0, at most 1", c.Sampling)
	}
	return ps.Err()
}

// ownHeaders are set by the exporter or the HTTP client.
var ownHeaders = []string{"Content-Type", "Content-Length", "Content-Encoding", "Host", "User-Agent", "Transfer-Encoding", "Connection"}

// url returns where traces are sent.
func (c Config) url() (*url.URL, error) {
	u, err := url.Parse(c.Endpoint)
	switch {
	case err != nil:
		return nil, fmt.Errorf("that is no URL, such as http://127.0.0.1:4318") // without what was written, which may hold a key
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the address begins with http:// or https://, such as http://127.0.0.1:4318") // the same
	case u.Hostname() == "":
		return nil, fmt.Errorf("the address names no host, such as http://127.0.0.1:4318") // the same
	case u.User != nil:
		return nil, fmt.Errorf("name and password do not belong into the address; put what the server wants under headers") // the same
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the address ends with its path; put a key that the server wants under headers") // the same
	}
	if !strings.HasSuffix(u.Path, tracesPath) {
		u = u.JoinPath(tracesPath)
	}
	return u, nil
}

// Warnings returns what c allows and its author may not mean, each with its path. isLoopback
// reports whether a host is this machine.
func (c Config) Warnings(isLoopback func(host string) bool) (ws problems.List) {
	u, err := c.url()
	if !c.Enabled() || err != nil {
		if len(c.Headers) > 0 || c.Sampling != 0 && c.Sampling != 1 {
			ws.Add("endpoint", "without an endpoint there are no traces, and what else stands under tracing has no effect")
		}
		return ws
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		ws.Add("endpoint", "by http whoever is on the way to %s reads the traces and the headers; use https, or a collector on this machine", u.Host)
	}
	if u.Port() == "4317" {
		ws.Add("endpoint", "4317 is the port of OTLP over gRPC, which parley does not speak; servers take OTLP over HTTP on 4318")
	}
	return ws
}
