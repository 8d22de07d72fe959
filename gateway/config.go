package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/channels"
	"parley/gateway/admin"
	"parley/gateway/attachments"
	"parley/gateway/budgets"
	"parley/gateway/ops"
	"parley/gateway/policy"
	"parley/gateway/prices"
	"parley/gateway/webhooks"
	"parley/llm"
	"parley/sessionkeys"
	"parley/subagents"
	"parley/tools/files"
)

// Config is everything an operator says about a gateway. The zero value of a
// field means its default; a Config that Validate accepts can be built.
type Config struct {
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

	Log         LogConfig                 `yaml:"log"`
	Channels    ChannelsConfig            `yaml:"channels"`
	Providers   map[string]ProviderConfig `yaml:"providers"`
	Agents      map[string]AgentConfig    `yaml:"agents"`
	Files       files.Config              `yaml:"files"`
	Attachments attachments.Config        `yaml:"attachments"`

	Transcription TranscriptionConfig `yaml:"transcription"`

	Workspaces WorkspacesConfig `yaml:"workspaces"`
	Broker     BrokerConfig     `yaml:"broker"`
	Store      StoreConfig      `yaml:"store"`
	Worker     policy.Turns     `yaml:"worker"`
	Subagents  subagents.Config `yaml:"subagents"`
	Retry      RetryConfig      `yaml:"retry"`
	Budgets    budgets.Config   `yaml:"budgets"`
	Limits     policy.Limits    `yaml:"limits"`
	Prices     prices.Config    `yaml:"prices"`
	Ops        ops.Config       `yaml:"ops"`
	Admin      admin.Config     `yaml:"admin"`
	Webhooks   webhooks.Config  `yaml:"webhooks"`
}

// LogConfig is how the process talks to its operator, on standard error.
type LogConfig struct {
	Level  string `yaml:"level"`  // debug, info, warn or error; default info
	Format string `yaml:"format"` // text or json; default text on a terminal, else json
}

// Kinds of providers.
const (
	KindAnthropic       = "anthropic"        // the Messages API
	KindOpenAI          = "openai"           // Chat Completions, of OpenAI or any compatible server
	KindOpenAIResponses = "openai-responses" // Responses, in which OpenAI's models keep their reasoning
)

func kinds() []string { return []string{KindAnthropic, KindOpenAI, KindOpenAIResponses} }

// ProviderConfig is one place where models run.
type ProviderConfig struct {
	Kind    string `yaml:"kind"` // default: the provider's own name
	APIKey  Secret `yaml:"api_key"`
	BaseURL string `yaml:"base_url"` // default: the provider's own
	// Prices names the part of the price catalogue that holds for this
	// provider's models. Default: its kind; openai for both of OpenAI's.
	Prices string `yaml:"prices"`
}

// RetryConfig is how often a failed model call is tried again. A call that has
// shown a word of its answer never is, nor one that waiting cannot mend.
type RetryConfig struct {
	Max    int           `yaml:"max_retries"` // after the first try; default 8, -1 for none
	Base   time.Duration `yaml:"base"`        // before the first retry, doubled each time; default 2s
	Cap    time.Duration `yaml:"cap"`         // longest wait, and longest that a provider may ask for; default 60s
	Window time.Duration `yaml:"window"`      // no try begins later than this after the first; default 2m
}

// AgentConfig is who answers.
type AgentConfig struct {
	Model         string `yaml:"model"`          // provider/model
	Prompt        string `yaml:"prompt"`         // added to parley's own short system message
	MaxIterations int    `yaml:"max_iterations"` // model calls in one turn, 1 to 200; default 20
	MaxTokens     int    `yaml:"max_tokens"`     // output of one call; 0: as much as the model has
	// Vision says whether pictures that people send are shown to the model: on, off
	// or auto (default: where the catalogue says that the model takes them).
	Vision string `yaml:"vision"`
	// Tools are the tools the agent has. Default: all built-in ones. An empty
	// list is none.
	Tools []string `yaml:"tools"`
}

// When an agent is shown pictures.
const (
	VisionAuto = "auto"
	VisionOn   = "on"
	VisionOff  = "off"
)

