package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/agent"
	"parley/channels"
	"parley/costs"
	"parley/gateway/budgets"
	"parley/gateway/errands"
	"parley/gateway/messages"
	"parley/gateway/schedule"
	"parley/problems"
	"parley/sessionkeys"
)

// CronConfig is what agents do at set times.
type CronConfig struct {
	// AllowAdmin lets jobs run tools that need a person's permission elsewhere, if the job lists
	// them. Default false: no job runs them, listed or not. (conflict 9)
	AllowAdmin bool        `yaml:"allow_admin"`
	Jobs       []JobConfig `yaml:"jobs"`
	// People is what people may have done at set times, as they say in a chat.
	People errands.Config `yaml:"people"`
}

// JobConfig is one job: what an agent is told, when, and where its answer goes.
type JobConfig struct {
	Name     string        `yaml:"name"`
	Schedule string        `yaml:"schedule"`  // a crontab's five fields; or Every
	Every    time.Duration `yaml:"every"`     // counted from midnight UTC of 1970-01-01
	TimeZone string        `yaml:"time_zone"` // of Schedule, by its IANA name; default UTC
	Prompt   string        `yaml:"prompt"`
	Agent    string        `yaml:"agent"` // default: who answers people there
	To       JobTarget     `yaml:"to"`

	// Tools may write. Those that only read need not be named.
	Tools         []string         `yaml:"tools"`
	MaxIterations int              `yaml:"max_iterations"` // model calls of a run; default 10
	MaxCost       string           `yaml:"max_cost"`       // of a run, sub-agents included; default: the agent's max_turn_cost
	Timeout       time.Duration    `yaml:"timeout"`        // of a run; default: worker.turn_timeout
	Misfire       schedule.Misfire `yaml:"misfire"`        // default skip
	Enabled       *bool            `yaml:"enabled"`        // default true
}

// JobTarget is where the result of a job goes: a group or a person that the account's access lists.
type JobTarget struct {
	Account string `yaml:"account"` // instance name
	Group   string `yaml:"group"`
	Person  string `yaml:"person"`
	Thread  string `yaml:"thread"` // in the group; default: none
}

// Bounds of jobs.
const (
	defaultJobIterations = 10
	maxJobs              = 100
	maxJobTimeout        = 24 * time.Hour
)

func (c CronConfig) filled() CronConfig {
	c.People = c.People.Defaults()
	c.Jobs = slices.Clone(c.Jobs)
	for i, j := range c.Jobs {
		j.MaxIterations = cmp.Or(j.MaxIterations, defaultJobIterations)
		j.MaxCost = cmp.Or(j.MaxCost, budgets.Unlimited)
		j.Misfire = cmp.Or(j.Misfire, schedule.Skip)
		if j.Enabled == nil {
			enabled := true
			j.Enabled = &enabled
		}
		c.Jobs[i] = j
	}
	return c
}

// JobsByName returns the jobs of settings that Validate accepts, but for those of JobsBehind.
func (c Config) JobsByName() map[string]schedule.Job {
	m := make(map[string]schedule.Job, len(c.Cron.Jobs))
	for _, j := range c.Cron.Jobs {
		if job, ok := j.placed(c); ok {
			m[j.Name] = job
		}
	}
	return m
}

// JobsBehind returns the paths of the jobs that go by what c has not: a bot account that a reload did
// not open, so that they need a restart.
func (c Config) JobsBehind() (paths []string) {
	for i, j := range c.Cron.Jobs {
		if _, ok := j.placed(c); !ok {
			paths = append(paths, fmt.Sprintf("cron.jobs[%d]", i))
		}
	}
	return paths
}

// placed returns what is to run of j; false: there is nowhere to run it.
func (j JobConfig) placed(c Config) (schedule.Job, bool) {
	var ignored problems.List
	job := j.job(c, &ignored, "")
	return job, job.Key != (sessionkeys.Key{})
}

// validateCron reports the mistakes in the jobs.
func validateCron(c Config, ps *problems.List) {
	if n := len(c.Cron.Jobs); n > maxJobs {
		ps.Add("cron.jobs", "%d jobs are more than %d", n, maxJobs)
	}
	named := map[string]int{}
	listed := false
	for i, j := range c.Cron.Jobs {
		path := fmt.Sprintf("cron.jobs[%d]", i)
		if first, twice := named[j.Name]; twice && j.Name != "" {
			ps.Add(path+".name", "the name %s is that of cron.jobs[%d] already", j.Name, first)
		}
		named[j.Name] = i
		listed = listed || len(j.Tools) > 0
		j.job(c, ps, path)
	}
	ps.Check("cron.people", c.Cron.People.Validate())
	if _, err := budgets.Parse(c.Cron.People.MaxCost); err != nil {
		ps.Check("cron.people.max_cost", err)
	}
	for i, tool := range c.Cron.People.Tools {
		at := fmt.Sprintf("cron.people.tools[%d]", i)
		ps.Check(at, c.checkToolName(tool))
		if tool == errands.ToolName {
			ps.Add(at, "what is scheduled schedules nothing itself")
		}
	}
	if c.Cron.AllowAdmin && !listed {
		ps.Add("cron.allow_admin", "has no effect: no job lists tools")
	}
}

