package gateway

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"parley/channels"
	"parley/gateway/settings"
)

// proxyVariable is one variable of the environment that names a proxy.
type proxyVariable struct{ name, address string }

// environmentProxies returns the variables that name one, with what they say as a URL.
func environmentProxies() (all []proxyVariable) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		address := cmp.Or(os.Getenv(strings.ToLower(name)), os.Getenv(name)) // the order of httpproxy
		if address == "" {
			continue
		}
		if !strings.Contains(address, "://") {
			address = "http://" + address
		}
		all = append(all, proxyVariable{name, address})
	}
	return all
}

// environmentProxy returns the Proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name;
// nothing on this machine is reached over it. httpproxy passes over an address that it
// cannot read, and what was meant for a proxy would go directly: that is an error.
func environmentProxy() (channels.Proxy, error) {
	for _, v := range environmentProxies() {
		if err := channels.CheckProxy(settings.NewSecret(v.address)); err != nil {
			return nil, fmt.Errorf("%s of the environment: %w", v.name, err)
		}
	}
	return httpproxy.FromEnvironment().ProxyFunc(), nil
}

// proxyTo returns the way of an account to its network: as its configuration says, or as
// the environment does.
func proxyTo(configured settings.Secret) (channels.Proxy, error) {
	if configured.IsZero() {
		return environmentProxy()
	}
	return channels.ProxyAt(configured)
}
