package errands

import (
	"cmp"
	"time"

	"parley/gateway/schedule"
	"parley/problems"
)

// Config is what people may have agents do at set times.
type Config struct {
	// Enabled gives agents the tool schedule, and has what people have scheduled run. Default
	// false.
	Enabled bool `yaml:"enabled"`
	// PerPerson is how many schedules of one person may wait on an account. Default 10.
	PerPerson int `yaml:"per_person"`
	// Shortest is the shortest time between two runs of one schedule. Default 1h.
	Shortest time.Duration `yaml:"shortest"`
	// TimeZone is the IANA name of the zone in which people tell times, unless they say another.
	// Default UTC.
	TimeZone string `yaml:"time_zone"`
	// MaxIterations are the model calls of a run; default 10. MaxCost is what it may cost with its
	// sub-agents, dollars or none; default 0.25.
	MaxIterations int    `yaml:"max_iterations"`
	MaxCost       string `yaml:"max_cost"`
	// Tools may write in runs. Those that only read need not be named, and others never run.
	Tools []string `yaml:"tools"`
}

// Bounds of Config.
const (
	mostPerPerson  = 100
	mostShortest   = 366 * 24 * time.Hour
	mostIterations = 200
)

// Defaults returns c with what it leaves out.
func (c Config) Defaults() Config {
	c.PerPerson = cmp.Or(c.PerPerson, 10)
	c.Shortest = cmp.Or(c.Shortest, time.Hour)
	c.TimeZone = cmp.Or(c.TimeZone, "UTC")
	c.MaxIterations = cmp.Or(c.MaxIterations, 10)
	c.MaxCost = cmp.Or(c.MaxCost, "0.25")
	return c
}

// Validate reports the mistakes of c, which has its defaults, but for those in Tools and MaxCost.
func (c Config) Validate() error {
	var ps problems.List
	if c.PerPerson < 1 || c.PerPerson > mostPerPerson {
		ps.Add("per_person", "%d is not 1 to %d", c.PerPerson, mostPerPerson)
	}
	if c.Shortest < schedule.Shortest || c.Shortest > mostShortest {
		ps.Add("shortest", "%s is not between %s and %s", c.Shortest, schedule.Shortest, mostShortest)
	}
	if _, err := schedule.LoadZone(c.TimeZone); err != nil {
		ps.Check("time_zone", err)
	}
	if c.MaxIterations < 1 || c.MaxIterations > mostIterations {
		ps.Add("max_iterations", "%d is not 1 to %d", c.MaxIterations, mostIterations)
	}
	return ps.Err()
}
