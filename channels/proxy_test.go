package channels_test

import (
	"net/url"
	"strings"
	"testing"

	"parley/channels"
)

// firstday A3.
func TestProxyAt(t *testing.T) {
	t.Parallel()
	for _, none := range []string{"", channels.Direct} {
		if p, err := channels.ProxyAt(channels.NewSecret(none)); p != nil || err != nil {
			t.Errorf("%q gave a proxy, %v", none, err)
		}
	}
	for _, good := range []string{
		"http://proxy.example", "http://proxy.example:3128/", "https://ann:pass%40word@proxy.example:443", "socks5://127.0.0.1:9050",
		"socks5h://ann:pass-word@[::1]:9050", "http://token@proxy.example",
	} {
		p, err := channels.ProxyAt(channels.NewSecret(good))
		if err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		if at, err := p(&url.URL{Scheme: "https", Host: "127.0.0.1"}); err != nil || at.String() != good {
			t.Errorf("%s became %v, %v", good, at, err)
		}
	}
	for _, bad := range []string{
		"canary", "proxy.canary:3128", "ftp://canary", "http://", "http://canary/path", "http://canary?x=1", "http://canary#x", "http://canary:0", "http://canary:65536",
		"http://canary:x", "http://:canary@h", "socks4://canary", "socks5://canary@h", "socks5://ann:@canary", "socks5://ann:" + strings.Repeat("canary", 50) + "@h", "http://an%3An:canary@h",
		"http://canary canary", "http://%zz:canary@h", "none",
	} {
		if p, err := channels.ProxyAt(channels.NewSecret(bad)); err == nil || p != nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s gave %v", bad, err)
		}
	}
}
