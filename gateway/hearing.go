package gateway

import (
	"fmt"
	"slices"

	"parley/agent"
	"parley/gateway/ops"
	"parley/gateway/settings"
	"parley/llm/openai"
)

// wireTranscription makes what makes words of voice notes, if the operator wants that. Its
// model is one of those whose calls are counted.
func (e *edition) wireTranscription() error {
	c := e.cfg.Transcription
	if c.Model == "" {
		return nil
	}
	provider, model, err := settings.SplitModel(c.Model)
	if err != nil {
		return err
	}
	p := e.cfg.Providers[provider]
	m, err := openai.NewSpeech(openai.Options{
		Provider: provider, Model: model, APIKey: keyOf(p), BaseURL: p.BaseURL, HTTPClient: e.dialer().newClient(), TotalTimeout: c.Timeout,
	}, c.Language)
	if err != nil {
		return fmt.Errorf("transcriptions of %s: %w", provider, err)
	}
	if n := (ops.ModelName{Provider: provider, Model: model}); !slices.Contains(e.sets.Models, n) { // first: what is beyond the cap is counted as another
		e.sets.Models, e.sets.Speech = slices.Insert(e.sets.Models, 0, n), []ops.ModelName{n}
	}
	e.transcription = &agent.Transcription{Model: m, MaxBytes: c.MaxBytes, MaxTime: c.MaxLength}
	return nil
}
