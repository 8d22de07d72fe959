package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// maxURL is how many bytes a URL may have.
const maxURL = 4096

// What is wrong with a URL, in words for a model.
var (
	errLong     = fmt.Errorf("it is longer than %d bytes", maxURL)
	errNoURL    = errors.New("it is not a URL such as https://example.org/page")
	errScheme   = errors.New("only http and https are possible")
	errUserinfo = errors.New("a name or password in a URL is not sent; leave it out")
	errHost     = errors.New("its host is not one that can be asked")
	errPort     = errors.New("that port is not asked; the ports of the web are 80 and 443")
)

// Parse reads a URL that may be asked, and writes it in the one way in which it is judged,
// dialled and shown: its host in lower case, in ASCII, without a dot at its end. An error
// says what is wrong, without the URL.
func (g *Guard) Parse(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, errLong
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar }) {
		return nil, errNoURL
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errNoURL
	case u.Scheme == "":
		return nil, errNoURL
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errScheme
	case u.User != nil:
		return nil, errUserinfo
	}
	host, err := CanonicalHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if port != "" && !g.asksPort(port) {
		return nil, errPort
	}
	if u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		port = ""
	}
	u.Host = host
	if strings.Contains(host, ":") {
		u.Host = "[" + host + "]"
	}
	if port != "" {
		u.Host += ":" + port
	}
	u.Fragment, u.RawFragment = "", ""
	if len(u.String()) > maxURL { // written out, a character of the query may be three
		return nil, errLong
	}
	return u, nil
}

// asksPort reports whether there is an address at which a port may be asked.
func (g *Guard) asksPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	port := uint16(n)
	return err == nil && (slices.Contains(g.ports, port) ||
		slices.ContainsFunc(g.private, func(p private) bool { return slices.Contains(p.ports, port) }))
}

// CanonicalHost returns a host as it is judged and as the resolver gets it: in lower case, in
// ASCII, without a dot at its end, an address in its usual spelling.
func CanonicalHost(host string) (string, error) {
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", errHost
		}
		host = ascii
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return "", errHost
		}
		return a.Unmap().String(), nil
	}
	isName := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
	}
	if host == "" || strings.HasPrefix(host, ".") || strings.HasSuffix(host, ".") || strings.Contains(host, "..") || strings.ContainsFunc(host, func(r rune) bool { return !isName(r) }) {
		return "", errHost
	}
	return host, nil
}
