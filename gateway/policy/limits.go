package policy

import (
	"cmp"

	"parley/problems"
)

// Limits are how much people may send. What is over a limit is not stored, and
// its sender is told once, until something is taken again. In each, -1 is no
// limit; 0 is the default where a configuration is read, and no limit elsewhere.
type Limits struct {
	// PersonPerMinute is how many messages of one person are taken in a minute,
	// in all chats of one bot account; PersonBurst how many at once after a
	// quiet time. An album or a long paste is one message.
	PersonPerMinute int `yaml:"person_per_minute"` // default 10
	PersonBurst     int `yaml:"person_burst"`      // default 5
	// GroupPerMinute is how many are taken from one group, all at once too.
	GroupPerMinute int `yaml:"group_per_minute"` // default 20
	// Queue is how many messages of one conversation may wait.
	Queue int `yaml:"queue"` // default 32
	// BotLoop is how many messages of one person in one chat are taken in a row
	// that come faster than anybody types, where the network does not say who is
	// a bot. What comes then is refused until one comes more slowly.
	BotLoop int `yaml:"bot_loop"` // default 10
	// Strangers is how many people who may not talk to a bot account are told so in
	// an hour, in direct messages, each once a day. -1 and 0: nobody is.
	Strangers int `yaml:"strangers_per_hour"` // default 20
}

// Defaults fills in what is not said.
func (l Limits) Defaults() Limits {
	l.PersonPerMinute = cmp.Or(l.PersonPerMinute, 10)
	l.PersonBurst = cmp.Or(l.PersonBurst, 5)
	l.GroupPerMinute = cmp.Or(l.GroupPerMinute, 20)
	l.Queue = cmp.Or(l.Queue, 32)
	l.BotLoop = cmp.Or(l.BotLoop, 10)
	l.Strangers = cmp.Or(l.Strangers, 20)
	return l
}

// Validate reports what cannot be meant.
func (l Limits) Validate() error {
	var ps problems.List
	for _, f := range []struct {
		name string
		n    int
	}{
		{"person_per_minute", l.PersonPerMinute},
		{"person_burst", l.PersonBurst},
		{"group_per_minute", l.GroupPerMinute},
		{"queue", l.Queue},
		{"bot_loop", l.BotLoop},
		{"strangers_per_hour", l.Strangers},
	} {
		if f.n < -1 {
			ps.Add(f.name, "%d is negative; what has no limit is unlimited", f.n)
		}
	}
	return ps.Err()
}
