package gatewaytest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley/cmd/cmdtest"
	"parley/gateway/activity"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/runtest"
	"parley/simulators/signal"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// Network is a chat network, by the name that its channel has in the
// configuration of an environment.
type Network string

// The networks.
const (
	Telegram Network = "tg"
	Slack    Network = "sl"
	Signal   Network = "sig"
)

// AllNetworks are all three.
func AllNetworks() []Network { return []Network{Telegram, Slack, Signal} }

// Pace is how many times Telegram's limits hold in an environment, on both sides, so that
// tests are quick.
const Pace = 200

// What the bot is on Slack and Signal.
const (
	SlackBotToken = "xoxb-4200000001-AAtest"
	SlackAppToken = "xapp-4200000001-AAtest"
	slackSigning  = "0123456789abcdef0123456789abcdef"
	SlackUser     = "U4200000001"

	SignalNumber = "+4200000001"
	SignalACI    = "42000000-0000-4000-8000-000000000001"
)

// The twin is another bot, on every network: the account of another gateway.
const (
	TwinToken    = "4200000002:AAtwinAAtwinAAtwinAAtwinAAtwinAAtwin"
	TwinUsername = "twin_bot"

	twinBotToken = "xoxb-4200000002-AAtwin"
	twinAppToken = "xapp-4200000002-AAtwin"
	TwinNumber   = "+4200000002"
	TwinACI      = "42000000-0000-4000-8000-000000000002"
)

func (o *Options) hasNetwork(n Network) bool {
	return len(o.Networks) == 0 && n == Telegram || slices.Contains(o.Networks, n)
}

// openServers opens an environment's networks.
func (h *Env) openServers() (all []runtest.Server) {
	h.t.Helper()
	must := func(err error) {
		h.t.Helper()
		if err != nil {
			h.t.Fatal(err)
		}
	}
	var err error
	if h.o.hasNetwork(Telegram) {
		h.Telegram, err = telegram.New(h.telegramOptions())
		must(err)
		all = append(all, h.Telegram)
	}
	if h.o.hasNetwork(Slack) {
		h.Slack, err = slack.New(h.slackOptions())
		must(err)
		all = append(all, h.Slack)
	}
	if h.o.hasNetwork(Signal) {
		h.Dir = shortDir(h.t)
		h.Signal, err = signal.New(h.signalOptions())
		must(err)
		must(h.Signal.Listen())
		program, err := cmdtest.Program(cmdtest.SignalCLI)
		must(err)
		h.signalCLI, err = signal.Install(h.Dir, h.Signal.URL(), program)
		must(err)
		all = append(all, h.Signal)
	}
	return all
}

func (h *Env) telegramOptions() telegram.Options {
	o := telegram.Options{
		WebhookRetry: time.Millisecond, Keep: h.o.Keep, Pace: Pace,
		Bots: []telegram.Bot{{Token: Token, Username: Username, Name: "parley", CanReadAllGroupMessages: true}},
	}
	if h.o.Twin {
		o.Bots = append(o.Bots, telegram.Bot{Token: TwinToken, Username: TwinUsername, Name: "twin", CanReadAllGroupMessages: true})
		for i := range o.Bots {
			o.Bots[i].HearsBots = true
		}
	}
	if h.o.OnTelegram != nil {
		h.o.OnTelegram(&o)
	}
	return o
}

func (h *Env) slackOptions() slack.Options {
	h.t.Helper()
	o := slack.Options{
		Keep: h.o.Keep,
		// What is said while no gateway runs waits for one.
		Retries: slackRetryPauses(),
		Apps: []slack.App{{
			Name: Username, BotToken: SlackBotToken, AppToken: SlackAppToken, SigningSecret: slackSigning, UserID: SlackUser,
		}},
	}
	// It has what its manifest asks for, and no more.
	manifest, err := settings.SlackManifest(settings.Config{Channels: settings.ChannelsConfig{Slack: map[string]settings.SlackConfig{string(Slack): {}}}}, string(Slack), "")
	if err != nil {
		h.t.Fatal(err)
	}
	app, err := slack.Create(manifest)
	if err != nil {
		h.t.Fatal(err)
	}
	o.Apps[0].Scopes, o.Apps[0].Events, o.Apps[0].Commands, o.Apps[0].AgentView = app.Scopes, app.Events, app.Commands, app.AgentView
	if h.o.Webhook {
		o.Apps[0].RequestURL = h.WebhookProxy.server.URL + "/slack/" + string(Slack)
	}
	if h.o.Twin {
		twin := app
		twin.Name, twin.BotToken, twin.AppToken = TwinUsername, twinBotToken, twinAppToken
		o.Apps = append(o.Apps, twin)
	}
	if h.o.OnSlack != nil {
		h.o.OnSlack(&o)
	}
	return o
}

