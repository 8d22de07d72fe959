package channels

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
)

// Proxy says over which proxy an address of a network is reached; nil: directly. A nil
// Proxy reaches every address directly. Its error holds no password.
type Proxy func(to *url.URL) (*url.URL, error)

// Direct stands for no proxy where the address of one is asked for.
const Direct = "direct"

var errProxy = errors.New("the address of a proxy is http://, https:// or socks5://[name:password@]host[:port] and nothing behind that; or the word " + Direct)

// ProxyAt returns the Proxy that reaches every address over the one at a given
// address, which is a secret for the password in it; nil when that is Direct or empty.
func ProxyAt(at Secret) (Proxy, error) {
	text := at.Reveal()
	if text == "" || text == Direct {
		return nil, nil // no proxy is a Proxy
	}
	u, err := url.Parse(text)
	if err != nil || !isProxy(u) {
		return nil, errProxy // err would quote the password
	}
	return func(*url.URL) (*url.URL, error) { return u, nil }, nil
}

// CheckProxy reports whether ProxyAt takes the address.
func CheckProxy(at Secret) error {
	_, err := ProxyAt(at)
	return err
}

func isProxy(u *url.URL) bool {
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) &&
		u.Hostname() != "" && (u.Port() == "" || err == nil && port > 0) &&
		(u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == "" && (u.User == nil || isCredential(u))
}

// isCredential reports whether a proxy can be given the name and the password of u.
// RFC 1929: with SOCKS each has 1 to 255 bytes; RFC 7617: a name holds no colon.
func isCredential(u *url.URL) bool {
	name := u.User.Username()
	pass, has := u.User.Password()
	if u.Scheme == "http" || u.Scheme == "https" {
		return name != "" && !slices.Contains([]byte(name), ':')
	}
	return has && len(name) > 0 && len(name) < 256 && len(pass) > 0 && len(pass) < 256
}
