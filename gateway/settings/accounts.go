package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"parley/channels"
	"parley/gateway/activity"
	"parley/gateway/budgets"
	"parley/gateway/policy"
	"parley/problems"
)

// Account is what every bot account has, whatever its network.
type Account struct {
	Network      Network
	Name         string // of the instance
	Path         string // in the configuration: channels.<network>.<name>
	Agent        string // that answers where no binding says another
	Access       policy.Access
	GroupContext int // messages that were not said to the bot
	BudgetPerDay string
	Waiting      policy.Waiting
	Reactions    channels.Reactions
	Activity     activity.Config
	// PrivateQuestions: in chats of several people only those who may decide are shown what an
	// agent needs permission for.
	PrivateQuestions bool
	Secrets          []Secret
	Proxy            Secret                // of which only what authenticates is one
	Person           func(id string) error // whether id can be a person's on this network
	Group            func(id string) error // and a group's
	Hook             string                // the key that asks for a webhook; empty: it has none

	// Private is a folder of keys that programs of the network keep on this machine, absolute
	// where it is known; empty: none.
	Private string

	// ID names the account itself at its network, under whatever instance name;
	// empty: that is not known. IDKey is the key that says it, and IDNoun what it
	// is the id of.
	ID, IDKey, IDNoun string

	// Open makes the adapter. It starts nothing.
	Open func(e Env) (channels.Channel, error)

	saysAgent bool // its own configuration names the agent

	// validateOwn reports mistakes in what only its network has.
	validateOwn func() error
}

// Env is what an adapter gets from the process that runs it.
type Env struct {
	StateDir string
	// Proxy returns the way to a network: over the proxy that an account configures, or, if
	// that is zero, as the environment says.
	Proxy func(configured Secret) (channels.Proxy, error)
	// Heeds and Uses report what becomes of a message that an account receives: whether its
	// sender may talk to the bot, and whether anything at all is done with it.
	Heeds    channels.Filter
	Uses     func(ctx context.Context, m channels.Message) bool
	Keeper   []string // see gateway.Options
	Observer channels.Observer
	Log      *slog.Logger
	Now      func() time.Time
}

// Lease names the lease under which one process receives and sends for the
// account. Such a name takes no plus, with which numbers begin.
func (a Account) Lease() string {
	return "channel." + a.Network.Name + "." + strings.TrimPrefix(a.ID, "+")
}

// Accounts lists all bot accounts, by their names.
func (c Config) Accounts() []Account {
	var all []Account
	for _, n := range c.Channels.Networks() {
		all = append(all, n.accounts(c)...)
	}
	slices.SortFunc(all, func(a, b Account) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path)) })
	return all
}

// WaitingByChannel returns what becomes of messages that wait, by channel instance.
func (c Config) WaitingByChannel() map[string]policy.Waiting {
	m := map[string]policy.Waiting{}
	for _, a := range c.Accounts() {
		m[a.Name] = a.Waiting
	}
	return m
}

// AccessByChannel returns who may talk to the bot and permit what it asks for, by channel
// instance.
func (c Config) AccessByChannel() map[string]policy.Access {
	m := map[string]policy.Access{}
	for _, a := range c.Accounts() {
		m[a.Name] = a.Access
	}
	return m
}

// ReactionsByChannel returns what is put on messages, by channel instance.
func (c Config) ReactionsByChannel() map[string]channels.Reactions {
	m := map[string]channels.Reactions{}
	for _, a := range c.Accounts() {
		if a.Reactions.Any() {
			m[a.Name] = a.Reactions
		}
	}
	return m
}

// PrivateQuestionsByChannel returns the channel instances that show questions for permission, in
// chats of several people, to those alone who may decide.
func (c Config) PrivateQuestionsByChannel() map[string]bool {
	m := map[string]bool{}
	for _, a := range c.Accounts() {
		if a.PrivateQuestions {
			m[a.Name] = true
		}
	}
	return m
}

// ActivityByChannel returns how much of what turns do is shown, by channel instance.
func (c Config) ActivityByChannel() map[string]activity.Config {
	m := map[string]activity.Config{}
	for _, a := range c.Accounts() {
		m[a.Name] = a.Activity
	}
	return m
}

// validate checks what holds for an account of any network.
func (a Account) validate(agents map[string]AgentConfig, limits policy.Limits, ps *problems.List) {
	if !instanceName.MatchString(a.Name) {
		ps.Add(a.Path, "an instance name is %s", instanceName)
	}
	if _, ok := agents[a.Agent]; !ok {
		ps.Add(a.Path+".agent", "no agent %q%s", a.Agent, have(a.Agent, agents))
	}
	ps.Check(a.Path+".access", a.Access.Validate(a.Person, a.Group))
	if a.Access.Pairing && limits.Strangers < 1 {
		ps.Add(a.Path+".access.pairing", "limits.strangers_per_hour is %d, so strangers are not answered and nobody is given a code", limits.Strangers)
	}
	_, err := budgets.Parse(a.BudgetPerDay)
	ps.Check(a.Path+".budget_per_day", err)
	ps.Check(a.Path, a.Waiting.Validate())
	ps.Check(a.Path+".activity", a.Activity.Defaults().Validate())
}

// validateChannels reports the mistakes in the bot accounts.
func validateChannels(c Config, ps *problems.List) {
	all := c.Accounts()
	if len(all) == 0 {
		ps.Add("channels", "%w: no bot account is configured", problems.ErrRequired)
	}
	named := map[string]string{}
	for _, a := range all {
		if other, twice := named[a.Name]; twice {
			ps.Add(a.Path, "the instance name is that of %s already: names are unique over all networks", other)
		}
		named[a.Name] = a.Path
		a.validate(c.Agents, c.Limits, ps)
	}
	var hooked []string
	for _, n := range c.Channels.Networks() {
		owners := map[string]string{} // the paths of accounts by their ids
		for _, a := range n.accounts(c) {
			ps.Check(a.Path, a.validateOwn())
			if other, twice := owners[a.ID]; twice && a.ID != "" {
				ps.Add(a.Path+"."+a.IDKey, "the %s is that of %s already; only one may receive for it", a.IDNoun, other)
			}
			owners[a.ID] = a.Path
			if a.Hook != "" {
				hooked = append(hooked, a.Path+"."+a.Hook)
			}
		}
	}
	ps.Check("webhooks", c.Webhooks.Validate())
	switch {
	case len(hooked) > 0 && c.Webhooks.Listen == "":
		ps.Add("webhooks.listen", "%w for %s: where to listen for what the network brings, host:port", problems.ErrRequired, hooked[0])
	case len(hooked) == 0 && c.Webhooks.Listen != "":
		ps.Add("webhooks.listen", "no channel has a webhook, so nothing would be served there")
	}
}

// mostGroupContext is the most messages of a group that come with a question.
const mostGroupContext = 200

var errNoGroups = errors.New("group context needs groups in access.groups, and none is listed")

func checkGroupContext(n int, a policy.Access) error {
	switch {
	case n < 0 || n > mostGroupContext:
		return fmt.Errorf("%d is not 0 to %d", n, mostGroupContext)
	case n > 0 && len(a.Groups) == 0:
		return errNoGroups
	}
	return nil
}
