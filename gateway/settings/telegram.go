package settings

import (
	"cmp"
	"time"

	"parley/channels"
	"parley/channels/telegram"
	"parley/gateway/budgets"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/problems"
)

// TelegramConfig is one Telegram bot.
type TelegramConfig struct {
	Token  Secret `yaml:"token"`
	APIURL string `yaml:"api_url"` // default https://api.telegram.org
	// Proxy is the address of the proxy over which Telegram is reached, or direct.
	// Default: as HTTPS_PROXY and NO_PROXY of the environment say.
	Proxy Secret `yaml:"proxy"`
	// Pace is how many times the limits that Telegram publishes the bot may send and
	// edit, for a bot to which Telegram allows more. Default 1.
	Pace  int    `yaml:"pace"`
	Agent string `yaml:"agent"` // which agent answers; default main
	// Webhook has Telegram bring updates to the listener of Config.Webhooks.
	// Default: parley asks for them by long polls.
	Webhook telegram.Webhook `yaml:"webhook"`
	Access  policy.Access    `yaml:"access"`
	// GroupContext is how many messages of a group in Access.Groups, that were not said
	// to the bot, its model reads with the next that is; default 0: none is kept.
	GroupContext int `yaml:"group_context"`
	// BudgetPerDay is what may be spent on everything that comes by this
	// account, an amount of dollars or none. Default none.
	BudgetPerDay string `yaml:"budget_per_day"`
	// WhileBusy is what becomes of what a person says while a turn of theirs
	// runs: steer, queue, collect or interrupt. Default steer.
	WhileBusy policy.WhileBusy `yaml:"while_busy"`
	// Debounce is how long a person must be quiet before what they sent is taken
	// up, as one. Default 0: at once.
	Debounce time.Duration `yaml:"debounce"`
	// DebounceMax is the longest such wait in all. Default: five times Debounce.
	DebounceMax time.Duration `yaml:"debounce_max"`
	// Reactions are put on what people write: one while a turn works on it, another when
	// it was answered. Default: none.
	Reactions channels.Reactions `yaml:"reactions"`
}

// waiting is what becomes of messages that wait.
func (t TelegramConfig) waiting() policy.Waiting {
	return policy.Waiting{WhileBusy: t.WhileBusy, Debounce: t.Debounce, DebounceMax: t.DebounceMax}
}

// Bot describes the account of that instance name by what accounts of all networks have.
func (t TelegramConfig) Bot(name string) Account {
	a := Account{
		Agent: t.Agent, Access: t.Access, GroupContext: t.GroupContext, BudgetPerDay: t.BudgetPerDay, Waiting: t.waiting(), Reactions: t.Reactions, Secrets: []Secret{t.Token}, Proxy: t.Proxy,
		Person: telegram.CheckPerson, Group: telegram.CheckGroup, ID: telegram.BotID(t.Token), IDKey: "token", IDNoun: "bot",
		Open: func(e Env) (channels.Channel, error) {
			proxy, err := e.Proxy(t.Proxy)
			if err != nil {
				return nil, err
			}
			return telegram.New(telegram.Options{
				Common: channels.Common{Name: name, Observer: e.Observer, Log: e.Log, Now: e.Now},
				Token:  t.Token, APIURL: t.APIURL, Proxy: proxy, Webhook: t.Webhook, Pace: float64(t.Pace), Reactions: t.Reactions,
				Groups: len(t.Access.Groups) > 0, Commands: telegramCommands(),
			})
		},
	}
	if t.Webhook.URL != "" {
		a.Hook = "webhook"
	}
	return a
}

// telegramCommands are what Telegram suggests.
func telegramCommands() (out []telegram.Command) {
	for _, c := range messages.Menu() {
		out = append(out, telegram.Command{Name: c.Name, Does: c.Does})
	}
	return out
}

// Defaults fills in what is not said.
func (t TelegramConfig) Defaults() TelegramConfig {
	t.WhileBusy = t.waiting().Defaults().WhileBusy
	t.Pace = cmp.Or(t.Pace, 1)
	t.Agent = cmp.Or(t.Agent, "main")
	t.BudgetPerDay = cmp.Or(t.BudgetPerDay, budgets.None)
	return t
}

// Validate reports the mistakes in what only this network has.
func (t TelegramConfig) Validate(_ Config, _ string) error {
	var ps problems.List
	if t.Token.IsZero() {
		ps.Add("token", "%w: the token that BotFather gave for the bot", problems.ErrRequired)
	} else {
		ps.Check("token", telegram.CheckToken(t.Token))
	}
	ps.Check("api_url", telegram.CheckAPIURL(t.APIURL))
	ps.Check("proxy", channels.CheckProxy(t.Proxy))
	ps.Check("reactions", telegram.CheckReactions(t.Reactions))
	ps.Check("pace", telegram.CheckPace(t.Pace))
	ps.Check("group_context", checkGroupContext(t.GroupContext, t.Access))
	ps.Check("webhook", t.Webhook.Validate(t.APIURL))
	return ps.Err()
}
