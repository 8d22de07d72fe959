package gatewaytest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sync/atomic"
	"testing"

	"parley/channels/slack"
	"parley/channels/telegram"
	"parley/gateway/settings"
	"parley/gateway/webhooks"
)

// WebhookProxy is the proxy before an environment in webhook mode. It stays where it is while
// one gateway follows another, and answers 502 while none runs.
type WebhookProxy struct {
	server *httptest.Server
	behind atomic.Pointer[string] // host:port
	path   atomic.Pointer[string] // of the last request
}

func newWebhookProxy(t testing.TB) *WebhookProxy {
	t.Helper()
	f := &WebhookProxy{}
	tr := &http.Transport{}
	proxy := &httputil.ReverseProxy{
		Transport: tr, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", *f.behind.Load()
		},
	}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.path.Store(&r.URL.Path)
		if f.behind.Load() == nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		f.server.Close()
		tr.CloseIdleConnections()
	})
	return f
}

// configure puts c into webhook mode.
func (f *WebhookProxy) configure(c *settings.Config) {
	for name, tg := range c.Channels.Telegram {
		tg.Webhook = telegram.Webhook{URL: f.server.URL + "/behind"}
		c.Channels.Telegram[name] = tg
	}
	for name, sl := range c.Channels.Slack {
		sl.Mode, sl.AppToken = slack.Events, settings.NewSecret("")
		c.Channels.Slack[name] = sl
	}
	c.Webhooks = webhooks.Config{Listen: "127.0.0.1:0"}
}

// URL returns where the last request from outside went, or just the front's address
// before any came.
func (f *WebhookProxy) URL() string {
	if p := f.path.Load(); p != nil {
		return f.server.URL + *p
	}
	return f.server.URL
}
