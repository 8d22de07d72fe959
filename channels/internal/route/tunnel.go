package route

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"golang.org/x/net/proxy"
)

// dialTunnel connects to addr through a proxy.
func dialTunnel(ctx context.Context, at *url.URL, network, addr string) (net.Conn, error) {
	if at.Scheme == "socks5" || at.Scheme == "socks5h" {
		return dialSOCKS(ctx, at, network, addr)
	}
	conn, err := newDialer().DialContext(ctx, "tcp", hostPort(at))
	if err != nil {
		return nil, err // it says what was dialled
	}
	hasEnded := context.AfterFunc(ctx, func() { _ = conn.Close() })
	through, err := requestTunnel(ctx, conn, at, addr)
	if !hasEnded() {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return through, nil
}

// requestTunnel asks the proxy at the other end of conn for a tunnel (RFC 9110, 9.3.6).
func requestTunnel(ctx context.Context, conn net.Conn, at *url.URL, addr string) (net.Conn, error) {
	if at.Scheme == "https" {
		secured := tls.Client(conn, &tls.Config{ServerName: at.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		conn = secured
	}
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if u := at.User; u != nil {
		pass, _ := u.Password()
		ask.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+pass)))
	}
	if err := ask.Write(conn); err != nil {
		return nil, fmt.Errorf("ask for a tunnel: %w", err)
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, ask)
	if err != nil {
		return nil, fmt.Errorf("ask for a tunnel: %w", err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the proxy makes no tunnel: %s", resp.Status)
	}
	return &tunnelConn{Conn: conn, in: in}, nil
}

// tunnelConn is a connection through a proxy, of which a little may have been read.
type tunnelConn struct {
	net.Conn

	in *bufio.Reader
}

func (t *tunnelConn) Read(p []byte) (int, error) { return t.in.Read(p) }

// dialSOCKS connects to addr by SOCKS 5; the proxy looks up the name in addr.
func dialSOCKS(ctx context.Context, at *url.URL, network, addr string) (net.Conn, error) {
	var auth *proxy.Auth
	if u := at.User; u != nil {
		pass, _ := u.Password()
		auth = &proxy.Auth{User: u.Username(), Password: pass}
	}
	d, err := proxy.SOCKS5("tcp", hostPort(at), auth, newDialer())
	if err != nil {
		return nil, err // it is SOCKS that says so
	}
	by, ok := d.(proxy.ContextDialer)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return by.DialContext(ctx, network, addr) // it is SOCKS that says so
}

// hostPort returns where a proxy listens, by its scheme where it does not say.
func hostPort(at *url.URL) string {
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[at.Scheme]
	}
	if port == "" {
		port = "1080"
	}
	return net.JoinHostPort(at.Hostname(), port)
}
