// Package settings is everything that an operator can say about a gateway: values, what
// holds where nothing is said, and what cannot be meant.
//
// The parts of a gateway declare what they obey themselves, where that does not make who
// reads it import what runs; here it is composed, and held together: an agent's provider is
// there, names of accounts are unique. The table of networks says what a chat network adds:
// the configuration of its accounts, and how one of them opens its adapter.
package settings

import (
	"cmp"
	"log/slog"
	"maps"
	"regexp"
	"time"

	"parley/agent"
	"parley/agent/pressure"
	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/attachments"
	"parley/gateway/budgets"
	"parley/gateway/goals"
	"parley/gateway/ops"
	"parley/gateway/policy"
	"parley/gateway/prices"
	"parley/gateway/tracing"
	"parley/gateway/webhooks"
	"parley/llm"
	"parley/subagents"
	"parley/tools"
	"parley/tools/files"
	"parley/tools/sandbox"
)

// Config is everything an operator says about a gateway. The zero value of a
// field means its default; a Config that Validate accepts can be built.
type Config struct {
	// ReadFrom are absolute paths of the files from which this was read: the configuration
	// itself, and those that hold its secrets.
	ReadFrom []string

	// StateDir holds all that must survive: the database, the message log, and
	// a workspace for each session. One process uses it at a time, unless log and
	// database are elsewhere.
	StateDir string `yaml:"state_dir"`
	// Name is this process's stable name among the workers. Default: the host's
	// name.
	Name string `yaml:"name"`
	// Roles are what this process does: gateway (channels) and worker (turns).
	// Default both. One alone needs others with the rest, on a message log and a
	// store that they share.
	Roles []string `yaml:"roles"`

	Log       LogConfig              `yaml:"log"`
	Channels  ChannelsConfig         `yaml:"channels"`
	Providers Providers              `yaml:"providers"`
	Agents    map[string]AgentConfig `yaml:"agents"`
	Session   SessionConfig          `yaml:"session"`
	// Bindings say which agent answers in single groups, to single people, or on a network.
	Bindings Bindings `yaml:"bindings"`
	// Skills are absolute paths of folders that hold Agent Skills, each in a folder of its
	// own.
	Skills      []string           `yaml:"skills"`
	Files       files.Config       `yaml:"files"`
	Bash        BashConfig         `yaml:"bash"`
	Tools       ToolsConfig        `yaml:"tools"`
	Sandbox     sandbox.Config     `yaml:"sandbox"`
	Web         WebConfig          `yaml:"web"`
	MCP         MCPConfig          `yaml:"mcp"`
	Attachments attachments.Config `yaml:"attachments"`

	Transcription TranscriptionConfig `yaml:"transcription"`

	Workspaces WorkspacesConfig `yaml:"workspaces"`
	Retention  RetentionConfig  `yaml:"retention"`
	Broker     BrokerConfig     `yaml:"broker"`
	Store      StoreConfig      `yaml:"store"`
	Worker     policy.Turns     `yaml:"worker"`
	Subagents  subagents.Config `yaml:"subagents"`
	Retry      RetryConfig      `yaml:"retry"`
	Circuit    CircuitConfig    `yaml:"circuit"`
	Context    pressure.Policy  `yaml:"context"`
	Titles     TitlesConfig     `yaml:"titles"`
	Goals      goals.Config     `yaml:"goals"`
	Approvals  approvals.Config `yaml:"approvals"`
	Cron       CronConfig       `yaml:"cron"`
	Budgets    budgets.Config   `yaml:"budgets"`
	Limits     policy.Limits    `yaml:"limits"`
	Prices     prices.Config    `yaml:"prices"`
	Ops        ops.Config       `yaml:"ops"`
	Tracing    tracing.Config   `yaml:"tracing"`
	Admin      AdminConfig      `yaml:"admin"`
	Page       PageConfig       `yaml:"page"`
	Webhooks   webhooks.Config  `yaml:"webhooks"`
	Reload     ReloadConfig     `yaml:"reload"`
}

