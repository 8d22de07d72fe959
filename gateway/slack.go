package gateway

import (
	"cmp"
	"time"

	"parley/channels"
	"parley/channels/slack"
	"parley/gateway/budgets"
	"parley/gateway/commands"
	"parley/gateway/intake"
	"parley/gateway/worker"
)

// SlackConfig is one Slack app.
type SlackConfig struct {
	// Mode is socket (default: parley opens a WebSocket) or events (Slack brings
	// events to the listener of Config.Webhooks, to the path /slack/<name>).
	Mode          slack.Mode `yaml:"mode"`
	BotToken      Secret     `yaml:"bot_token"`
	AppToken      Secret     `yaml:"app_token"`      // of mode socket
	SigningSecret Secret     `yaml:"signing_secret"` // of mode events
	APIURL        string     `yaml:"api_url"`        // default https://slack.com/api
	// Streaming is native (default: answers grow as Slack's own streams, where it
	// can) or edits.
	Streaming string `yaml:"streaming"`
	// Prompts are suggested in a new assistant thread; at most four.
	Prompts []string `yaml:"prompts"`

	Agent  string        `yaml:"agent"` // which agent answers; default main
	Access intake.Access `yaml:"access"`
	// The others are as in TelegramConfig.
	BudgetPerDay string           `yaml:"budget_per_day"`
	WhileBusy    worker.WhileBusy `yaml:"while_busy"`
	Debounce     time.Duration    `yaml:"debounce"`
	DebounceMax  time.Duration    `yaml:"debounce_max"`
}

// Ways to show a growing answer.
const (
	streamNative = "native"
	streamEdits  = "edits"
)

func (s SlackConfig) waiting() worker.Waiting {
	return worker.Waiting{WhileBusy: s.WhileBusy, Debounce: s.Debounce, DebounceMax: s.DebounceMax}
}

// account is what is common to accounts of all networks.
func (s SlackConfig) account(name string) account {
	a := account{
		agent: s.Agent, access: s.Access, budgetPerDay: s.BudgetPerDay, waiting: s.waiting(),
		secrets: []Secret{s.BotToken, s.AppToken, s.SigningSecret}, person: slack.CheckPerson, group: slack.CheckGroup,
		idKey: "bot_token", idNoun: "bot",
		open: func(g *Gateway) (channels.Channel, error) {
			return slack.New(slack.Options{
				Name: name, Mode: s.Mode, BotToken: s.BotToken, AppToken: s.AppToken, SigningSecret: s.SigningSecret, APIURL: s.APIURL,
				Commands: commands.Names(), Prompts: s.Prompts, NoStream: s.Streaming == streamEdits,
				Heeds: g.heeds, Observer: g.watched, Log: g.o.Logger, Now: g.o.Now,
			})
		},
	}
	if !s.BotToken.IsZero() {
		a.id = slack.Bot(s.BotToken)
	}
	if s.Mode == slack.Events {
		a.hook = "mode"
	}
	return a
}

// defaults fills in what is not said.
func (s SlackConfig) defaults() SlackConfig {
	s.Mode = cmp.Or(s.Mode, slack.Socket)
	s.Streaming = cmp.Or(s.Streaming, streamNative)
	s.WhileBusy = s.waiting().Defaults().WhileBusy
	s.Agent = cmp.Or(s.Agent, "main")
	s.BudgetPerDay = cmp.Or(s.BudgetPerDay, budgets.None)
	return s
}

func (s SlackConfig) validate(_ Config, _ string, add func(key, format string, args ...any), check func(key string, err error)) {
	if s.BotToken.IsZero() {
		add("bot_token", "required: the token of the bot, xoxb-…, from the page \"OAuth & Permissions\" of the app")
	} else {
		check("", slack.CheckBotToken(s.BotToken))
	}
	check("", slack.CheckMode(s.Mode, s.AppToken, s.SigningSecret))
	check("api_url", slack.CheckAPIURL(s.APIURL))
	if s.Streaming != streamNative && s.Streaming != streamEdits {
		add("streaming", "%q is neither native nor edits", s.Streaming)
	}
	if len(s.Prompts) > slack.MostPrompts {
		add("prompts", "Slack shows at most %d", slack.MostPrompts)
	}
}
