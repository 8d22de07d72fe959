package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"parley/simulators/model"
	"parley/simulators/signal"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// simulated says how to use what runs. The configuration is one that run takes.
const simulated = `Telegram: %[1]s   (token %[3]s, bot @%[4]s)
Slack:    %[9]s   (Web API at %[9]s/api/, bot token %[10]s, app token %[11]s, bot @%[4]s)
Signal:   %[5]s   (account %[7]s; signal-cli's HTTP at %[6]s)
Model:    %[2]s   (Anthropic at %[2]s, OpenAI at %[2]s/v1)

Write to the bot:
  curl -s %[1]s/sim/say -d '{"chat":{"id":1001,"kind":"private"},"from":{"id":1001,"first_name":"Ann"},"text":"hello"}'
Read what it answered:
  curl -s %[1]s/sim/books
The same in Slack:
  curl -s %[9]s/sim/say -d '{"channel":{"id":"D0ANN","kind":"im"},"from":{"id":"U0ANN","name":"ann"},"text":"hello"}'
  curl -s %[9]s/sim/books
The same in Signal:
  curl -s %[5]s/sim/say -d '{"from":{"aci":"%[8]s","name":"Ann"},"text":"hello"}'
  curl -s %[5]s/sim/books
Run signal-cli yourself, as a supervisor does:
  parley sim signal-cli --world %[5]s -a %[7]s -o json daemon --socket /tmp/signal-cli.socket

A configuration for parley run against them (chmod 600 its file, it holds tokens):
  state_dir: sim-state
  channels:
    telegram: {sim: {token: "%[3]s", api_url: "%[1]s", access: {everyone: true}}}
    slack: {workspace: {bot_token: "%[10]s", app_token: "%[11]s", api_url: "%[9]s/api", access: {everyone: true}}}
    signal: {phone: {account: "%[7]s", command: [%[12]s], access: {everyone: true}}}
  providers: {sim: {kind: anthropic, base_url: "%[2]s", prices: demo}}
  agents: {main: {model: sim/demo, window: 200000}}
`

type simOptions struct {
	telegram, model string
	slack           string
	signal, http    string // the world of Signal, and its signal-cli
	account         string
	token, username string
	xoxb, xapp      string // tokens of the Slack app
	key, brain      string
	pace            time.Duration
	seed            uint64
	limits          bool
}

func simCommand(p program) *cobra.Command {
	var o simOptions
	c := &cobra.Command{
		Use:   "sim",
		Short: "Run Telegram, Slack, Signal and a model on loopback, for anybody's bot",
		Long: `sim runs what the tests run against, as servers: a Telegram Bot API with people
who write (POST /sim/say), a Slack workspace with Web API and Socket Mode, Signal
with a signal-cli that speaks JSON-RPC, and a model provider that speaks Anthropic
Messages and OpenAI Chat Completions. All keep their own books and break on
command: GET /sim/books, GET /sim/bill, POST /sim/faults.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.brain != "demo" && o.brain != "echo" {
				return fmt.Errorf("--brain %q is neither demo nor echo", o.brain)
			}
			return runError(cmd.Context(), simulate(cmd.Context(), p, o))
		},
	}
	c.AddCommand(signalCLICommand(p))
	f := c.Flags()
	f.StringVar(&o.signal, "signal", "127.0.0.1:8084", "where the people of Signal are driven from, and where signal-cli connects")
	f.StringVar(&o.http, "signal-cli", "127.0.0.1:8085", "where a signal-cli of it listens for HTTP")
	f.StringVar(&o.account, "account", "+4915550000001", "the bot's number in Signal")
	f.StringVar(&o.telegram, "telegram", "127.0.0.1:8081", "where the Telegram server listens")
	f.StringVar(&o.slack, "slack", "127.0.0.1:8083", "where the Slack workspace listens")
	f.StringVar(&o.xoxb, "slack-bot-token", "xoxb-sim", "the Slack app's bot token")
	f.StringVar(&o.xapp, "slack-app-token", "xapp-sim", "the Slack app's own token, for Socket Mode")
	f.StringVar(&o.model, "model", "127.0.0.1:8082", "where the model server listens")
	f.StringVar(&o.token, "token", "4200000001:AAsimAAsimAAsimAAsimAAsimAAsimAAsim", "the bot's token")
	f.StringVar(&o.username, "username", "sim_bot", "the bot's username, in Telegram and Slack")
	f.StringVar(&o.key, "key", "", "the key that the model server wants (default: any)")
	f.StringVar(&o.brain, "brain", "demo", "what answers: demo or echo")
	f.DurationVar(&o.pace, "pace", 20*time.Millisecond, "pause between the words of demo")
	f.Uint64Var(&o.seed, "seed", 0, "of identifiers and random faults (default: a random one)")
	f.BoolVar(&o.limits, "rate-limits", false, "hold the bot to Telegram's and Slack's published rate limits")
	return c
}

// telegramPace is that of Telegram's limits, as asked for.
func (o simOptions) telegramPace() float64 {
	if o.limits {
		return 1
	}
	return -1
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
		Addr: o.telegram, Seed: o.seed, FirstUpdateID: first, Pace: o.telegramPace(),
		Bots: []telegram.Bot{{Token: o.token, Username: o.username, Name: o.username, CanReadAllGroupMessages: true}},
	})
	if err != nil {
		return fmt.Errorf("telegram: %w", err)
	}
	if err := platform.Listen(); err != nil {
		return fmt.Errorf("telegram: %w", err)
	}
	workspace, err := newSlackServer(o)
	if err != nil {
		return errors.Join(fmt.Errorf("slack: %w", err), platform.Close())
	}
	sig, err := newSignalSim(o)
	if err != nil {
		return errors.Join(fmt.Errorf("signal: %w", err), platform.Close(), workspace.Close())
	}
	m := model.New(mo)
	if err := m.Listen(); err != nil {
		return errors.Join(fmt.Errorf("model: %w", err), platform.Close(), workspace.Close(), sig.close())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return platform.Run(ctx) })
	g.Go(func() error { return workspace.Run(ctx) })
	g.Go(func() error { return m.Run(ctx) })
	g.Go(func() error { return sig.run(ctx) })
	g.Go(func() error {
		select {
		case <-sig.cli.Ready():
		case <-ctx.Done():
			return nil
		}
		var words []string
		for _, w := range signalCLIArgs(sig.world.URL()) {
			words = append(words, strconv.Quote(w))
		}
		_, err := fmt.Fprintf(p.out, simulated, platform.URL(), m.URL(), o.token, o.username,
			sig.world.URL(), "http://"+sig.cli.HTTPAddr(), o.account, signal.MadeUpACI(1), workspace.URL(), o.xoxb, o.xapp, strings.Join(words, ", "))
		if err != nil {
			return fmt.Errorf("say where they are: %w", err)
		}
		return nil
	})
	return g.Wait()
}

// newSlackServer is Slack, which listens.
func newSlackServer(o simOptions) (*slack.Server, error) {
	s, err := slack.New(slack.Options{
		Addr: o.slack, Seed: o.seed, RateLimits: o.limits,
		Apps: []slack.App{{Name: o.username, BotToken: o.xoxb, AppToken: o.xapp, AgentView: true}},
	})
	if err != nil {
		return nil, err
	}
	return s, s.Listen()
}
