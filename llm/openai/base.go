package openai

import (
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3/option"

	"parley/llm"
	"parley/llm/wire"
)

// base is a model apart from its protocol.
type base struct {
	o      Options
	info   llm.Info
	limits wire.Limits
	own    bool // at OpenAI itself
}

func newBase(o Options) (base, error) {
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
	if err := wire.CheckBaseURL(o.BaseURL); err != nil {
		return base{}, fmt.Errorf("openai model: base url: %w", err)
	}
	b := base{
		o: o, info: o.Info, own: own,
		limits: wire.Limits{FirstByte: o.FirstByteTimeout, Idle: o.IdleTimeout, Total: o.TotalTimeout},
	}
	if b.info.Window == 0 {
		b.info = llm.Lookup(o.Model)
	}
	return b, nil
}

// options are for a bare service of the SDK, which unlike a client reads
// nothing from the environment.
func (b *base) options() []option.RequestOption {
	options := []option.RequestOption{option.WithBaseURL(b.o.BaseURL), option.WithMaxRetries(0)}
	if b.o.APIKey != "" {
		options = append(options, option.WithAPIKey(b.o.APIKey))
	}
	for name, value := range b.o.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	return options
}

// Provider is the operator's name for the provider.
func (b *base) Provider() string { return b.o.Provider }

// Name is the model's name as the provider knows it.
func (b *base) Name() string { return b.o.Model }

// Info is what the model can take and give.
func (b *base) Info() llm.Info { return b.info }

// tier is the service tier to ask for. A request at OpenAI that names none is
// served in the tier that the project is set to, which may cost a multiple of
// the standard one, while the budget reserves standard prices before the call.
// Other servers do not all know the field, and are not asked.
func (b *base) tier() string {
	if b.own {
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
