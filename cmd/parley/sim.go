package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"parley/simulators/model"
	"parley/simulators/telegram"
)

// simulated says how to use what runs. The configuration is one that run takes.
const simulated = `Telegram: %[1]s   (token %[3]s, bot @%[4]s)
Model:    %[2]s   (Anthropic at %[2]s, OpenAI at %[2]s/v1)

Write to the bot:
  curl -s %[1]s/sim/say -d '{"chat":{"id":1001,"kind":"private"},"from":{"id":1001,"first_name":"Ann"},"text":"hello"}'
Read what it answered:
  curl -s %[1]s/sim/books

A configuration for parley run against both:
  state_dir: sim-state
  channels: {telegram: {sim: {token: "%[3]s", api_url: "%[1]s", access: {everyone: true}}}}
  providers: {sim: {kind: anthropic, base_url: "%[2]s", prices: demo}}
  agents: {main: {model: sim/demo}}
`

type simOptions struct {
	telegram, model string
	token, username string
	key, brain      string
	pace            time.Duration
	seed            uint64
	limits          bool
}

func simCommand(p program) *cobra.Command {
	var o simOptions
	c := &cobra.Command{
		Use:   "sim",
		Short: "Run a Telegram server and a model server on loopback, for anybody's bot",
		Long: `sim runs what the tests run against, as servers: a Telegram Bot API with people
who write (POST /sim/say), and a model provider that speaks Anthropic Messages
and OpenAI Chat Completions. Both keep their own books and break on command:
GET /sim/books, GET /sim/bill, POST /sim/faults.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.brain != "demo" && o.brain != "echo" {
				return fmt.Errorf("--brain %q is neither demo nor echo", o.brain)
			}
			return failed(cmd.Context(), simulate(cmd.Context(), p, o))
		},
	}
	f := c.Flags()
	f.StringVar(&o.telegram, "telegram", "127.0.0.1:8081", "where the Telegram server listens")
	f.StringVar(&o.model, "model", "127.0.0.1:8082", "where the model server listens")
	f.StringVar(&o.token, "token", "4200000001:AAsimAAsimAAsimAAsimAAsimAAsimAAsim", "the bot's token")
	f.StringVar(&o.username, "username", "sim_bot", "the bot's username")
	f.StringVar(&o.key, "key", "", "the key that the model server wants (default: any)")
	f.StringVar(&o.brain, "brain", "demo", "what answers: demo or echo")
	f.DurationVar(&o.pace, "pace", 20*time.Millisecond, "pause between the words of demo")
	f.Uint64Var(&o.seed, "seed", 0, "of identifiers and random faults (default: a random one)")
	f.BoolVar(&o.limits, "rate-limits", false, "hold the bot to Telegram's published rate limits")
	return c
}

func simulate(ctx context.Context, p program, o simOptions) error {
	var first int64
	if o.seed == 0 {
		// A gateway that keeps its state must not take these updates for those
		// of an earlier simulator.
		o.seed, first = rand.Uint64(), time.Now().UnixMilli()
	}
	mo := model.Options{Addr: o.model, Seed: o.seed, Brain: model.Demo(o.pace)}
	if o.brain == "echo" {
		mo.Brain = model.Echo
	}
	if o.key != "" {
		mo.Keys = []string{o.key}
	}
	platform, err := telegram.New(telegram.Options{
		Addr: o.telegram, Seed: o.seed, FirstUpdateID: first, RateLimits: o.limits,
		Bots: []telegram.Bot{{Token: o.token, Username: o.username, Name: o.username, CanReadAllGroupMessages: true}},
	})
	if err != nil {
		return fmt.Errorf("telegram: %w", err)
	}
	if err := platform.Listen(); err != nil {
		return fmt.Errorf("telegram: %w", err)
	}
	m := model.New(mo)
	if err := m.Listen(); err != nil {
		return errors.Join(fmt.Errorf("model: %w", err), platform.Close())
	}
	if _, err := fmt.Fprintf(p.out, simulated, platform.URL(), m.URL(), o.token, o.username); err != nil {
		return errors.Join(fmt.Errorf("say where they are: %w", err), platform.Close(), m.Close())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return platform.Run(ctx) })
	g.Go(func() error { return m.Run(ctx) })
	return g.Wait()
}
