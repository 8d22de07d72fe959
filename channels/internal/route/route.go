// Package route is the way from an adapter to its network: the connections that it
// makes, directly or over a proxy.
//
// HTTP requests go over a proxy as net/http sends them: those for https through a
// tunnel (CONNECT), those for http as requests to the proxy. What is no HTTP, and a
// WebSocket, always goes through a tunnel. An error of what goes over a proxy names
// the proxy, and never its password.
package route

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"parley/channels"
)

// Route makes the connections of one adapter. It may be used concurrently.
type Route struct {
	*http.Transport

	proxy channels.Proxy
}

// NoCredentials says why a proxy answered an HTTP request with status 407.
const NoCredentials = "the proxy wants another name and password than it was given"

// New returns a Route over p, which may be nil, that makes no connection yet.
func New(p channels.Proxy) *Route {
	r := &Route{proxy: p, Transport: &http.Transport{
		DialContext:         newDialer().DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 256, // as many chats as may be written to at once
		// Shorter than servers keep connections: a request on one that is
		// being closed may or may not have arrived.
		IdleConnTimeout: 30 * time.Second,
	}}
	r.Proxy = func(req *http.Request) (*url.URL, error) { return r.proxyFor(req.URL) }
	return r
}

// Over returns the transport of another client, if that has one, and r otherwise.
func (r *Route) Over(other *http.Client) http.RoundTripper {
	if other != nil && other.Transport != nil {
		return other.Transport
	}
	return r
}

func newDialer() *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
}

func (r *Route) proxyFor(to *url.URL) (*url.URL, error) {
	if r.proxy == nil {
		return nil, nil // as http.Transport.Proxy has it
	}
	return r.proxy(to)
}

// RoundTrip sends one request.
func (r *Route) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.Transport.RoundTrip(req)
	if err != nil {
		return nil, r.withProxyName(req.URL, err)
	}
	return resp, nil
}

// Dial connects to addr, host:port, which to says how to reach; its scheme is that of
// what will be spoken there (http, https, ws, wss). The end of ctx ends the dialling,
// not the connection.
func (r *Route) Dial(ctx context.Context, to *url.URL, network, addr string) (net.Conn, error) {
	as := *to
	switch as.Scheme {
	case "ws", "tcp":
		as.Scheme = "http"
	case "wss":
		as.Scheme = "https"
	}
	at, err := r.proxyFor(&as)
	var conn net.Conn
	switch {
	case err != nil:
	case at == nil:
		conn, err = newDialer().DialContext(ctx, network, addr)
	default:
		conn, err = dialTunnel(ctx, at, network, addr)
	}
	if err != nil {
		return nil, r.withProxyName(&as, err)
	}
	return conn, nil
}

// withProxyName says with an error over which proxy the way was.
func (r *Route) withProxyName(to *url.URL, err error) error {
	at, none := r.proxyFor(to)
	if none != nil || at == nil {
		return err
	}
	return fmt.Errorf("over the proxy %s://%s: %w", at.Scheme, at.Host, err)
}
