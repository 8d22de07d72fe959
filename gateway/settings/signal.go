package settings

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/channels"
	"parley/channels/signal"
	"parley/problems"
)

// SignalConfig is one account on Signal, by way of signal-cli.
type SignalConfig struct {
	Common

	Account string `yaml:"account"` // the bot's own number, as +491511234567, or its ACI
	// ACI is the account's own UUID. Default: signal-cli is asked for it.
	ACI string `yaml:"aci"`
	// Command starts signal-cli, which parley keeps running: the program and its
	// first arguments. Default signal-cli, unless there is a URL.
	Command []string `yaml:"command"`
	// URL is where a signal-cli daemon listens that parley does not run. What is
	// said while parley does not listen to it may be lost.
	URL string `yaml:"url"`
	// Proxy is the address of the proxy over which an http, https or tcp URL is
	// reached. Default: none, whatever the environment says.
	Proxy Secret `yaml:"proxy"`
	// TrustNewIdentities is what becomes of keys that signal-cli has not seen:
	// on-first-use (default), always or never. With Command only.
	TrustNewIdentities string `yaml:"trust_new_identities"`
	// NoteToSelf is for a further device of a person's own account: what they write to
	// themselves is the one conversation, and nothing else is read. Default false.
	NoteToSelf bool `yaml:"note_to_self"`
	// ReadReceipts tells who wrote a direct message that it was read. Default
	// false.
	ReadReceipts bool `yaml:"read_receipts"`
	// GroupContext is as for TelegramConfig.
	GroupContext int `yaml:"group_context"`
}

// Bot describes the account of that instance name by what accounts of all networks have.
func (s SignalConfig) Bot(name string) Account {
	a := s.account()
	a.GroupContext, a.Proxy = s.GroupContext, s.Proxy
	a.Person, a.Group, a.ID, a.IDKey, a.IDNoun = signal.CheckPerson, signal.CheckGroup, s.Account, "account", "account"
	a.Private = signal.DataDir(s.Command, os.Getenv)
	a.Open = func(e Env) (channels.Channel, error) {
		o := s.options(name, e)
		var err error
		if o.Proxy, err = channels.ProxyAt(s.Proxy); err != nil {
			return nil, err // it says what of
		}
		return signal.New(o)
	}
	return a
}

func (s SignalConfig) options(name string, e Env) signal.Options {
	o := signal.Options{
		Common:  e.options(name),
		Account: s.Account, ACI: s.ACI, URL: s.URL, Command: s.Command, Trust: s.TrustNewIdentities,
		Keeper: e.Keeper, NoteToSelf: s.NoteToSelf, ReadReceipts: s.ReadReceipts, Reactions: s.Reactions, IsRelevant: e.Heeds, IsUsed: e.Uses,
	}
	o.Groups = s.Access.Groups
	o.Dir = filepath.Join(e.StateDir, signalDir, name)
	for _, id := range s.Access.People {
		if strings.HasPrefix(id, "+") {
			o.Numbers = append(o.Numbers, id)
		}
	}
	return o
}

// signalDir is the folder of all journals, in the state folder.
const signalDir = "signal"

// signalJournals returns the folder in which this process keeps the journals of
// signal-cli, or nil when it keeps no signal-cli running.
func (c Config) signalJournals() *Disk {
	for _, s := range c.Channels.Signal {
		if s.URL == "" && c.HasRole(RoleGateway) {
			return &Disk{Name: "journals of signal-cli", Metric: "journals", Dir: filepath.Join(c.StateDir, signalDir)}
		}
	}
	return nil
}

// Defaults fills in what is not said.
func (s SignalConfig) Defaults() SignalConfig {
	if s.URL == "" {
		s.TrustNewIdentities = cmp.Or(s.TrustNewIdentities, "on-first-use")
		if len(s.Command) == 0 {
			s.Command = []string{"signal-cli"}
		}
	}
	s.Common = s.withDefaults()
	return s
}

// Validate reports the mistakes in what only this network has.
func (s SignalConfig) Validate(c Config, name string) error {
	var ps problems.List
	if s.Account == "" {
		ps.Add("account", "%w: the bot's own number with its country, as +491511234567, or its ACI; docs/signal.md says how to register it", problems.ErrRequired)
	} else {
		ps.Check("account", signal.CheckAccount(s.Account))
	}
	ps.Check("aci", signal.CheckACI(s.ACI))
	ps.Check("reactions", signal.CheckReactions(s.Reactions))
	ps.Check("url", signal.CheckURL(s.URL))
	if s.Proxy.IsZero() || s.URL != "" && !strings.HasPrefix(s.URL, "unix:") {
		ps.Check("proxy", channels.CheckProxy(s.Proxy))
	} else {
		ps.Add("proxy", "only for a url of http, https or tcp: signal-cli connects to Signal by itself and has a proxy setting of its own, see docs/signal.md")
	}
	ps.Check("trust_new_identities", signal.CheckTrust(s.TrustNewIdentities))
	ps.Check("group_context", checkGroupContext(s.GroupContext, s.Access))
	if s.NoteToSelf {
		if s.Access.Pairing {
			ps.Add("access.pairing", "with note_to_self nothing is read but notes to oneself, so no stranger is given a code")
		}
		if !s.Access.Everyone && !slices.Contains(s.Access.People, s.Account) && !slices.Contains(s.Access.People, s.ACI) {
			ps.Add("note_to_self", "the account is not listed in access.people: list it, since a note to self needs access like any message")
		}
		if len(s.Access.Groups) > 0 {
			ps.Add("access.groups", "with note_to_self nothing is read but notes to oneself, and no group")
		}
	}
	switch {
	case s.URL != "" && len(s.Command) > 0:
		ps.Add("command", "not together with url: parley runs signal-cli itself, or uses a running one")
	case s.URL != "" && s.TrustNewIdentities != "":
		ps.Add("trust_new_identities", "belongs to who runs signal-cli, which with a url is not parley")
	case s.URL == "" && slices.Contains(s.Command, ""):
		ps.Add("command", "holds an empty word")
	case s.URL == "" && filepath.IsAbs(c.StateDir):
		ps.Check("", signal.CheckDir(filepath.Join(c.StateDir, signalDir, name)))
	}
	return ps.Err()
}

// AdaptersBehind returns the paths of access lists of c of which the adapters that were opened
// by started do not know everything: on Signal, who is listed by number is looked up, and
// invitations to listed groups are accepted, by the lists that the adapter was opened with.
func (c Config) AdaptersBehind(started Config) (paths []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Channels.Signal)) {
		now, then := c.Channels.Signal[name].Access, started.Channels.Signal[name].Access
		added := func(now, then []string, counts func(string) bool) bool {
			return slices.ContainsFunc(now, func(id string) bool { return counts(id) && !slices.Contains(then, id) })
		}
		if added(now.People, then.People, func(id string) bool { return strings.HasPrefix(id, "+") }) {
			paths = append(paths, "channels.signal."+name+".access.people")
		}
		if added(now.Groups, then.Groups, func(string) bool { return true }) {
			paths = append(paths, "channels.signal."+name+".access.groups")
		}
	}
	return paths
}
