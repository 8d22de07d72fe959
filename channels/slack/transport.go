package slack

import (
	"net/http"
	"net/url"
	"strings"

	"parley/channels"
	"parley/channels/internal/exchange"
)

// placeholder stands where the transport puts a token.
const placeholder = "_"

// openMethod is the one call that takes the app's token.
const openMethod = "apps.connections.open"

// tokenTransport puts the tokens into a copy of each request, and takes them out
// of whatever comes back. The one who asked never sees them. slack-go sends the
// token in the form of a request; here it is in the header, which proxies do not
// log.
type tokenTransport struct {
	exchange.Base
	bot, app channels.Secret
	secrets  *strings.Replacer
}

func newTokenTransport(o Options, base http.RoundTripper) *tokenTransport {
	var pairs []string
	for _, s := range []channels.Secret{o.BotToken, o.AppToken, o.SigningSecret} {
		if !s.IsZero() {
			pairs = append(pairs, s.Reveal(), s.String())
		}
	}
	return &tokenTransport{Base: exchange.Base{RoundTripper: base}, bot: o.BotToken, app: o.AppToken, secrets: strings.NewReplacer(pairs...)}
}

func (t *tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	token := t.bot
	if strings.HasSuffix(req.URL.Path, "/"+openMethod) {
		token = t.app
	}
	r := req.Clone(req.Context())
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	resp, err := t.Base.RoundTrip(r)
	if err != nil {
		return nil, exchange.CleanError(err, t.clean)
	}
	resp.Request = req
	return resp, nil
}

func (t *tokenTransport) clean(b []byte) []byte { return []byte(t.secrets.Replace(string(b))) }

// apiClient sends requests; bare sends them without a token.
type apiClient struct {
	*exchange.Poster
	bare *http.Client
}

func newAPIClient(o Options, base http.RoundTripper) apiClient {
	t := newTokenTransport(o, base)
	return apiClient{
		&exchange.Poster{Client: exchange.Stay(t), Clean: t.clean, Prepare: withoutToken, Most: o.MaxAnswer},
		exchange.Stay(base),
	}
}

// withoutToken takes the token that the library put into a form out of it.
func withoutToken(req *http.Request, content []byte) ([]byte, error) {
	if req.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		return content, nil
	}
	values, err := url.ParseQuery(string(content))
	if err != nil {
		return nil, err
	}
	values.Del("token")
	return []byte(values.Encode()), nil
}