func (h *Env) signalOptions() signal.Options {
	o := signal.Options{
		Keep: h.o.Keep, NoReceipts: true, Accounts: []signal.Account{{Number: SignalNumber, ACI: SignalACI, Name: "parley"}},
	}
	if h.o.Twin {
		o.Accounts = append(o.Accounts, signal.Account{Number: TwinNumber, ACI: TwinACI, Name: "twin"})
	}
	return o
}

// shortDir returns a folder in which a socket can be bound: that of a test has the
// test's name in it.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "env")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// channelsConfig configures the networks of the environment. Everybody may talk to the bot,
// and each message has an answer of its own, which tests count. Of what turns do nothing is
// shown, so that what is shown does not depend on how quick they are.
func (h *Env) channelsConfig() (c settings.ChannelsConfig) {
	common := settings.Common{
		Access: policy.Access{Everyone: true}, WhileBusy: policy.Queue, Activity: activity.Config{Direct: activity.Off, Groups: activity.Off},
	}
	if h.Telegram != nil {
		c.Telegram = map[string]settings.TelegramConfig{string(Telegram): {
			Common: common, Token: settings.NewSecret(Token), APIURL: h.Telegram.URL(), Pace: Pace,
		}}
	}
	if h.Slack != nil {
		c.Slack = map[string]settings.SlackConfig{string(Slack): {
			Common: common, BotToken: settings.NewSecret(SlackBotToken), AppToken: settings.NewSecret(SlackAppToken), SigningSecret: settings.NewSecret(slackSigning),
			APIURL: h.Slack.APIURL(),
		}}
	}
	if h.Signal != nil {
		c.Signal = map[string]settings.SignalConfig{string(Signal): {
			Common: common, Account: SignalNumber, ACI: SignalACI, Command: []string{h.signalCLI, "--config", filepath.Join(h.Dir, "cli")},
		}}
	}
	return c
}

// StartTwin runs the gateway of the other bot beside the first, with a state of
// its own. The environment has Options.Twin.
func (h *Env) StartTwin() *Running {
	h.t.Helper()
	return h.StartAs(func(c *settings.Config) {
		c.StateDir, c.Name = filepath.Join(h.Dir, "twin"), "twin"
		if h.Telegram != nil {
			tg := c.Channels.Telegram[string(Telegram)]
			tg.Token = settings.NewSecret(TwinToken)
			c.Channels.Telegram[string(Telegram)] = tg
		}
		if h.Slack != nil {
			sl := c.Channels.Slack[string(Slack)]
			sl.BotToken, sl.AppToken = settings.NewSecret(twinBotToken), settings.NewSecret(twinAppToken)
			c.Channels.Slack[string(Slack)] = sl
		}
		if h.Signal != nil {
			sig := c.Channels.Signal[string(Signal)]
			sig.Account, sig.ACI = TwinNumber, TwinACI
			sig.Command = []string{h.signalCLI, "--config", filepath.Join(h.Dir, "twin-cli")}
			c.Channels.Signal[string(Signal)] = sig
		}
	})
}

// slackRetryPauses returns when Slack brings an event again: soon, and never in vain for
// good, but ever more seldom, so that a machine that is too slow is not given more and
// more to do.
func slackRetryPauses() (pauses []time.Duration) {
	for pause := 100 * time.Millisecond; pause < 10*time.Second; pause *= 2 {
		pauses = append(pauses, pause)
	}
	return append(pauses, slices.Repeat([]time.Duration{10 * time.Second}, 1000)...)
}
