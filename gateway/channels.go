package gateway

import (
	"cmp"
	"time"

	"parley/channels"
	"parley/channels/telegram"
	"parley/gateway/budgets"
	"parley/gateway/intake"
	"parley/gateway/worker"
)

// ChannelsConfig is the bot accounts, by network and by an instance name that
// becomes a label in the metrics. Instance names are unique over all networks.
type ChannelsConfig struct {
	Telegram map[string]TelegramConfig `yaml:"telegram"`
	Slack    map[string]SlackConfig    `yaml:"slack"`
	Signal   map[string]SignalConfig   `yaml:"signal"`
}

// TelegramConfig is one Telegram bot.
type TelegramConfig struct {
	Token  Secret `yaml:"token"`
	APIURL string `yaml:"api_url"` // default https://api.telegram.org
	Agent  string `yaml:"agent"`   // which agent answers; default main
	// Webhook has Telegram bring updates to the listener of Config.Webhooks.
	// Default: parley asks for them by long polls.
	Webhook telegram.Webhook `yaml:"webhook"`
	Access  intake.Access    `yaml:"access"`
	// BudgetPerDay is what may be spent on everything that comes by this
	// account, an amount of dollars or none. Default none.
	BudgetPerDay string `yaml:"budget_per_day"`
	// WhileBusy is what becomes of what a person says while a turn of theirs
	// runs: steer, queue, collect or interrupt. Default steer.
	WhileBusy worker.WhileBusy `yaml:"while_busy"`
	// Debounce is how long a person must be quiet before what they sent is taken
	// up, as one. Default 0: at once.
	Debounce time.Duration `yaml:"debounce"`
	// DebounceMax is the longest such wait in all. Default: five times Debounce.
	DebounceMax time.Duration `yaml:"debounce_max"`
}

// waiting is what becomes of messages that wait.
func (t TelegramConfig) waiting() worker.Waiting {
	return worker.Waiting{WhileBusy: t.WhileBusy, Debounce: t.Debounce, DebounceMax: t.DebounceMax}
}

// account is what is common to accounts of all networks.
func (t TelegramConfig) account(name string) account {
	return account{
		name: name, path: "channels.telegram." + name, agent: t.Agent, access: t.Access, budgetPerDay: t.BudgetPerDay,
		waiting: t.waiting(), secrets: []Secret{t.Token}, person: telegram.CheckPerson, group: telegram.CheckGroup,
		lease: "channel.telegram." + telegram.Bot(t.Token),
		open: func(g *Gateway) (channels.Channel, error) {
			return telegram.New(telegram.Options{
				Name: name, Token: t.Token, APIURL: t.APIURL, Webhook: t.Webhook, Observer: g.watched, Log: g.o.Logger, Now: g.o.Now,
			})
		},
	}
}

// defaults fills in what is not said.
func (t TelegramConfig) defaults() TelegramConfig {
	t.WhileBusy = t.waiting().Defaults().WhileBusy
	t.Agent = cmp.Or(t.Agent, "main")
	t.BudgetPerDay = cmp.Or(t.BudgetPerDay, budgets.None)
	return t
}

// validateTelegram returns the paths of the webhooks.
func (c Config) validateTelegram(add func(path, format string, args ...any), check func(path string, err error)) (hooked []string) {
	bots := map[string]string{} // by their own id
	for _, name := range named(c.Channels.Telegram) {
		t, path := c.Channels.Telegram[name], "channels.telegram."+name
		if t.Token.IsZero() {
			add(path+".token", "required: the token that BotFather gave for the bot")
		} else {
			check(path+".token", telegram.CheckToken(t.Token))
		}
		if id := telegram.Bot(t.Token); id != "" {
			if other, twice := bots[id]; twice {
				add(path+".token", "the bot is that of channels.telegram.%s already; only one may receive for it", other)
			}
			bots[id] = name
		}
		check(path+".api_url", telegram.CheckAPIURL(t.APIURL))
		check(path+".webhook", t.Webhook.Validate(t.APIURL))
		if t.Webhook.URL != "" {
			hooked = append(hooked, path+".webhook")
		}
	}
	return hooked
}
