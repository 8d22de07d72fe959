package guard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Limits of one request.
const (
	maxRedirects = 5
	maxHeader    = 64 << 10 // bytes of the headers of an answer
)

// Reasons why a redirect is not followed. What a redirect leads to is not in them: the
// server chose it.
var (
	ErrRedirects = fmt.Errorf("it redirects more than %d times", maxRedirects)
	ErrRedirect  = errors.New("it redirects to what may not be asked")
	errMethod    = errors.New("only GET is sent again elsewhere")
)

// kept are the headers that follow a redirect to another origin: none that says who asks.
var kept = map[string]bool{"Accept": true, "Accept-Language": true, "User-Agent": true}

// Client returns a client that connects by g. It uses no proxy, because a proxy connects in
// place of g and nothing would check where to; it keeps no cookies and no connections. It
// follows redirects of GET and HEAD, each of which Parse and permit accept; a nil permit
// accepts all. An origin to which the first request did not go gets none of its headers
// that say who asks, and no origin learns which URL led to it.
//
// The caller bounds the time, by the context, and what is read of the body.
func (g *Guard) Client(permit func(*url.URL) error) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Client{
		Transport: &http.Transport{
			Proxy: nil, DialContext: g.Dial, DisableKeepAlives: true,
			MaxResponseHeaderBytes: maxHeader, Protocols: protocols,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error { return g.checkRedirect(r, via, permit) },
	}
}

// checkRedirect decides on the next request, and takes out of it what does not go there.
func (g *Guard) checkRedirect(next *http.Request, via []*http.Request, permit func(*url.URL) error) error {
	if len(via) > maxRedirects {
		return ErrRedirects
	}
	if next.Method != http.MethodGet && next.Method != http.MethodHead {
		return fmt.Errorf("%w: %w", ErrRedirect, errMethod)
	}
	u, err := g.Parse(next.URL.String())
	if err == nil && permit != nil {
		err = permit(u)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRedirect, err)
	}
	next.URL, next.Host = u, ""
	next.Header.Del("Referer")
	for _, r := range append(via[1:len(via):len(via)], next) {
		if r.URL.Scheme != via[0].URL.Scheme || r.URL.Host != via[0].URL.Host {
			for name := range next.Header {
				if !kept[name] {
					next.Header.Del(name)
				}
			}
		}
	}
	return nil
}
