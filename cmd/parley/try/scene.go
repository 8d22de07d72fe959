package try

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/gateway"
	"parley/gateway/intake"
	"parley/gateway/ops"
	"parley/gateway/worker"
	"parley/simulators/telegram"
)

// The scene: a bot, three people, and a group.
var (
	bot = telegram.Bot{
		Token: "4200000001:AAtryAAtryAAtryAAtryAAtryAAtryAAtry", Username: "parley_bot", Name: "parley",
		// Privacy mode is off, so that the mention rule is parley's own.
		CanReadAllGroupMessages: true,
	}
	people = map[string]telegram.Person{
		"ann":   {ID: 1001, FirstName: "Ann", Username: "ann"},
		"ben":   {ID: 1002, FirstName: "Ben", Username: "ben"},
		"carla": {ID: 1003, FirstName: "Carla"},
	}
	group = telegram.Chat{ID: -2001, Kind: telegram.Group, Title: "kitchen table"}
)

func names() string { return strings.Join(slices.Sorted(maps.Keys(people)), ", ") }

// mind is the model that answers.
type mind struct {
	model     string // provider/model
	provider  gateway.ProviderConfig
	what      string // for the greeting
	variable  string // where its key came from
	simulated bool
}

// payable are the models that answer when their key is in the environment: the
// cheapest of the present ones, the first that has a key. The rest of what they
// need is known of their provider.
func payable() []mind {
	return []mind{
		{model: "anthropic/claude-haiku-5-5", provider: gateway.ProviderConfig{Kind: gateway.KindAnthropic}, variable: "ANTHROPIC_API_KEY"},
		{model: "openai/gpt-6-luna", provider: gateway.ProviderConfig{Kind: gateway.KindOpenAI}, variable: "OPENAI_API_KEY"},
	}
}

// choose takes the real model whose key is in the environment, or else the
// demonstration model at demoURL.
func choose(o Options, demoURL string) (mind, error) {
	wanted := ""
	if o.Model != "" && o.Model != demoModel {
		var err error
		if wanted, _, err = gateway.SplitModel(o.Model); err != nil {
			return mind{}, fmt.Errorf("%w %w", ErrModel, err)
		}
	}
	for _, m := range payable() {
		provider, _, _ := strings.Cut(m.model, "/")
		key := o.Getenv(m.variable)
		switch {
		case o.Model == demoModel || wanted != "" && wanted != provider:
			continue
		case key == "" && wanted == provider:
			return mind{}, fmt.Errorf("%w %s: %s is not set in the environment", ErrModel, o.Model, m.variable)
		case key == "":
			continue
		case wanted != "":
			m.model = o.Model
		}
		m.provider.APIKey = gateway.NewSecret(key)
		m.what = fmt.Sprintf("the real model %s (your %s pays for it)", m.model, m.variable)
		return m, nil
	}
	if wanted != "" {
		return mind{}, fmt.Errorf("%w %s: try knows the providers anthropic and openai; parley run knows any", ErrModel, o.Model)
	}
	return mind{
		model: demoModel, simulated: true,
		provider: gateway.ProviderConfig{Kind: gateway.KindAnthropic, BaseURL: demoURL, Prices: "demo"},
		what:     "a small scripted demonstration model (set ANTHROPIC_API_KEY or OPENAI_API_KEY for a real one); its prices are invented",
	}, nil
}

const demoModel = "demo/demo"

func config(dir, listen, api string, m mind) gateway.Config {
	provider, _, _ := strings.Cut(m.model, "/")
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	return gateway.Config{
		StateDir: filepath.Clean(dir),
		Name:     "try",
		Channels: gateway.ChannelsConfig{Telegram: map[string]gateway.TelegramConfig{
			"telegram": {Token: gateway.NewSecret(bot.Token), APIURL: api, Access: intake.Access{Everyone: true}},
		}},
		Providers: map[string]gateway.ProviderConfig{provider: m.provider},
		Agents:    map[string]gateway.AgentConfig{"main": {Model: m.model}},
		Ops:       ops.Config{Listen: listen},
		// Who quits does not wait for an answer that is on its way.
		Worker: worker.Config{Grace: time.Second},
	}
}
