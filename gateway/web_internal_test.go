package gateway

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"parley/gateway/settings"
)

// An operator who set a proxy for the whole machine learns that one tool does not use it.
func TestWarnProxies(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		t.Setenv(name, "")
	}
	said := func(enabled bool) string {
		var b bytes.Buffer
		e := edition{cfg: settings.Config{}, log: slog.New(slog.NewTextHandler(&b, nil))}
		e.cfg.Web.Fetch.Enabled = enabled
		e.warnProxies()
		return b.String()
	}
	if got := said(true); got != "" {
		t.Errorf("without a proxy: %s", got)
	}
	t.Setenv("HTTPS_PROXY", "http://user:canary-words@proxy.example:3128")
	if got := said(true); !strings.Contains(got, "web_fetch connects directly") || !strings.Contains(got, "variable=HTTPS_PROXY") || strings.Contains(got, "canary") {
		t.Errorf("got %s", got)
	}
	if got := said(false); got != "" {
		t.Errorf("without the tool: %s", got)
	}
}
