package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"parley/llm"
	"parley/llm/wire"
	"parley/transcript"
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

// wireRequest is a request as a protocol writes it.
type wireRequest struct {
	settings, behind any // what stands before the tools and behind them; each an object
	tools            func([]llm.Definition) any
	key              string          // of the items, which come last
	first            json.RawMessage // stands before them; nil: nothing
	encode           func(transcript.Message) []json.RawMessage
}

// post sends a request with the messages of r, of which there must be some.
func (b *base) post(x *wire.Exchange, r llm.Request, w wireRequest) *llm.Error {
	pieces, err := b.body(r, w)
	switch {
	case err != nil:
		return &llm.Error{Kind: llm.InvalidRequest, Message: "a request that is not JSON", Err: err}
	case pieces == nil:
		return &llm.Error{Kind: llm.InvalidRequest, Message: "no messages"}
	}
	if err := b.Post(x, pieces...); err != nil {
		return x.Fault(err)
	}
	return nil
}

// body returns a request body in pieces: settings and tools, then under their key the items, byte
// for byte. encoding/json would take the spaces out of them on its way. All but the items of the
// last message are written once for all requests of a conversation. nil: there are no items.
func (b *base) body(r llm.Request, w wireRequest) ([][]byte, error) {
	prefix, last := b.items(r, w.encode)
	if len(prefix)+len(last) == 0 {
		return nil, nil
	}
	head, err := marshalUnescaped(w.settings)
	if err != nil {
		return nil, err
	}
	pieces := [][]byte{head[:len(head)-1]}
	if len(r.Tools) > 0 {
		tools, err := b.ToolsJSON(r.Tools, func(ds []llm.Definition) ([]byte, error) {
			raw, err := marshalUnescaped(w.tools(ds))
			return append([]byte(`,"tools":`), raw...), err
		})
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, tools)
	}
	behind, err := marshalUnescaped(w.behind)
	if err != nil {
		return nil, err
	}
	if len(behind) > len("{}") {
		pieces = append(pieces, []byte(","), behind[1:len(behind)-1])
	}
	pieces = append(pieces, []byte(`,"`+w.key+`":[`))
	if w.first != nil {
		pieces = append(pieces, w.first, []byte(","))
	}
	return append(pieces, prefix, last, []byte("]}")), nil
}

// items returns the items of r, with commas between them: those of all messages but the last one
// are the prefix of later requests.
func (b *base) items(r llm.Request, encode func(transcript.Message) []json.RawMessage) (prefix, last []byte) {
	p := b.Prefixes().Take(r.CacheKey)
	for i := p.Resume(r.Messages); i < len(r.Messages)-1; i++ {
		p.JSON = appendItems(p.JSON, encode(r.Messages[i]), len(p.JSON) == 0)
		p.Cut(r.Messages, i+1)
	}
	prefix = p.JSON
	b.Prefixes().Put(r.CacheKey, p)
	if n := len(r.Messages); n > 0 {
		last = appendItems(nil, encode(r.Messages[n-1]), len(prefix) == 0)
	}
	return prefix, last
}

// appendItems appends items with a comma before each but the first of all.
func appendItems(to []byte, items []json.RawMessage, first bool) []byte {
	for _, item := range items {
		if !first {
			to = append(to, ',')
		}
		to, first = append(to, item...), false
	}
	return to
}
