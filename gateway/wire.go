package gateway

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/agent/prompt"
	"parley/broker"
	"parley/channels/telegram"
	"parley/costs"
	"parley/gateway/ops"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/anthropic"
	"parley/llm/openai"
	"parley/sessionkeys"
	"parley/tools"
	"parley/tools/files"
)

// ToolNames are the built-in tools an agent may have.
var ToolNames = []string{"read_file", "list_directory"}

// wire makes everything that needs neither disk nor network.
func (g *Gateway) wire() error {
	g.sets.Version = g.o.Version
	g.sets.Tools = ToolNames
	g.sets.Channels = slices.Sorted(maps.Keys(g.cfg.Channels.Telegram))
	g.agents = map[string]worker.Agent{}
	builtin, err := files.New(files.Config{})
	if err != nil {
		return fmt.Errorf("make the tools: %w", err)
	}
	all, err := tools.NewSet(builtin...)
	if err != nil {
		return fmt.Errorf("make the tools: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(g.cfg.Agents)) {
		a := g.cfg.Agents[name]
		m, err := g.model(a.Model)
		if err != nil {
			return fmt.Errorf("agents.%s.model: %w", name, err)
		}
		set := all
		if a.Tools != nil {
			set = all.Only(a.Tools...)
		}
		g.agents[name] = worker.Agent{
			Model: m, Tools: set, MaxSteps: a.MaxIterations, MaxTokens: a.MaxTokens,
			Prompt: func(key sessionkeys.Key, now time.Time) []llm.SystemBlock { return prompt.Build(a.Prompt, key, now) },
		}
		n := ops.ModelName{Provider: m.Provider(), Model: m.Name()}
		if !slices.Contains(g.sets.Models, n) {
			g.sets.Models = append(g.sets.Models, n)
		}
		if _, ok := (priceTable{g.cfg.Providers, g.prices}).Price(n.Provider, n.Model); !ok {
			g.o.Logger.Warn("the model has no known price: its cost is not in the ledger's sums, it is counted as unpriced", "model", a.Model)
		}
	}
	g.metrics = ops.NewMetrics(g.sets)
	for _, name := range g.sets.Channels {
		t := g.cfg.Channels.Telegram[name]
		c, err := telegram.New(telegram.Options{
			Name: name, Token: t.Token, APIURL: t.APIURL, Observer: g.metrics, Log: g.o.Logger, Now: g.o.Now,
		})
		if err != nil {
			return fmt.Errorf("channels.telegram.%s: %w", name, err)
		}
		g.chans = append(g.chans, c)
	}
	return nil
}

func (g *Gateway) model(s string) (llm.Model, error) {
	name, model, err := SplitModel(s)
	if err != nil {
		return nil, err
	}
	p := g.cfg.Providers[name]
	// As many connections stay open
	// as turns may run.
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, g.cfg.Worker.Turns
	client := &http.Client{Transport: transport}
	if p.Kind == KindAnthropic {
		return anthropic.New(anthropic.Options{Provider: name, Model: model, APIKey: p.key(), BaseURL: p.BaseURL, HTTPClient: client})
	}
	return openai.New(openai.Options{Provider: name, Model: model, APIKey: p.key(), BaseURL: p.BaseURL, HTTPClient: client})
}

// key is the provider's key; a server of one's own may take none, but the
// protocols want a word.
func (p ProviderConfig) key() string {
	if p.APIKey.IsZero() {
		return "none"
	}
	return p.APIKey.Reveal()
}

func (c RetryConfig) policy() llm.Retry {
	return llm.Retry{Max: c.Max, Base: c.Base, Cap: c.Cap, Window: c.Window}
}

// redactor takes the configured secrets out of what tools return.
func (g *Gateway) redactor() func(string) string {
	var pairs []string
	hide := func(s Secret) {
		if text := s.Reveal(); len(text) >= 8 { // shorter ones would take words out of texts
			pairs = append(pairs, text, s.String())
		}
	}
	for _, t := range g.cfg.Channels.Telegram {
		hide(t.Token)
	}
	for _, p := range g.cfg.Providers {
		hide(p.APIKey)
	}
	return strings.NewReplacer(pairs...).Replace
}

// priceTable finds prices by the operator's names for providers.
type priceTable struct {
	providers map[string]ProviderConfig
	catalogue *costs.Catalogue
}

// Price finds the price of a model's tokens; false: there is none.
func (t priceTable) Price(provider, model string) (*costs.Price, bool) {
	return t.catalogue.Price(t.providers[provider].Prices, model)
}

// Cost is what u cost, and the price by which.
func (t priceTable) Cost(provider, model string, u costs.Usage) (costs.Amount, *costs.Price, error) {
	return t.catalogue.Cost(t.providers[provider].Prices, model, u)
}

func (g *Gateway) brokerOptions() broker.Options {
	c := g.cfg.Broker
	o := broker.Options{
		URL: c.URL, Listen: c.Listen, MaxBytes: c.MaxBytes, CredentialsFile: c.CredentialsFile, TokenFile: c.TokenFile,
		Log: g.o.Logger, Now: g.o.Now,
	}
	if c.URL == "" {
		o.Dir = filepath.Join(g.cfg.StateDir, "log")
	}
	if c.Sync == "relaxed" {
		o.Relaxed = time.Second
	}
	return o
}
