package bench

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"parley/gateway"
	"parley/gateway/attachments"
	"parley/gateway/budgets"
	"parley/gateway/ops"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/subagents"
)

// config is parley as an operator runs it: message log and database synced,
// metrics on. Only the number of turns at once is raised where the plan says so,
// and the budgets.
func (p plan) config() settings.Config {
	c := settings.Config{
		StateDir:    filepath.Join(p.Dir, "state"),
		Name:        cmp.Or(p.Name, "bench"),
		Roles:       p.Roles,
		Limits:      policy.Limits{PersonPerMinute: -1, PersonBurst: -1, GroupPerMinute: -1, Queue: -1, BotLoop: -1},
		Channels:    p.channels(),
		Providers:   map[string]settings.ProviderConfig{"sim": {Kind: settings.KindAnthropic, BaseURL: p.Model, Prices: "demo"}},
		Agents:      map[string]settings.AgentConfig{"main": {Model: "sim/demo", Window: cmp.Or(p.Window, 200_000)}},
		Broker:      settings.BrokerConfig{URL: p.Log, Replicas: p.Replicas},
		Worker:      policy.Turns{Turns: p.Turns, Grace: p.Grace},
		Subagents:   subagents.Config{MaxConcurrent: min(p.Turns, 1024)},
		Ops:         ops.Config{Listen: "127.0.0.1:0"},
		Attachments: attachments.Config{MaxBytes: 64 << 20},
		// Counted as always, and never reached.
		Budgets: budgets.Config{Turn: "100", Session: "1000000", PersonPerDay: "1000000", GroupPerDay: "1000000", GlobalPerDay: "1000000"},
	}
	if p.Chat {
		c.Providers["sim"] = settings.ProviderConfig{Kind: settings.KindOpenAI, BaseURL: p.Model + "/v1", Prices: "demo"}
	}
	if p.Redis != "" {
		c.Store.Redis.URL = settings.NewSecret(p.Redis)
	}
	if p.Relaxed || p.System == relaxed {
		c.Broker.Sync = "relaxed"
	}
	if p.Signed {
		c.Agents["main"] = settings.AgentConfig{Model: "sim/demo", Window: 200_000, Prompt: signature + p.Name}
	}
	return c
}

// channels is the one account, which everybody may talk to.
func (p plan) channels() (c settings.ChannelsConfig) {
	common := settings.Common{Access: policy.Access{Everyone: true}, WhileBusy: policy.WhileBusy(p.WhileBusy)}
	switch {
	case p.Slack != "":
		c.Slack = map[string]settings.SlackConfig{"slack": {
			BotToken: settings.NewSecret(slackBotToken), AppToken: settings.NewSecret(slackAppToken), APIURL: p.Slack, View: "none", Common: common,
		}}
	case p.SignalCLI != "":
		c.Signal = map[string]settings.SignalConfig{"signal": {
			Account: signalNumber, ACI: signalACI, Command: []string{p.SignalCLI, "--config", filepath.Join(p.Dir, "cli")},
			Common: common,
		}}
	default:
		c.Telegram = map[string]settings.TelegramConfig{"tg": {
			Token: settings.NewSecret(token), APIURL: p.Telegram, Common: common, Pace: 1000,
		}}
	}
	return c
}

// signature stands before the name of the process that asks the model.
const signature = "You are process "

func runParley(ctx context.Context, p plan, ready func()) error {
	gateway.TuneCollector() // as parley run does
	g, err := gateway.New(p.config(), gateway.Options{
		Logger:  slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Version: "bench",
	})
	if err != nil {
		return fmt.Errorf("make the gateway: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	select {
	case <-g.Started():
		ready()
	case err := <-ended:
		return err
	}
	return <-ended
}
