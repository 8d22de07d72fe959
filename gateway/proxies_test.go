package gateway

import (
	"net/url"
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/redaction"
	"parley/gateway/settings"
	"parley/sessionkeys"
)

// withProxies is a configuration with a bot on each network that has a proxy.
func withProxies(t *testing.T, proxy string) settings.Config {
	t.Helper()
	return settings.Config{
		StateDir: t.TempDir(),
		Channels: settings.ChannelsConfig{
			Telegram: map[string]settings.TelegramConfig{"tg": {Token: settings.NewSecret("123456:canary-canary-canary-canary-canary-"), APIURL: "http://telegram.invalid", Proxy: settings.NewSecret(proxy)}},
			Slack: map[string]settings.SlackConfig{"sl": {
				BotToken: settings.NewSecret("xoxb-1-canary"), AppToken: settings.NewSecret("xapp-1-canary"), APIURL: "http://slack.invalid/api", Proxy: settings.NewSecret(proxy),
			}},
		},
		Providers: map[string]settings.ProviderConfig{"anthropic": {APIKey: settings.NewSecret("canary-key-0007")}},
		Agents:    map[string]settings.AgentConfig{"main": {Model: "anthropic/m"}},
	}
}

var places = map[string]sessionkeys.Address{
	"tg": {Channel: "telegram", Account: "123456", Kind: sessionkeys.DM, Peer: "1"},
	"sl": {Channel: "slack", Account: "T0X", Kind: sessionkeys.DM, Peer: "D0X"},
}

// firstday A3: the environment's proxy and the configured one are those of the
// adapters. Nothing listens at the addresses, so that the error names the one.
func TestAChannelGoesOverTheProxyThatIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ environment, configured, want string }{
		"environment":      {"http://ann:pass-canary@127.0.0.1:1", "", "over the proxy http://127.0.0.1:1: "},
		"without a scheme": {"ann:pass-canary@127.0.0.1:1", "", "over the proxy http://127.0.0.1:1: "},
		"configuration":    {"http://127.0.0.1:1", "socks5://ann:pass-canary@127.0.0.1:2", "over the proxy socks5://127.0.0.1:2: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HTTP_PROXY", c.environment)
			t.Setenv("http_proxy", "")
			g, err := New(withProxies(t, c.configured), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, ch := range g.accounts.chans {
				_, err := ch.Send(t.Context(), channels.Reply{To: places[ch.Name()], Body: channels.Body{Text: "hi"}})
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
					t.Errorf("%s gave %v, want an error with %q", ch.Name(), err, c.want)
				}
			}
			if got := g.redactor.Clean("pass-canary"); got != redaction.Mark {
				t.Errorf("the redactor does not know the proxy's password: %q", got)
			}
		})
	}
}

// firstday A3.
func TestEnvironmentProxy(t *testing.T) {
	for _, v := range []string{"https_proxy", "http_proxy", "no_proxy", "HTTP_PROXY"} {
		t.Setenv(v, "")
	}
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	t.Setenv("NO_PROXY", ".example.org")
	p, err := environmentProxy()
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]string{
		"https://slack.com/api": "http://proxy.example:3128", "http://slack.com/api": "", "https://bots.example.org": "", "https://127.0.0.1:8081": "", "https://localhost": "",
	} {
		u, _ := url.Parse(to)
		got := ""
		at, err := p(u)
		if err != nil {
			t.Fatal(err)
		}
		if at != nil {
			got = at.String()
		}
		if got != want {
			t.Errorf("%s goes over %q, want %q", to, got, want)
		}
	}
	t.Setenv("HTTPS_PROXY", "http://ann:canary@proxy:port")
	_, err = New(withProxies(t, ""), Options{})
	if err == nil || !strings.Contains(err.Error(), "HTTPS_PROXY of the environment: the address of a proxy is") || strings.Contains(err.Error(), "canary") {
		t.Errorf("New gave %v for a proxy of the environment that is no address", err)
	}
	if _, err = New(withProxies(t, "direct"), Options{}); err != nil {
		t.Errorf("New gave %v where no channel goes over it", err)
	}
}