// job returns what is to run of j, and reports its mistakes.
func (j JobConfig) job(c Config, ps *problems.List, path string) schedule.Job {
	out := schedule.Job{
		Name: j.Name, Prompt: strings.TrimSpace(j.Prompt), Channel: j.To.Account, Tools: j.Tools, AllowAdmin: c.Cron.AllowAdmin,
		MaxIterations: j.MaxIterations, Timeout: j.Timeout, Misfire: j.Misfire, Enabled: j.Enabled != nil && *j.Enabled,
	}
	if !instanceName.MatchString(j.Name) {
		ps.Add(path+".name", "%q is no name of a job, which is %s", j.Name, instanceName)
	}
	timing, at, err := schedule.NewTiming(j.Schedule, j.Every, j.TimeZone)
	ps.Check(path+"."+at, err)
	out.Timing = timing
	switch _, command := messages.ParseCommand(out.Prompt); {
	case out.Prompt == "":
		ps.Add(path+".prompt", "%w: what the agent is told", problems.ErrRequired)
	case command:
		ps.Add(path+".prompt", "begins like a command, and jobs give none")
	case len(out.Prompt) > messages.MaxText:
		ps.Add(path+".prompt", "%d bytes are more than %d", len(out.Prompt), messages.MaxText)
	}
	if j.MaxIterations < 1 || j.MaxIterations > maxIterations {
		ps.Add(path+".max_iterations", "%d is not 1 to %d", j.MaxIterations, maxIterations)
	}
	if j.Timeout < 0 || j.Timeout > maxJobTimeout {
		ps.Add(path+".timeout", "%s is not between 0 and %s", j.Timeout, maxJobTimeout)
	}
	ps.Check(path+".misfire", j.Misfire.Validate())
	if out.MaxCost, err = budgets.Parse(j.MaxCost); err != nil {
		ps.Check(path+".max_cost", err)
	}
	a, ok := j.To.account(c.Accounts(), ps, path+".to")
	if !ok {
		return out
	}
	out.To = a.addressOf(j.To)
	name := cmp.Or(j.Agent, c.Bindings.Bound(a).AgentFor(channels.Message{Address: out.To, Sender: channels.Sender{ID: j.To.Person}}))
	j.validateAgent(c, ps, path, name, out.MaxCost)
	if key, err := schedule.KeyFor(name, j.Name, out.To); err == nil { // else the agent or the name is wrong, which is said
		out.Key = key
	}
	return out
}

// validateAgent checks what a job says against the agent that does it.
func (j JobConfig) validateAgent(c Config, ps *problems.List, path, name string, most costs.Amount) {
	ag, ok := c.Agents[name]
	if !ok {
		if j.Agent != "" { // else the account or a binding is wrong, which is said
			ps.Add(path+".agent", "no agent %q%s", name, have(name, c.Agents))
		}
		return
	}
	limit, err := budgets.Parse(c.Budgets.Turn)
	switch {
	case most > 0 && !slices.Contains(ag.Middleware, agent.PriceLimitName):
		ps.Add(path+".max_cost", "has no effect: %s is not in middleware of agent %s", agent.PriceLimitName, name)
	case err == nil && limit > 0 && most >= limit:
		ps.Add(path+".max_cost", "has no effect: budgets.turn ends a run at %s; give less", limit.Display())
	}
	for i, tool := range j.Tools {
		at := fmt.Sprintf("%s.tools[%d]", path, i)
		switch err := c.checkToolName(tool); {
		case err != nil:
			ps.Check(at, err)
		case ag.Tools != nil && !slices.Contains(ag.Tools, tool):
			ps.Add(at, "the agent %s has no tool %s; agents.%s.tools gives it one", name, tool, name)
		case slices.Contains(j.Tools[:i], tool):
			ps.Add(at, "%s stands here a second time", tool)
		}
	}
}

// account returns the one of accounts by which something goes to a target at that path; false: there
// is none, or it may not go there.
func (to JobTarget) account(accounts []Account, ps *problems.List, path string) (Account, bool) {
	i := slices.IndexFunc(accounts, func(a Account) bool { return a.Name == to.Account })
	switch {
	case to.Account == "":
		ps.Add(path+".account", "%w: the bot account by which it goes", problems.ErrRequired)
		return Account{}, false
	case i < 0:
		ps.Add(path+".account", "no account %q%s", to.Account, haveAccounts(to.Account, accounts))
		return Account{}, false
	case (to.Group == "") == (to.Person == ""):
		ps.Add(path, "%w: one of group and person, to whom it goes", problems.ErrRequired)
		return Account{}, false
	case to.Person != "" && to.Thread != "":
		ps.Add(path+".thread", "a person's direct messages have no threads")
	}
	a := accounts[i]
	key, list, allowed := "group", "groups", a.Access.ListsGroup(a.addressOf(to))
	check := Binding{Group: to.Group, Person: to.Person}
	if to.Person != "" {
		key, list, allowed = "person", "people", slices.Contains(a.Access.People, to.Person)
	}
	if err := a.checkID(check); err != nil {
		ps.Check(path+"."+key, err)
		return a, false
	}
	if !allowed {
		ps.Add(path+"."+key, "%s is not in %s.access.%s, so nothing may be sent there without being asked", to.Group+to.Person, a.Path, list)
		return a, false
	}
	return a, true
}

// addressOf returns the address of a target at the account. Where the network's own id of the
// account is not known before it is connected, that of its lease stands for it.
func (a Account) addressOf(to JobTarget) sessionkeys.Address {
	at := sessionkeys.Address{Channel: a.Network.Name, Account: cmp.Or(a.ID, a.Name), Kind: sessionkeys.Group, Peer: to.Group, Thread: to.Thread}
	if to.Person != "" {
		at.Kind, at.Peer = sessionkeys.DM, to.Person
	}
	return at
}
