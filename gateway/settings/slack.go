package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/channels"
	"parley/channels/slack"
	"parley/gateway/messages"
	"parley/problems"
)

// SlackConfig is one Slack app.
type SlackConfig struct {
	Common

	// Mode is socket (default: parley opens a WebSocket) or events (Slack brings
	// events to the listener of Config.Webhooks, to the path /slack/<name>).
	Mode          slack.Mode `yaml:"mode"`
	BotToken      Secret     `yaml:"bot_token"`
	AppToken      Secret     `yaml:"app_token"`      // of mode socket
	SigningSecret Secret     `yaml:"signing_secret"` // of mode events
	APIURL        string     `yaml:"api_url"`        // default https://slack.com/api
	// Proxy is as in TelegramConfig; the WebSocket too goes over it.
	Proxy Secret `yaml:"proxy"`
	// View is agent (default), assistant or none: which of Slack's surfaces the app
	// has, and with it what is a conversation. See slack.View.
	View slack.View `yaml:"view"`
	// Name and Description are how the app shows itself; of the manifest alone.
	Name        string `yaml:"name"`        // default parley
	Description string `yaml:"description"` // default "Ask me anything."
	// Streaming is native (default: answers grow as Slack's own streams, where it
	// can) or edits.
	Streaming string `yaml:"streaming"`
	// Replies is all (default: in a thread in which the bot has a conversation every
	// reply is for it) or mentions (in channels only what mentions it).
	Replies string `yaml:"replies"`
	// ThreadContext is how many messages of a thread, that were not said to the bot, its
	// model reads when it is mentioned there; default 20, -1: none.
	ThreadContext int `yaml:"thread_context"`
	// Questions is approvers (default: in channels a question for permission is shown to those
	// alone who may decide, and others read that it waits) or everybody.
	Questions string `yaml:"questions"`
	// Prompts are suggested to who opens the app; at most four.
	Prompts []string `yaml:"prompts"`
}

// Ways to show a growing answer, which replies are for the bot, and who is shown questions for
// permission.
const (
	questionsApprovers = "approvers"
	questionsEverybody = "everybody"

	repliesAll      = "all"
	repliesMentions = "mentions"

	mostThreadContext = mostGroupContext

	streamNative = "native"
	streamEdits  = "edits"
)

func (s SlackConfig) profile() slack.Profile {
	return slack.Profile{Name: s.Name, Description: s.Description}
}

// SlackManifest gives the manifest, JSON, of the app of the account of that instance
// name; the name may be empty when there is one account. url is where Slack reaches
// the listener of Config.Webhooks, for an account of mode events. The configuration
// need not be complete: no token is read.
func SlackManifest(c Config, name, url string) (json.RawMessage, error) {
	all := c.Defaults().Channels.Slack
	names := slices.Sorted(maps.Keys(all))
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	s, ok := all[name]
	switch {
	case len(names) == 0:
		return nil, errors.New("channels.slack: no account is configured")
	case name == "":
		return nil, fmt.Errorf("channels.slack: say which account: %s", strings.Join(names, ", "))
	case !ok:
		return nil, fmt.Errorf("channels.slack: no account %q: %s", name, strings.Join(names, ", "))
	}
	if url != "" {
		url = strings.TrimRight(url, "/") + "/slack/" + name
	}
	o := slack.ManifestOptions{Profile: s.profile(), View: s.View, Mode: s.Mode, Prompts: s.Prompts, Reacts: s.Reactions.Any(), URL: url}
	for _, d := range messages.Menu() {
		o.Commands = append(o.Commands, slack.Command{Name: d.Name, Description: d.Does})
	}
	m, err := slack.Manifest(o)
	if err != nil {
		return nil, fmt.Errorf("channels.slack.%s: %w", name, err)
	}
	return m, nil
}

// Bot describes the account of that instance name by what accounts of all networks have.
func (s SlackConfig) Bot(name string) Account {
	a := s.account()
	a.Secrets, a.Proxy = []Secret{s.BotToken, s.AppToken, s.SigningSecret}, s.Proxy
	a.PrivateQuestions = s.Questions != questionsEverybody
	a.Person, a.Group, a.IDKey, a.IDNoun = slack.CheckPerson, slack.CheckGroup, "bot_token", "bot"
	a.Open = func(e Env) (channels.Channel, error) {
		proxy, err := e.Proxy(s.Proxy)
		if err != nil {
			return nil, err
		}
		return slack.New(slack.Options{
			Common: e.options(name),
			Mode:   s.Mode, BotToken: s.BotToken, AppToken: s.AppToken, SigningSecret: s.SigningSecret, APIURL: s.APIURL, Proxy: proxy,
			View: s.View, Commands: messages.CommandNames(), Prompts: s.Prompts, NoStream: s.Streaming == streamEdits, MentionsOnly: s.Replies == repliesMentions, Around: s.ThreadContext, Reactions: s.Reactions,
			IsRelevant: e.Heeds,
		})
	}
	if !s.BotToken.IsZero() {
		a.ID = slack.BotID(s.BotToken)
	}
	if s.Mode == slack.Events {
		a.Hook = "mode"
	}
	return a
}

// Defaults fills in what is not said.
func (s SlackConfig) Defaults() SlackConfig {
	s.Mode = cmp.Or(s.Mode, slack.Socket)
	s.View = cmp.Or(s.View, slack.AgentView)
	s.Name = cmp.Or(s.Name, "parley")
	s.Description = cmp.Or(s.Description, "Ask me anything.")
	s.Streaming = cmp.Or(s.Streaming, streamNative)
	s.ThreadContext = cmp.Or(s.ThreadContext, 20)
	s.Replies = cmp.Or(s.Replies, repliesAll)
	s.Questions = cmp.Or(s.Questions, questionsApprovers)
	s.Common = s.withDefaults()
	return s
}

// Validate reports the mistakes in what only this network has.
func (s SlackConfig) Validate(_ Config, _ string) error {
	var ps problems.List
	if s.BotToken.IsZero() {
		ps.Add("bot_token", "%w: the token of the bot, xoxb-…, from the page \"OAuth & Permissions\" of the app", problems.ErrRequired)
	} else {
		ps.Check("", slack.CheckBotToken(s.BotToken))
	}
	ps.Check("", slack.CheckMode(s.Mode, s.AppToken, s.SigningSecret))
	ps.Check("api_url", slack.CheckAPIURL(s.APIURL))
	ps.Check("proxy", channels.CheckProxy(s.Proxy))
	ps.Check("", slack.CheckView(s.View))
	ps.Check("", slack.CheckProfile(s.profile()))
	ps.Check("reactions", slack.CheckReactions(s.Reactions))
	checkEither(&ps, "streaming", s.Streaming, streamNative, streamEdits)
	checkEither(&ps, "replies", s.Replies, repliesAll, repliesMentions)
	checkEither(&ps, "questions", s.Questions, questionsApprovers, questionsEverybody)
	if s.ThreadContext < -1 || s.ThreadContext > mostThreadContext {
		ps.Add("thread_context", "%d is neither -1 nor 1 to %d", s.ThreadContext, mostThreadContext)
	}
	if len(s.Prompts) > slack.MaxPrompts {
		ps.Add("prompts", "Slack shows at most %d", slack.MaxPrompts)
	}
	return ps.Err()
}
