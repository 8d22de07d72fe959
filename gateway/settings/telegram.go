package settings

import (
	"cmp"

	"parley/channels"
	"parley/channels/telegram"
	"parley/gateway/messages"
	"parley/problems"
)

// TelegramConfig is one Telegram bot.
type TelegramConfig struct {
	Common

	Token  Secret `yaml:"token"`
	APIURL string `yaml:"api_url"` // default https://api.telegram.org
	// Proxy is the address of the proxy over which Telegram is reached, or direct.
	// Default: as HTTPS_PROXY and NO_PROXY of the environment say.
	Proxy Secret `yaml:"proxy"`
	// Pace is how many times the limits that Telegram publishes the bot may send and
	// edit, for a bot to which Telegram allows more. Default 1.
	Pace int `yaml:"pace"`
	// Webhook has Telegram bring updates to the listener of Config.Webhooks.
	// Default: parley asks for them by long polls.
	Webhook telegram.Webhook `yaml:"webhook"`
	// GroupContext is how many messages of a group in Access.Groups, that were not said
	// to the bot, its model reads with the next that is; default 0: none is kept.
	GroupContext int `yaml:"group_context"`
	// Questions is who is shown in groups what an agent asks permission for: everybody, or approvers
	// (only those who may decide; the others read that it waits), for which the bot has to be an
	// administrator there. Default everybody.
	Questions string `yaml:"questions"`
}

// Bot describes the account of that instance name by what accounts of all networks have.
func (t TelegramConfig) Bot(name string) Account {
	a := t.account()
	a.GroupContext, a.Secrets, a.Proxy = t.GroupContext, []Secret{t.Token}, t.Proxy
	a.Person, a.Group, a.ID, a.IDKey, a.IDNoun = telegram.CheckPerson, telegram.CheckGroup, telegram.BotID(t.Token), "token", "bot"
	a.PrivateQuestions = t.Questions == questionsApprovers
	a.Open = func(e Env) (channels.Channel, error) {
		proxy, err := e.Proxy(t.Proxy)
		if err != nil {
			return nil, err
		}
		return telegram.New(telegram.Options{
			Common: e.options(name),
			Token:  t.Token, APIURL: t.APIURL, Proxy: proxy, Webhook: t.Webhook, Pace: float64(t.Pace), Reactions: t.Reactions,
			Groups: len(t.Access.Groups) > 0, Commands: telegramCommands(),
		})
	}
	if t.Webhook.URL != "" {
		a.Hook = "webhook"
	}
	return a
}

// telegramCommands returns what Telegram suggests.
func telegramCommands() (out []telegram.Command) {
	for _, c := range messages.Menu() {
		out = append(out, telegram.Command{Name: c.Name, Does: c.Does})
	}
	return out
}

// Defaults fills in what is not said.
func (t TelegramConfig) Defaults() TelegramConfig {
	t.Common = t.withDefaults()
	t.Pace = cmp.Or(t.Pace, 1)
	t.Questions = cmp.Or(t.Questions, questionsEverybody)
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
	checkEither(&ps, "questions", t.Questions, questionsApprovers, questionsEverybody)
	ps.Check("group_context", checkGroupContext(t.GroupContext, t.Access))
	ps.Check("webhook", t.Webhook.Validate(t.APIURL))
	return ps.Err()
}
