package gateway

import (
	"fmt"
	"slices"

	"parley/agent"
	"parley/gateway/ops"
	"parley/gateway/settings"
	"parley/llm/openai"
)

// newTranscription is what makes words of voice notes; nil: nothing does. Its model is one of
// those whose calls are counted.
func (g *Gateway) newTranscription(models dialer) (*agent.Transcription, error) {
	c := g.cfg.Transcription
	if c.Model == "" {
		return nil, nil //nolint:nilnil // that is what it says
	}
	provider, model, err := settings.SplitModel(c.Model)
	if err != nil {
		return nil, err
	}
	p := g.cfg.Providers[provider]
	m, err := openai.NewSpeech(openai.Options{
		Provider: provider, Model: model, APIKey: keyOf(p), BaseURL: p.BaseURL, HTTPClient: models.newClient(), TotalTimeout: c.Timeout,
	}, c.Language)
	if err != nil {
		return nil, fmt.Errorf("transcriptions of %s: %w", provider, err)
	}
	if n := (ops.ModelName{Provider: provider, Model: model}); !slices.Contains(g.sets.Models, n) { // first: what is beyond the cap is counted as another
		g.sets.Models, g.sets.Speech = slices.Insert(g.sets.Models, 0, n), []ops.ModelName{n}
	}
	return &agent.Transcription{Model: m, MaxBytes: c.MaxBytes, MaxTime: c.MaxLength}, nil
}