// BrokerConfig is where the message log is.
type BrokerConfig struct {
	// URL of a NATS server or cluster. Default: a server inside this process.
	URL string `yaml:"url"`
	// Listen opens the server inside this process to others, host:port.
	// Default: it has no port at all.
	Listen string `yaml:"listen"`
	// CredentialsFile and TokenFile authenticate at URL; TokenFile also guards
	// Listen. They are read at each connection, so they may be changed.
	CredentialsFile string `yaml:"credentials_file"`
	TokenFile       string `yaml:"token_file"`
	// CAFile is what the certificate of a server at URL must descend from, in PEM.
	// Default: what the system trusts.
	CAFile string `yaml:"ca_file"`
	// Sync is strict (default: what was accepted survives a power cut) or
	// relaxed (it survives the end of the process; a power cut may lose the
	// last second).
	Sync string `yaml:"sync"`
	// MaxBytes limits the log on disk. Default 1 GiB. When it is full nothing
	// new is accepted, and the networks are not told that it was.
	MaxBytes int64 `yaml:"max_bytes"`
	// Replicas is how many servers of the cluster at URL keep each message, 1 to
	// 5; with three, one of them may be lost. Default 1.
	Replicas int `yaml:"replicas"`
	// Lease is how long what only one process may do (receive for a bot, export
	// the cost) is kept from the others when that process dies, in whole seconds
	// from 2 to 60. Default 8 s: longer than the servers of a cluster need to choose
	// a leader, mostly, and short enough that a bot is received for again within ten
	// seconds. Only with URL.
	Lease time.Duration `yaml:"lease"`
}

// Secret is a token or key in the configuration. Nothing prints it.
type Secret = channels.Secret

// NewSecret takes s into keeping.
func NewSecret(s string) Secret { return channels.NewSecret(s) }

var instanceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Problem is one mistake in a Config, with the path of what is wrong.
type Problem struct {
	Path string // as in the file: providers.main.api_key
	Err  error
}

func (p Problem) Error() string { return p.Path + ": " + p.Err.Error() }
func (p Problem) Unwrap() error { return p.Err }

// Problems are all mistakes of a Config at once.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Defaults fills in what is not said.
func (c Config) Defaults() Config {
	if len(c.Roles) == 0 {
		c.Roles = roles()
	}
	c.Worker = c.Worker.Defaults()
	c.Files = c.Files.Defaults()
	c.Attachments = c.Attachments.Defaults()
	c.Transcription = c.Transcription.defaults()
	c.Workspaces = c.Workspaces.defaults()
	c.Admin = c.Admin.Defaults(c.StateDir)
	c.Subagents = c.Subagents.Defaults()
	c.Budgets = c.Budgets.Defaults()
	c.Limits = c.Limits.Defaults()
	if c.Ops.Listen == "" {
		c.Ops.Listen = ops.DefaultListen
	}
	c.Retry.Max = cmp.Or(c.Retry.Max, llm.DefaultMaxRetries)
	c.Retry.Base = cmp.Or(c.Retry.Base, llm.DefaultRetryBase)
	c.Retry.Cap = cmp.Or(c.Retry.Cap, llm.DefaultRetryCap)
	c.Retry.Window = cmp.Or(c.Retry.Window, llm.DefaultRetryWindow)
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
		c.Providers[name] = p
	}
	c.Agents = maps.Clone(c.Agents)
	for name, a := range c.Agents {
		if a.MaxIterations == 0 {
			a.MaxIterations = 20
		}
		a.Vision = cmp.Or(a.Vision, VisionAuto)
		c.Agents[name] = a
	}
	for _, n := range c.Channels.Networks() {
		n.setDefaults(&c.Channels)
	}
	return c
}

