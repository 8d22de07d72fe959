package settings

import (
	"cmp"
	"errors"
	"regexp"
	"strings"
	"time"

	"parley/costs"
	"parley/llm/openai"
	"parley/problems"
)

// TranscriptionConfig is what makes words of voice notes.
type TranscriptionConfig struct {
	// Model is a model behind a provider's /audio/transcriptions, as provider/model.
	// Default: voice notes are not transcribed.
	Model string `yaml:"model"`
	// Language is what people speak, two or three letters of ISO 639. Default: the
	// model finds out.
	Language string `yaml:"language"`
	// MaxBytes and MaxLength bound one note. Defaults 20 MiB and 10m.
	MaxBytes  int64         `yaml:"max_bytes"`
	MaxLength time.Duration `yaml:"max_length"`
	// Timeout is how long one request takes at most. Default 2m.
	Timeout time.Duration `yaml:"timeout"`
	// PricePerMinute is what a minute costs, in dollars. Default: what the price list
	// says.
	PricePerMinute string `yaml:"price_per_minute"`
}

// Defaults fills in what is not said.
func (c TranscriptionConfig) Defaults() TranscriptionConfig {
	c.MaxBytes = cmp.Or(c.MaxBytes, 20<<20)
	c.MaxLength = cmp.Or(c.MaxLength, 10*time.Minute)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Minute)
	return c
}

// speechForm is how much of a request is not the file.
const speechForm = 64 << 10

var (
	language  = regexp.MustCompile(`^[a-z]{2,3}$`)
	errNoForm = errors.New("is not a decimal number of dollars, zero or more, with at most 10 decimals")
)

// validateTranscription says every mistake in what makes words of voice notes.
func validateTranscription(c Config, ps *problems.List) {
	t := c.Transcription
	if limit := int64(openai.MaxSpeech - speechForm); t.MaxBytes < 1 || t.MaxBytes > limit {
		ps.Add("transcription.max_bytes", "%d is not 1 to %d", t.MaxBytes, limit)
	}
	if t.MaxLength < time.Second || t.MaxLength > 4*time.Hour {
		ps.Add("transcription.max_length", "%s is not 1s to 4h", t.MaxLength)
	}
	if t.Timeout < time.Second || t.Timeout > 10*time.Minute {
		ps.Add("transcription.timeout", "%s is not 1s to 10m", t.Timeout)
	}
	if t.Language != "" && !language.MatchString(t.Language) {
		ps.Add("transcription.language", "%q is not two or three lower-case letters, as in ISO 639", t.Language)
	}
	if _, err := perSecond(t.PricePerMinute); t.PricePerMinute != "" && err != nil {
		ps.Add("transcription.price_per_minute", "%q %w", t.PricePerMinute, err)
	}
	if t.Model == "" {
		return
	}
	provider, model, err := SplitModel(t.Model)
	if err != nil {
		ps.Add("transcription.model", "%w", err)
		return
	}
	switch p, ok := c.Providers[provider]; {
	case !ok:
		ps.Add("transcription.model", "no provider %q for the model %q%s", provider, model, have(provider, c.Providers))
	case p.Kind == KindAnthropic:
		ps.Add("transcription.model", "the provider %q has no transcriptions: it is of kind %s", provider, p.Kind)
	}
	if c.Attachments.Off {
		ps.Add("transcription.model", "nothing can be heard while attachments.off keeps files away")
	}
}

// perSecond returns what a second costs, rounded up, when a minute costs so much.
func perSecond(perMinute string) (costs.Amount, error) {
	_, decimals, _ := strings.Cut(perMinute, ".")
	a, err := costs.ParseAmount(perMinute)
	if err != nil || a < 0 || len(decimals) > 10 {
		return 0, errNoForm
	}
	return (a + 59) / 60, nil
}

// FixedPrices returns the price that the operator gave, if any.
func (c TranscriptionConfig) FixedPrices() []*costs.Price {
	provider, model, err := SplitModel(c.Model)
	if err != nil || c.PricePerMinute == "" {
		return nil
	}
	second, err := perSecond(c.PricePerMinute)
	if err != nil {
		return nil // said by Validate
	}
	return []*costs.Price{{
		Provider: provider, Model: model, ServerTools: map[string]costs.Amount{costs.AudioSecond: second}, Source: "transcription.price_per_minute",
	}}
}