// LogConfig is how the process talks to its operator, on standard error.
type LogConfig struct {
	Level  string `yaml:"level"`  // debug, info, warn or error; default info
	Format string `yaml:"format"` // text or json; default text on a terminal, else json
}

// SlogLevel returns the level, which Validate accepts.
func (c LogConfig) SlogLevel() (level slog.Level) {
	_ = level.UnmarshalText([]byte(c.Level)) // info otherwise
	return level
}

// Secret is a token or key in the configuration. Nothing prints it.
type Secret = channels.Secret

// NewSecret takes s into keeping.
func NewSecret(s string) Secret { return channels.NewSecret(s) }

var instanceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Defaults fills in what is not said.
func (c Config) Defaults() Config {
	if len(c.Roles) == 0 {
		c.Roles = processRoles()
	}
	c.Session = c.Session.filled()
	c.Worker = c.Worker.Defaults()
	c.Files = c.Files.Defaults()
	c.Sandbox = c.Sandbox.Defaults()
	c.Sandbox.Getenv = nil // the gateway gives it; two configurations can be compared
	c.Web = c.Web.filled()
	c.MCP.Serve = c.MCP.Serve.Defaults()
	c.Attachments = c.Attachments.Defaults()
	c.Transcription = c.Transcription.Defaults()
	c.Workspaces = c.Workspaces.Defaults()
	c.Admin = c.Admin.Defaults(c.StateDir)
	c.Subagents = c.Subagents.Defaults()
	c.Cron = c.Cron.filled()
	c.Budgets = c.Budgets.Defaults()
	c.Limits = c.Limits.Defaults()
	if c.Ops.Listen == "" {
		c.Ops.Listen = ops.DefaultListen
	}
	c.Tracing = c.Tracing.Defaults()
	c.Page = c.Page.filled()
	c.Context = c.Context.Filled()
	c.Goals, c.Approvals = c.Goals.Defaults(), c.Approvals.Defaults()
	c.Retry = c.Retry.or(RetryConfig{
		Max: llm.DefaultMaxRetries, Base: llm.DefaultRetryBase, Cap: llm.DefaultRetryCap, Window: llm.DefaultRetryWindow, Statuses: llm.RetryStatuses(),
	})
	c.Circuit = c.Circuit.filled()
	if c.Log.Level == "" {
		c.Log.Level = "info"
	}
	if c.Broker.Sync == "" {
		c.Broker.Sync = "strict"
	}
	c.Broker.Replicas = cmp.Or(c.Broker.Replicas, 1)
	c.Broker.Lease = cmp.Or(c.Broker.Lease, 8*time.Second)
	if c.Broker.MaxBytes == 0 {
		c.Broker.MaxBytes = 1 << 30
	}
	c.Providers = maps.Clone(c.Providers)
	for name, p := range c.Providers {
		if p.Kind == "" {
			p.Kind = name
		}
		if p.Prices == "" {
			p.Prices = p.Kind
			if p.Kind == KindOpenAIResponses {
				p.Prices = KindOpenAI // another protocol, the same models
			}
		}
		p.Retry = p.Retry.or(c.Retry)
		c.Providers[name] = p
	}
	c.Agents = maps.Clone(c.Agents)
	for name, a := range c.Agents {
		if a.MaxIterations == 0 {
			a.MaxIterations = 20
		}
		a.Vision = cmp.Or(a.Vision, VisionAuto)
		if a.Middleware == nil {
			a.Middleware = agent.MiddlewareNames()
		}
		a.MaxTurnCost = cmp.Or(a.MaxTurnCost, budgets.Unlimited)
		_, m := c.Providers.modelConfig(a.Model)
		a.Window = cmp.Or(a.Window, m.Window)
		a.ModelSettings = a.or(c.Providers.ModelSettingsOf(a.Model)).or(ModelSettings{ToolTimeout: tools.DefaultTimeout, ToolOutput: tools.DefaultOutput})
		c.Agents[name] = a
	}
	for _, n := range c.Channels.Networks() {
		n.setDefaults(&c.Channels)
	}
	return c
}
