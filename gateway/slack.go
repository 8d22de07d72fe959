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
	return account{
		name: name, path: "channels.slack." + name, agent: s.Agent, access: s.Access, budgetPerDay: s.BudgetPerDay,
		waiting: s.waiting(), secrets: []Secret{s.BotToken, s.AppToken, s.SigningSecret}, person: slack.CheckPerson, group: slack.CheckGroup,
		lease: "channel.slack." + slack.Bot(s.BotToken),
		open: func(g *Gateway) (channels.Channel, error) {
			return slack.New(slack.Options{
				Name: name, Mode: s.Mode, BotToken: s.BotToken, AppToken: s.AppToken, SigningSecret: s.SigningSecret, APIURL: s.APIURL,
				Commands: commands.Names(), Prompts: s.Prompts, NoStream: s.Streaming == streamEdits,
				Observer: g.watched, Log: g.o.Logger, Now: g.o.Now,
			})
		},
	}
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

// validateSlack returns the paths of the apps to which Slack brings events.
func (c Config) validateSlack(add func(path, format string, args ...any), check func(path string, err error)) (hooked []string) {
	bots := map[string]string{} // by their tokens
	for _, name := range named(c.Channels.Slack) {
		s, path := c.Channels.Slack[name], "channels.slack."+name
		if s.BotToken.IsZero() {
			add(path+".bot_token", "required: the token of the bot, xoxb-…, from the page \"OAuth & Permissions\" of the app")
		} else {
			check(path, slack.CheckBotToken(s.BotToken))
			bot := slack.Bot(s.BotToken)
			if other, twice := bots[bot]; twice {
				add(path+".bot_token", "the bot is that of channels.slack.%s already; only one may receive for it", other)
			}
			bots[bot] = name
		}
		check(path, slack.CheckMode(s.Mode, s.AppToken, s.SigningSecret))
		check(path+".api_url", slack.CheckAPIURL(s.APIURL))
		if s.Streaming != streamNative && s.Streaming != streamEdits {
			add(path+".streaming", "%q is neither native nor edits", s.Streaming)
		}
		if len(s.Prompts) > slack.MostPrompts {
			add(path+".prompts", "Slack shows at most %d", slack.MostPrompts)
		}
		if s.Mode == slack.Events {
			hooked = append(hooked, path+".mode")
		}
	}
	return hooked
}