// Validate reports every mistake at once, as Problems, or nil. It is asked
// after Defaults.
func (c Config) Validate() error {
	var ps Problems
	add := func(path, format string, args ...any) {
		ps = append(ps, Problem{path, fmt.Errorf(format, args...)}) //nolint:err113 // the text is for the operator
	}
	check := func(path string, err error) {
		for _, e := range each(err) {
			ps = append(ps, Problem{path, e})
		}
	}
	switch {
	case c.StateDir == "":
		add("state_dir", "required: the folder that holds the database, the message log and the workspaces")
	case !filepath.IsAbs(c.StateDir):
		add("state_dir", "%s is not an absolute path", c.StateDir)
	}
	var level slog.Level
	if level.UnmarshalText([]byte(c.Log.Level)) != nil {
		add("log.level", "%q is none of debug, info, warn, error", c.Log.Level)
	}
	if !slices.Contains([]string{"", "text", "json"}, c.Log.Format) {
		add("log.format", "%q is neither text nor json", c.Log.Format)
	}
	if !slices.Contains([]string{"strict", "relaxed"}, c.Broker.Sync) {
		add("broker.sync", "%q is neither strict nor relaxed", c.Broker.Sync)
	}
	if c.Broker.MaxBytes < 1<<20 {
		add("broker.max_bytes", "%d is less than a mebibyte", c.Broker.MaxBytes)
	}
	if l := c.Broker.Lease; l < 2*time.Second || l > time.Minute || l%time.Second != 0 {
		add("broker.lease", "%s is not a whole number of seconds from 2s to 60s", l)
	}
	if c.Broker.URL != "" && c.Broker.Sync == "relaxed" {
		add("broker.sync", "belongs to the server in this process, but broker.url names another one")
	}
	log := c.broker()
	log.MaxBytes, log.Relaxed = 0, 0 // said above
	check("broker", log.Validate())
	c.validateRoles(add, check)
	check("ops", c.Ops.Validate())
	check("worker", c.Worker.Validate())
	if filepath.IsAbs(c.StateDir) { // else that is said
		check("admin", c.Admin.Validate())
	}
	c.validateSubagents(add, check)
	_, err := c.Prices.Ceiling.Price()
	check("prices.ceiling", err)
	check("limits", c.Limits.Validate())
	for key, err := range c.Budgets.Mistakes() {
		check("budgets."+key, err)
	}
	if c.Retry.Max < -1 || c.Retry.Max > 100 {
		add("retry.max_retries", "%d is not -1 to 100", c.Retry.Max)
	}
	for path, d := range map[string]time.Duration{"retry.base": c.Retry.Base, "retry.cap": c.Retry.Cap, "retry.window": c.Retry.Window} {
		if d < 0 {
			add(path, "%s is negative", d)
		}
	}

	c.validateChannels(add, check)
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p, path := c.Providers[name], "providers."+name
		if !instanceName.MatchString(name) {
			add(path, "a provider's name is %s", instanceName)
		}
		if !slices.Contains(kinds(), p.Kind) {
			add(path+".kind", "%q is none of %s", p.Kind, strings.Join(kinds(), ", "))
		}
		if p.APIKey.IsZero() && p.BaseURL == "" {
			add(path+".api_key", "required, unless base_url names a server that takes none")
		}
		if p.BaseURL != "" {
			check(path+".base_url", llm.CheckBaseURL(p.BaseURL))
		}
	}
	if len(c.Agents) == 0 {
		add("agents", "required: no agent is configured")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a, path := c.Agents[name], "agents."+name
		if sessionkeys.CheckAgent(name) != nil {
			add(path, "an agent's name is lower-case letters, digits, - and _, at most 32, and not the word agent")
		}
		provider, model, err := SplitModel(a.Model)
		switch {
		case a.Model == "":
			add(path+".model", "required: which model answers, as provider/model")
		case err != nil:
			check(path+".model", err)
		default:
			if _, ok := c.Providers[provider]; !ok {
				add(path+".model", "there is no provider %q for the model %q; %s", provider, model, have(c.Providers))
			}
		}
		if a.MaxIterations < 1 || a.MaxIterations > 200 {
			add(path+".max_iterations", "%d is not 1 to 200", a.MaxIterations)
		}
		if !slices.Contains([]string{VisionAuto, VisionOn, VisionOff}, a.Vision) {
			add(path+".vision", "%q is none of %s, %s, %s", a.Vision, VisionOn, VisionOff, VisionAuto)
		}
		if a.MaxTokens < 0 {
			add(path+".max_tokens", "%d is negative", a.MaxTokens)
		}
		for i, t := range a.Tools {
			if !slices.Contains(ToolNames(), t) {
				add(fmt.Sprintf("%s.tools[%d]", path, i), "there is no tool %q; there are %s", t, strings.Join(ToolNames(), ", "))
			}
		}
	}
	check("files", c.Files.Validate())
	check("attachments", c.Attachments.Validate())
	c.validateTranscription(add)
	check("workspaces", c.Workspaces.validate())
	for i, root := range c.Files.ExtraRoots {
		if overlap(filepath.Clean(root), filepath.Clean(c.StateDir)) {
			add(fmt.Sprintf("files.extra_roots[%d]", i), "%s and the state folder %s lie in each other: every conversation could read all others", root, c.StateDir)
		}
	}
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// overlap says whether one of two clean, absolute paths is the other or lies in
// it.
func overlap(a, b string) bool {
	in := func(dir, path string) bool {
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	}
	return filepath.IsAbs(a) && filepath.IsAbs(b) && (in(a, b) || in(b, a))
}

// each is the errors that errors.Join made one of, or err itself.
func each(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return []error{err}
	}
	return joined.Unwrap()
}

func have[T any](m map[string]T) string {
	if len(m) == 0 {
		return "none is configured"
	}
	return "there are " + strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

var errNoModel = errors.New("a model is written provider/model")

// SplitModel splits provider/model; the model's own name may hold slashes.
func SplitModel(s string) (provider, model string, err error) {
	provider, model, ok := strings.Cut(s, "/")
	if !ok || provider == "" || model == "" {
		return "", "", fmt.Errorf("%q: %w", s, errNoModel)
	}
	return provider, model, nil
}
