package policy

import (
	"time"

	"parley/problems"
)

// Turns is how turns run in one worker process.
type Turns struct {
	// Turns is how many turns run at once; messages beyond wait in the log, and
	// their conversations take turns. Default 32.
	Turns int `yaml:"turns"`
	// PersonTurns is how many of them may be of one person, in all of that person's
	// conversations by one bot account; further ones wait behind their own. -1: no
	// limit. Default 2, or less where Turns leaves no slot for others.
	PersonTurns int `yaml:"person_turns"`
	// Lease is how long a worker that says nothing keeps its conversations, unless its
	// process is seen to have ended.
	// Default 10s.
	Lease time.Duration `yaml:"lease"`
	// TurnTimeout ends a turn that takes longer, and tells the person. Default
	// 10m.
	TurnTimeout time.Duration `yaml:"turn_timeout"`
	// ContextPrepTimeout is how long a turn waits for a summary of its conversation that its
	// next request can do without; -1: as long as it takes. Default 30s. (requirements B21)
	ContextPrepTimeout time.Duration `yaml:"context_prep_timeout"`
	// Grace is how long running turns may go on after the process was asked to
	// end; then they are handed over. Default 20s.
	Grace time.Duration `yaml:"grace"`
	// Attempts is how often the same message is taken up before it goes to the
	// dead letters. Default 3.
	Attempts int `yaml:"attempts"`
}

// Defaults fills in what is zero.
func (c Turns) Defaults() Turns {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if c.Turns == 0 {
		c.Turns = 32
	}
	if c.PersonTurns == 0 {
		c.PersonTurns = max(1, min(2, c.Turns-1))
	}
	if c.Attempts == 0 {
		c.Attempts = 3
	}
	set(&c.Lease, 10*time.Second)
	set(&c.TurnTimeout, 10*time.Minute)
	set(&c.ContextPrepTimeout, 30*time.Second)
	set(&c.Grace, 20*time.Second)
	return c
}

// Validate says everything that cannot work, joined.
func (c Turns) Validate() error {
	var ps problems.List
	if c.Turns < 1 {
		ps.Add("turns", "%d is not at least 1", c.Turns)
	}
	if c.PersonTurns < -1 || c.PersonTurns == 0 {
		ps.Add("person_turns", "%d is neither at least 1 nor unlimited", c.PersonTurns)
	}
	if c.Attempts < 1 {
		ps.Add("attempts", "%d is not at least 1", c.Attempts)
	}
	if c.Lease < time.Second {
		ps.Add("lease", "%s is shorter than a second", c.Lease)
	}
	if c.TurnTimeout < time.Second {
		ps.Add("turn_timeout", "%s is shorter than a second", c.TurnTimeout)
	}
	if c.ContextPrepTimeout < time.Second && c.ContextPrepTimeout != -1 {
		ps.Add("context_prep_timeout", "%s is shorter than a second, and not -1", c.ContextPrepTimeout)
	}
	if c.Grace < 0 {
		ps.Add("grace", "%s is negative", c.Grace)
	}
	return ps.Err()
}
