// Package listeners is what a gateway listens with: HTTP on addresses of the network, and
// a Unix socket that only its own user and root may use.
package listeners

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/net/netutil"
)

// MaxConnections is how many connections a listener of this process has at once; who
// comes when they are used up waits. One that asks nothing is closed by the timeouts
// of its server, so that it cannot use up the descriptors that everything else needs.
const MaxConnections = 256

// endGrace is what requests under way are given when a listener ends.
const endGrace = 2 * time.Second

var errAddress = errors.New("an address is host:port, or :port for every interface, and a port 0 (any) to 65535")

// CheckAddress reports whether one can listen at s, as far as its text tells.
func CheckAddress(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return errAddress
	}
	return nil
}

var errURL = errors.New("an address in browsers is http:// or https:// with a host, and nothing behind it")

// CheckURL reports whether s is the address of a whole host in browsers, as far as its text tells.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return errURL
	}
	return nil
}

// IsLoopback reports whether only this machine reaches an address, host:port. A name may be
// anybody's, but for localhost.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// Serve answers requests on l, on MaxConnections at once, until ctx ends, and lets
// those under way end for two seconds more; then nil is returned. With a TLSConfig it
// speaks TLS. A listener that fails is an error.
func Serve(ctx context.Context, srv *http.Server, l net.Listener) error {
	l = netutil.LimitListener(l, MaxConnections)
	ended := make(chan error, 1)
	go func() {
		if srv.TLSConfig != nil {
			ended <- srv.ServeTLS(l, "", "")
			return
		}
		ended <- srv.Serve(l)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		_ = srv.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
