package activity

import (
	"cmp"

	"parley/problems"
	"parley/sessionkeys"
	"parley/tools"
)

// Level is how much of what a turn does people see.
type Level string

// Levels.
const (
	Off   Level = "off"   // nothing but that the bot is at work
	Brief Level = "brief" // what runs at this moment, on one line
	Full  Level = "full"  // the steps of the turn, and what the model thinks as far as it says so
)

// Config is how much people see in the chats of a bot account.
type Config struct {
	Direct Level `yaml:"direct"` // in direct messages; default brief
	Groups Level `yaml:"groups"` // in groups; default off
}

// Defaults fills in what is not said.
func (c Config) Defaults() Config {
	return Config{cmp.Or(c.Direct, Brief), cmp.Or(c.Groups, Off)}
}

// Validate reports the mistakes in c.
func (c Config) Validate() error {
	var ps problems.List
	for key, l := range map[string]Level{"direct": c.Direct, "groups": c.Groups} {
		if l != Off && l != Brief && l != Full {
			ps.Add(key, "%q is none of %s, %s, %s%s", l, Off, Brief, Full, tools.Suggest(string(l), []string{string(Off), string(Brief), string(Full)}))
		}
	}
	return ps.Err()
}

// In returns the level of a chat of that kind.
func (c Config) In(kind sessionkeys.Kind) Level {
	if kind == sessionkeys.DM {
		return c.Direct
	}
	return c.Groups
}
