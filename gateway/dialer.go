package gateway

import (
	"net/http"

	"parley/agent"
	"parley/gateway/settings"
	"parley/llm"
	"parley/llm/anthropic"
	"parley/llm/openai"
)

// dialer makes the models of the configured providers.
type dialer struct {
	providers map[string]settings.ProviderConfig
	turns     int // that may run at once
}

// model is what an agent runs, and whether that takes pictures.
func (d dialer) model(a settings.AgentConfig) (m llm.Model, sees bool, err error) {
	name, model, err := settings.SplitModel(a.Model)
	if err != nil {
		return nil, false, err
	}
	info := llm.Lookup(model)
	if a.Vision != settings.VisionAuto {
		info.Vision = a.Vision == settings.VisionOn
	}
	m, err = d.dial(name, model, info)
	return m, info.Vision, err
}

// fallback is a model that an agent falls back to. It is shown pictures where the catalogue
// says that it takes them and the agent is not without.
func (d dialer) fallback(a settings.AgentConfig, f settings.FallbackConfig) (agent.Fallback, error) {
	b := agent.Fallback{Window: f.Window, MaxTokens: f.MaxTokens, Parameters: f.Parameters()}
	vision := settings.VisionAuto
	if a.Vision == settings.VisionOff {
		vision = settings.VisionOff
	}
	var err error
	b.Model, b.Vision, err = d.model(settings.AgentConfig{Model: f.Model, Vision: vision})
	return b, err
}

func (d dialer) dial(name, model string, info llm.Info) (llm.Model, error) {
	p := d.providers[name]
	client := d.newClient()
	o := openai.Options{Provider: name, Model: model, APIKey: keyOf(p), BaseURL: p.BaseURL, HTTPClient: client, Info: info}
	switch p.Kind {
	case settings.KindAnthropic:
		return anthropic.New(anthropic.Options{Provider: name, Model: model, APIKey: keyOf(p), BaseURL: p.BaseURL, HTTPClient: client, Info: info})
	case settings.KindOpenAIResponses:
		return openai.NewResponses(o)
	default:
		return openai.New(o)
	}
}

// requestBuffer holds most requests to a model with their header, so that each is one write. What
// does not fit is copied through a buffer that is made for it.
const requestBuffer = 16 << 10

// newClient makes a client of which as many connections stay open as turns may run.
func (d dialer) newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, d.turns
	transport.WriteBufferSize = requestBuffer
	return &http.Client{Transport: transport}
}

// keyOf returns the provider's key; a server of one's own may take none, but the
// protocols want a word.
func keyOf(p settings.ProviderConfig) string {
	if p.APIKey.IsZero() {
		return "none"
	}
	return p.APIKey.Reveal()
}
