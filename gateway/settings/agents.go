package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/problems"
	"parley/sessionkeys"
	"parley/tools"
)

// maxIterations is the most model calls of one turn.
const maxIterations = 200

// AgentConfig is who answers.
type AgentConfig struct {
	Model string `yaml:"model"` // provider/model
	// Fallbacks are models that answer in this order when Model does not work, each as
	// provider/model. They are asked as their providers' Models say.
	Fallbacks []string `yaml:"fallbacks"`
	// Choices are the models that people may choose for their conversation, each as
	// provider/model, asked as the fall-backs are. Default: Model and Fallbacks. An empty
	// list is none.
	Choices []string `yaml:"choices"`
	Prompt  string   `yaml:"prompt"` // added to parley's own short system message
	// Instructions are absolute paths of the operator's files that every system message
	// of the agent holds, in order: of a folder AGENTS.md and TOOLS.md, or one file.
	Instructions []string `yaml:"instructions"`
	// Skills are the skills the agent has, by name. Default: all of Config.Skills. An
	// empty list is none.
	Skills        []string `yaml:"skills"`
	MaxIterations int      `yaml:"max_iterations"` // model calls in one turn, 1 to 200; default 20
	// Middleware is what decides between two model calls of a turn whether it goes on, by
	// name, in the order in which it is asked. Default: all that [agent.StandardMiddleware] has.
	Middleware []string `yaml:"middleware"`
	// MaxTurnCost is what a message may have cost, sub-agents included, when its turn comes
	// to an end: dollars, or none. Default none. MaxTurnTokens is the same in tokens of the
	// agent's own model calls; 0: no limit.
	MaxTurnCost   string `yaml:"max_turn_cost"`
	MaxTurnTokens int64  `yaml:"max_turn_tokens"`
	Window        int    `yaml:"window"` // tokens of a request and its answer; 0: as the catalogue knows the model
	// Vision says whether pictures that people send are shown to the model: on, off
	// or auto (default: where the catalogue says that the model takes them).
	Vision string `yaml:"vision"`
	// Tools are the tools the agent has. Default: all built-in ones. An empty
	// list is none.
	Tools []string `yaml:"tools"`
	// DoneTool offers the tool done besides, to the agent and to sub-agents that it
	// starts: its message ends a turn.
	DoneTool bool `yaml:"done_tool"`

	// How its model is asked; where it says nothing, as its provider's models say.
	ModelSettings
}

// When an agent is shown pictures.
const (
	VisionAuto = "auto"
	VisionOn   = "on"
	VisionOff  = "off"
)

// validateAgents reports the mistakes in who answers.
func validateAgents(c Config, ps *problems.List) {
	if len(c.Agents) == 0 {
		ps.Add("agents", "%w: no agent is configured", problems.ErrRequired)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		path := "agents." + name
		if sessionkeys.CheckAgent(name) != nil {
			ps.Add(path, "an agent's name is lower-case letters, digits, - and _, at most 32, and not the word agent")
		}
		c.Agents[name].validate(c, ps, path)
	}
}

// validate reports the mistakes in an agent of c.
func (a AgentConfig) validate(c Config, ps *problems.List, path string) {
	provider, model, err := SplitModel(a.Model)
	switch {
	case a.Model == "":
		ps.Add(path+".model", "%w: which model answers, as provider/model", problems.ErrRequired)
	case err != nil:
		ps.Check(path+".model", err)
	default:
		if _, ok := c.Providers[provider]; !ok {
			ps.Add(path+".model", "no provider %q for the model %q%s", provider, model, have(provider, c.Providers))
		} else {
			a.validateAsked(c.Providers, ps, path, provider, model)
		}
	}
	a.validateFallbacks(c.Providers, ps, path)
	a.validateOthers(c.Providers, ps, path+".choices", a.Choices)
	if a.MaxIterations < 1 || a.MaxIterations > maxIterations {
		ps.Add(path+".max_iterations", "%d is not 1 to %d", a.MaxIterations, maxIterations)
	}
	a.validateMiddleware(c.Budgets, ps, path)
	if !slices.Contains([]string{VisionAuto, VisionOn, VisionOff}, a.Vision) {
		ps.Add(path+".vision", "%q is none of %s, %s, %s%s", a.Vision, VisionOn, VisionOff, VisionAuto, tools.Suggest(a.Vision, []string{VisionOn, VisionOff, VisionAuto}))
	}
	_, m := c.Providers.modelConfig(a.Model)
	if a.Window != m.Window { // else it is reported there
		validateWindow(ps, path, a.Window)
	}
	a.validateInstructions(c, ps, path)
	for i, t := range a.Tools {
		ps.Check(fmt.Sprintf("%s.tools[%d]", path, i), c.checkToolName(t))
	}
}

// minWindow is the least that the system message, the tools and an answer need.
const minWindow = 4096

func validateWindow(ps *problems.List, path string, tokens int) {
	if tokens != 0 && tokens < minWindow {
		ps.Add(path+".window", "%d tokens do not hold a system message and an answer: at least %d", tokens, minWindow)
	}
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

// have returns what there is in the place of a name that there is not: those that it
// resembles, else all.
func have[T any](name string, m map[string]T) string {
	names := slices.Sorted(maps.Keys(m))
	if len(names) == 0 {
		return "; none is configured"
	}
	return haveNames(name, names)
}

func haveNames(name string, names []string) string {
	return cmp.Or(tools.Suggest(name, names), "; there are "+strings.Join(names, ", "))
}
