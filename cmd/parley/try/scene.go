package try

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/gateway/ops"
	"parley/gateway/policy"
	"parley/gateway/settings"
)

// The scene: a bot, three people, and a group.
const (
	botName, botUsername = "parley", "parley_bot"
	groupTitle           = "kitchen table"
)

// person is somebody who writes, in any network.
type person struct {
	number       int64
	name, handle string
}

var people = map[string]person{
	"ann":   {1001, "Ann", "ann"},
	"ben":   {1002, "Ben", "ben"},
	"carla": {1003, "Carla", ""},
}

func peopleNames() string { return strings.Join(slices.Sorted(maps.Keys(people)), ", ") }

// modelChoice is the model that answers.
type modelChoice struct {
	model       string // provider/model
	window      int    // tokens; 0: as parley knows the model
	provider    settings.ProviderConfig
	description string // for the greeting
	keyVariable string // where its key came from
	simulated   bool
}

// sample is something to type, and what it shows.
type sample struct{ typed, about string }

// samples is what somebody may type first to see what parley is for.
func (m modelChoice) samples() []sample {
	all := []sample{
		{"what is 12*7", "an answer, and what it cost"},
		{pictureCommand, "show it a picture"},
		{"research the weather", "sub-agents at work, and what each of them costs"},
		{"set COLOUR=blue", "it asks for your permission first"},
		{"spend my money", "a cap stops it"},
	}
	if !m.simulated { // which costs real money, and does as it likes
		return []sample{{"what can you do?", "an answer, and what it cost"}, all[1]}
	}
	return all
}

// realModels are the models that answer when their key is in the environment: the
// cheapest of the present ones, the first that has a key. The rest of what they
// need is known of their provider.
func realModels() []modelChoice {
	return []modelChoice{
		{model: "anthropic/claude-haiku-5-5", provider: settings.ProviderConfig{Kind: settings.KindAnthropic}, keyVariable: "ANTHROPIC_API_KEY"},
		{model: "openai/gpt-6-luna", provider: settings.ProviderConfig{Kind: settings.KindOpenAIResponses}, keyVariable: "OPENAI_API_KEY"},
	}
}

// chooseModel takes the real model whose key is in the environment, or else the
// demonstration model at demoURL.
func chooseModel(o Options, demoURL string) (modelChoice, error) {
	wanted := ""
	if o.Model != "" && o.Model != demoModel {
		var err error
		if wanted, _, err = settings.SplitModel(o.Model); err != nil {
			return modelChoice{}, fmt.Errorf("%w %w", ErrModel, err)
		}
	}
	for _, m := range realModels() {
		provider, _, _ := strings.Cut(m.model, "/")
		key := o.Getenv(m.keyVariable)
		switch {
		case o.Model == demoModel || wanted != "" && wanted != provider:
			continue
		case key == "" && wanted == provider:
			return modelChoice{}, fmt.Errorf("%w %s: %s is not set in the environment", ErrModel, o.Model, m.keyVariable)
		case key == "":
			continue
		case wanted != "":
			m.model = o.Model
		}
		m.provider.APIKey = settings.NewSecret(key)
		m.description = fmt.Sprintf("the real model %s (your %s pays for it)", m.model, m.keyVariable)
		return m, nil
	}
	if wanted != "" {
		return modelChoice{}, fmt.Errorf("%w %s: try knows the providers anthropic and openai; parley run knows any", ErrModel, o.Model)
	}
	return modelChoice{
		model: demoModel, window: demoWindow, simulated: true,
		provider:    settings.ProviderConfig{Kind: settings.KindAnthropic, BaseURL: demoURL, Prices: "demo"},
		description: "a small scripted demonstration model (set ANTHROPIC_API_KEY or OPENAI_API_KEY for a real one); its prices are invented",
	}, nil
}

const (
	demoModel  = "demo/demo"
	demoWindow = 200_000 // tokens
)

// ears is who listens to voice notes, whoever answers: what is said in those of the
// simulated phones only the demonstration's server hears.
const ears = "ears"

func config(dir, listen string, n network, m modelChoice, demoURL string) settings.Config {
	provider, _, _ := strings.Cut(m.model, "/")
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	agent := settings.AgentConfig{Model: m.model, Window: m.window}
	if m.simulated {
		agent.Vision = settings.VisionOn
	}
	return settings.Config{
		StateDir: filepath.Clean(dir),
		Name:     "try",
		Limits:   policy.Limits{PersonPerMinute: -1, PersonBurst: -1, GroupPerMinute: -1, Queue: -1, BotLoop: -1},
		Channels: n.config(dir),
		Providers: map[string]settings.ProviderConfig{
			provider: m.provider, ears: {Kind: settings.KindOpenAI, BaseURL: demoURL + "/v1"},
		},
		Transcription: settings.TranscriptionConfig{Model: ears + "/demo", PricePerMinute: "0.006"},
		Agents:        map[string]settings.AgentConfig{"main": agent},
		Ops:           ops.Config{Listen: listen},
		Page:          settings.PageConfig{Enabled: true, Listen: "127.0.0.1:0"},
		// Who quits does not wait for an answer that is on its way.
		Worker: policy.Turns{Grace: time.Second},
	}
}
