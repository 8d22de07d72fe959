package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"parley/llm"
	"parley/llm/wire"
)

// base is a model apart from its protocol.
type base struct {
	o        Options
	info     llm.Info
	limits   wire.Limits
	isOpenAI bool // at OpenAI itself
	endpoint string
	header   http.Header
}

// newBase checks o. method is what the protocol adds to the base URL.
func newBase(o Options, method string) (base, error) {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	own := strings.TrimRight(o.BaseURL, "/") == strings.TrimRight(DefaultBaseURL, "/")
	if own {
		o.PromptCacheKey = true
	}
	for _, required := range []struct{ name, value string }{
		{"provider", o.Provider}, {"model", o.Model},
	} {
		if required.value == "" {
			return base{}, fmt.Errorf("openai model: %s: required", required.name)
		}
	}
	if own && o.APIKey == "" {
		return base{}, fmt.Errorf("openai model: api key: required")
	}
	endpoint, err := llm.Endpoint(o.BaseURL, method)
	if err != nil {
		return base{}, fmt.Errorf("openai model: base url: %w", err)
	}
	b := base{
		o: o, info: o.Info, isOpenAI: own, endpoint: endpoint, header: http.Header{},
		limits: wire.Limits{FirstByte: o.FirstByteTimeout, Idle: o.IdleTimeout, Total: o.TotalTimeout},
	}
	if b.info.Window == 0 {
		b.info = llm.Lookup(o.Model)
	}
	if o.APIKey != "" {
		b.header.Set("Authorization", "Bearer "+o.APIKey)
	}
	for name, value := range o.Headers {
		b.header.Set(name, value)
	}
	return b, nil
}

// Provider is the operator's name for the provider.
func (b *base) Provider() string { return b.o.Provider }

// Name is the model's name as the provider knows it.
func (b *base) Name() string { return b.o.Model }

// pictureDetail bounds what a picture costs: "high" is scaled down to about 3,000
// tokens, while "auto" takes a telephone's photo as it is, at 14,000.
const pictureDetail = "high"

// Info is what the model can take and give.
func (b *base) Info() llm.Info { return b.info }

// tier is the service tier to ask for. A request at OpenAI that names none is
// served in the tier that the project is set to, which may cost a multiple of
// the standard one, while the budget reserves standard prices before the call.
// Other servers do not all know the field, and are not asked.
func (b *base) tier() string {
	if b.isOpenAI {
		return "default"
	}
	return ""
}

// maxTokens is what r asks for, but no more than the model gives.
func (b *base) maxTokens(r llm.Request) int {
	switch {
	case r.MaxTokens <= 0:
		return b.info.MaxOutput
	case b.info.MaxOutput > 0:
		return min(r.MaxTokens, b.info.MaxOutput)
	default:
		return r.MaxTokens
	}
}

func (b *base) secrets() []string {
	secrets := []string{b.o.APIKey}
	for _, value := range b.o.Headers {
		secrets = append(secrets, value)
	}
	return secrets
}

// join is a request body: settings, and last, under key, the items, byte for
// byte. encoding/json would take the spaces out of them on its way.
func join(settings any, key string, items []json.RawMessage) ([]byte, error) {
	head, err := marshalUnescaped(settings)
	if err != nil {
		return nil, err
	}
	size := len(head) + len(key) + len(`,"":[]}`)
	for _, item := range items {
		size += len(item) + 1
	}
	body := make([]byte, 0, size)
	body = append(append(append(append(body, head[:len(head)-1]...), `,"`...), key...), `":[`...)
	for i, item := range items {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, item...)
	}
	return append(body, "]}"...), nil
}
