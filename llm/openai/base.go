package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"parley/llm"
	"parley/llm/wire"
)

// base is a model apart from its protocol.
type base struct {
	wire.Client

	o        Options
	isOpenAI bool // at OpenAI itself
}

// newBase checks o. method is what the protocol adds to the base URL.
func newBase(o Options, method string) (base, error) {
	o.BaseURL = cmp.Or(o.BaseURL, DefaultBaseURL)
	own := strings.TrimRight(o.BaseURL, "/") == strings.TrimRight(DefaultBaseURL, "/")
	o.PromptCacheKey = o.PromptCacheKey || own
	header := http.Header{}
	if o.APIKey != "" {
		header.Set("Authorization", "Bearer "+o.APIKey)
	}
	c, err := wire.NewClient(wire.Setup{
		Provider: o.Provider, Model: o.Model, APIKey: o.APIKey, BaseURL: o.BaseURL, Headers: o.Headers, HTTPClient: o.HTTPClient,
		FirstByteTimeout: o.FirstByteTimeout, IdleTimeout: o.IdleTimeout, TotalTimeout: o.TotalTimeout, Info: o.Info,
	}, method, header)
	if err == nil && own && o.APIKey == "" {
		err = wire.ErrNoKey
	}
	if err != nil {
		return base{}, fmt.Errorf("openai model: %w", err)
	}
	return base{Client: c, o: o, isOpenAI: own}, nil
}

// pictureDetail bounds what a picture costs: "high" is scaled down to about 3,000
// tokens, while "auto" takes a telephone's photo as it is, at 14,000.
const pictureDetail = "high"

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

// post sends a request: settings, and last, under key, the items, of which there must be
// some.
func (b *base) post(x *wire.Exchange, settings any, key string, items []json.RawMessage) *llm.Error {
	if len(items) == 0 {
		return &llm.Error{Kind: llm.InvalidRequest, Message: "no messages"}
	}
	body, err := join(settings, key, items)
	if err != nil {
		return &llm.Error{Kind: llm.InvalidRequest, Message: "a request that is not JSON", Err: err}
	}
	if err := b.Post(x, body); err != nil {
		return x.Fault(err)
	}
	return nil
}

// join returns a request body: settings, and last, under key, the items, byte for
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
