package try

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley/costs"
	"parley/gateway/settings"
	"parley/llm"
)

func TestTheModelsOfferedHaveAPriceAndAreKnown(t *testing.T) {
	t.Parallel()
	prices, err := costs.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range realModels() {
		provider, name, err := settings.SplitModel(m.model)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := prices.Price(provider, name); !ok {
			t.Errorf("%s has no price", m.model)
		}
		if llm.Lookup(name).Source == llm.Lookup("no such model").Source {
			t.Errorf("%s is not known", m.model)
		}
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	t.Run("try knows each network that can be configured", func(t *testing.T) {
		t.Parallel()
		var configured []string
		for f := range reflect.TypeFor[settings.ChannelsConfig]().Fields() {
			if f.Tag.Get("yaml") != "" {
				configured = append(configured, f.Name)
			}
		}
		if !slices.Equal(Networks(), configured) {
			t.Errorf("try knows %v, a configuration %v", Networks(), configured)
		}
	})
}

// nowhere is a network without accounts.
type nowhere struct{ network }

func (nowhere) config(string) (c settings.ChannelsConfig) { return c }

func TestTheModelIsChosenByTheKeyThatIsThere(t *testing.T) {
	t.Parallel()
	const canary = "sk-canary7"
	for _, c := range []struct {
		wanted, variables string
		model, complaint  string
	}{
		{"", "", "demo/demo", ""},
		{"", "ANTHROPIC_API_KEY", "anthropic/claude-haiku-5-5", ""},
		{"", "OPENAI_API_KEY", "openai/gpt-6-luna", ""},
		{"", "ANTHROPIC_API_KEY OPENAI_API_KEY", "anthropic/claude-haiku-5-5", ""},
		{"openai/x/y", "ANTHROPIC_API_KEY OPENAI_API_KEY", "openai/x/y", ""},
		{"demo/demo", "ANTHROPIC_API_KEY", "demo/demo", ""},
		{"openai/x", "ANTHROPIC_API_KEY", "", "OPENAI_API_KEY is not set"},
		{"cohere/x", "OPENAI_API_KEY", "", "knows the providers anthropic and openai"},
		{"x", "OPENAI_API_KEY", "", "a model is written provider/model"},
	} {
		m, err := chooseModel(Options{Model: c.wanted, Getenv: func(name string) string {
			if strings.Contains(c.variables, name) {
				return canary
			}
			return ""
		}}, "http://127.0.0.1:1")
		switch {
		case c.complaint != "":
			if !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), c.complaint) {
				t.Errorf("%q with %s: %v", c.wanted, c.variables, err)
			}
		case err != nil || m.model != c.model:
			t.Errorf("%q with %s: %s, %v", c.wanted, c.variables, m.model, err)
		default: // it takes what it will be asked, tools among it
			cfg := config(t.TempDir(), "", nowhere{}, m, "http://127.0.0.1:1").Defaults()
			if err := cfg.Validate(); err != nil && strings.Contains(err.Error(), "agents.") {
				t.Errorf("%q with %s: %v", c.wanted, c.variables, err)
			}
		}
		if text := fmt.Sprintf("%+v %v", m, err); strings.Contains(text, canary) {
			t.Errorf("%q shows the key: %s", c.wanted, text)
		}
	}
}
