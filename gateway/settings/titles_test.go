package settings_test

import (
	"testing"

	"parley/gateway/settings"
)

// docs/decisions/0068: who says nothing has titles for next to nothing, or none.
func TestTitleModel(t *testing.T) {
	t.Parallel()
	c := settings.Config{Providers: map[string]settings.ProviderConfig{
		"anthropic": {}, "openai": {Kind: settings.KindOpenAIResponses}, "own": {Kind: settings.KindOpenAI, BaseURL: "http://127.0.0.1:1/v1"},
	}}
	for model, want := range map[string]string{
		"anthropic/claude-opus-5-5": "anthropic/claude-haiku-5-5", "openai/gpt-6-sol": "openai/gpt-6-luna", "own/llama": "", "gone/x": "",
	} {
		d := c.Defaults()
		if got := d.TitleModel(settings.AgentConfig{Model: model}); got != want {
			t.Errorf("%s is titled by %q, want %q", model, got, want)
		}
		d.Titles.Model = "own/small"
		if got := d.TitleModel(settings.AgentConfig{Model: model}); got != "own/small" {
			t.Errorf("%s is titled by %q against the configuration", model, got)
		}
		d.Titles = settings.TitlesConfig{Off: true}
		if got := d.TitleModel(settings.AgentConfig{Model: model}); got != "" {
			t.Errorf("%s is titled by %q although titles are off", model, got)
		}
	}
}
