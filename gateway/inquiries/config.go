package inquiries

import (
	"cmp"
	"fmt"
	"time"

	"parley/problems"
	"parley/sessionkeys"
)

// Config is what programs may ask people through parley.
type Config struct {
	// People are whom programs may ask. Default: nobody, and nothing is asked.
	People []PersonConfig `yaml:"people"`
	// Timeout is how long a question stands: 1m to 720h. Default 24h.
	Timeout time.Duration `yaml:"timeout"`
	// PerPerson is how many questions to one person may wait. Default 5.
	PerPerson int `yaml:"per_person"`
}

// PersonConfig is somebody whom programs may ask.
type PersonConfig struct {
	Name    string `yaml:"name"`    // by which programs ask them
	About   string `yaml:"about"`   // what programs read of them, in a line; default: nothing
	Account string `yaml:"account"` // the bot account by which they are asked
	Person  string `yaml:"person"`  // their id on its network, as in its access.people
}

// Bounds of Config.
const (
	leastTimeout  = time.Minute
	mostTimeout   = 30 * 24 * time.Hour
	mostPerPerson = 50
	maxPeople     = 100
	maxAbout      = 200
)

// Defaults returns c with what it leaves out.
func (c Config) Defaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 24*time.Hour)
	c.PerPerson = cmp.Or(c.PerPerson, 5)
	return c
}

// Validate reports the mistakes of c, which has its defaults, but for those in accounts, names and
// people's ids.
func (c Config) Validate() error {
	var ps problems.List
	if c.Timeout < leastTimeout || c.Timeout > mostTimeout {
		ps.Add("timeout", "%s is not between %s and %s", c.Timeout, leastTimeout, mostTimeout)
	}
	if c.PerPerson < 1 || c.PerPerson > mostPerPerson {
		ps.Add("per_person", "%d is not 1 to %d", c.PerPerson, mostPerPerson)
	}
	if n := len(c.People); n > maxPeople {
		ps.Add("people", "%d people are more than %d", n, maxPeople)
	}
	named := map[string]int{}
	for i, p := range c.People {
		at := fmt.Sprintf("people[%d]", i)
		if first, twice := named[p.Name]; twice && p.Name != "" {
			ps.Add(at+".name", "the name %s is that of people[%d] already", p.Name, first)
		}
		named[p.Name] = i
		if len(p.About) > maxAbout {
			ps.Add(at+".about", "%d bytes are more than %d", len(p.About), maxAbout)
		}
	}
	return ps.Err()
}

// Person is somebody whom programs may ask, and where they are asked.
type Person struct {
	Name, About string
	Channel     string
	To          sessionkeys.Address // a direct message
	Sign        string              // with which commands begin there; empty: a slash
}

// Settings is what an operator may change while a Desk works.
type Settings struct {
	People    []Person
	Timeout   time.Duration
	PerPerson int
}
