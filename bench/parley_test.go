package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"

	"parley/gateway"
	"parley/gateway/intake"
	"parley/gateway/ops"
	"parley/gateway/worker"
)

// runParley is the gateway as an operator runs it: message log and database
// synced, metrics on. Only the number of turns at once is raised.
func runParley(ctx context.Context, p plan, ready func()) error {
	debug.SetGCPercent(gateway.GCPercent) // as parley run does
	g, err := gateway.New(gateway.Config{
		StateDir: filepath.Join(p.Dir, "state"),
		Name:     "bench",
		Channels: gateway.ChannelsConfig{Telegram: map[string]gateway.TelegramConfig{
			"tg": {Token: gateway.NewSecret(token), APIURL: p.Telegram, Access: intake.Access{Everyone: true}},
		}},
		Providers: map[string]gateway.ProviderConfig{"sim": {Kind: gateway.KindAnthropic, BaseURL: p.Model, Prices: "demo"}},
		Agents:    map[string]gateway.AgentConfig{"main": {Model: "sim/demo"}},
		Worker:    worker.Config{Turns: p.Turns},
		Ops:       ops.Config{Listen: "127.0.0.1:0"},
	}, gateway.Options{
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
