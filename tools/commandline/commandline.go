// Package commandline makes tools of the operator's own command lines: a program, its
// arguments with places for the model's values, and a schema that the values must fit.
//
//	tools:
//	  - name: kubectl_get
//	    description: Get Kubernetes resources
//	    category: read
//	    cmd: kubectl
//	    args: [get, "{{resource}}"]
//	    optional_args:
//	      namespace: [-n, "{{namespace}}"]
//	    parameters:
//	      resource: {type: string, enum: [pods, services]}
//	      namespace: {type: string, pattern: "[a-z0-9-]+", optional: true}
//
// No shell is involved. A value is checked first, and then becomes a part of one argument; it
// can neither add an argument nor become an option, unless the operator allows that. The
// walls around the program are the Runner's. See docs/decisions/0082.
package commandline

import (
	"time"

	"parley/tools"
	"parley/tools/programs"
	"parley/tools/web/guard"
)

// Spec is one tool as its operator describes it.
type Spec struct {
	Name        string         `yaml:"name" json:"name"`
	Description string         `yaml:"description" json:"description"` // for the model
	Category    tools.Category `yaml:"category" json:"category"`
	// Cmd is the program: an absolute path, or a name that is looked up on PATH.
	Cmd string `yaml:"cmd" json:"cmd"`
	// Args are its arguments. {{name}} in one is the value of a parameter; {{{{ is {{ itself.
	Args []string `yaml:"args" json:"args,omitempty"`
	// OptionalArgs follow Args, in this order, each where its parameter is given; those of a
	// boolean where it is true.
	OptionalArgs []Optional  `yaml:"optional_args" json:"optional_args,omitempty"`
	Parameters   []Parameter `yaml:"parameters" json:"parameters,omitempty"`
	// Env are variables of the program, on top of those that every program gets (H02).
	Env []programs.Variable `yaml:"env" json:"-"`
	// ReadOnly are absolute paths of files and folders that the program may read, besides the
	// system's own.
	ReadOnly []string `yaml:"read_only" json:"-"`
	// Network is where the program may connect to.
	Network programs.Network `yaml:"network" json:"network,omitzero"`
	// AllowPrivate are networks in which hosts of Network may be although they are not public.
	AllowPrivate []guard.Network `yaml:"allow_private" json:"-"`
	// Timeout is how long a call may take; 0: as long as other tools of the agent.
	Timeout time.Duration `yaml:"timeout" json:"-"`
	// Price is what one call costs, in dollars; empty: nothing.
	Price string `yaml:"price" json:"-"`
	// Output is how many bytes a result has at most; 0: tools.DefaultOutput (F22).
	Output int `yaml:"output" json:"-"`

	// Program is what Cmd was when the description was read; zero: nobody has looked. As JSON
	// it is its path alone, and nothing that runs.
	Program programs.Program `json:"program,omitzero"`
}

// Parameter is one value that the model gives.
type Parameter struct {
	Name        string   `yaml:",key" json:"name"`
	Type        string   `yaml:"type" json:"type"` // one of Types
	Description string   `yaml:"description" json:"description,omitempty"`
	Enum        []string `yaml:"enum" json:"enum,omitempty"`       // of strings
	Pattern     string   `yaml:"pattern" json:"pattern,omitempty"` // RE2, for the whole of a string
	// MinLength and MaxLength are in characters; without them a string has 1 to
	// DefaultMaxLength.
	MinLength *int     `yaml:"minLength" json:"min_length,omitempty"`
	MaxLength *int     `yaml:"maxLength" json:"max_length,omitempty"`
	Minimum   *float64 `yaml:"minimum" json:"minimum,omitempty"` // of numbers
	Maximum   *float64 `yaml:"maximum" json:"maximum,omitempty"`
	Optional  bool     `yaml:"optional" json:"optional,omitempty"`
	// AllowDash lets a value begin an argument with "-", and so be an option of the program.
	AllowDash bool `yaml:"allow_dash" json:"allow_dash,omitempty"`
}

// Types of parameters.
const (
	String  = "string"
	Integer = "integer"
	Number  = "number"
	Boolean = "boolean"
)

// Types returns the types that a parameter may have.
func Types() []string { return []string{String, Integer, Number, Boolean} }

// Limits of the length of a string, in characters. A kernel takes 128 KiB for one argument.
const (
	DefaultMaxLength = 4096
	mostLength       = 32_000
)

// Optional is the arguments that a parameter brings along.
type Optional struct {
	Parameter string   `yaml:",key" json:"parameter"`
	Args      []string `yaml:",value" json:"args"`
}

// Secrets returns what no output of the tools may show.
func Secrets(specs []Spec) (all []string) {
	for _, s := range specs {
		for _, v := range s.Env {
			all = append(all, v.Secrets...)
		}
	}
	return all
}

// Names returns the names of the tools, in order.
func Names(specs []Spec) []string {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	return names
}

// Networked returns the names of the tools that have the machine's network.
func Networked(specs []Spec) (names []string) {
	for _, s := range specs {
		if s.Network.Whole {
			names = append(names, s.Name)
		}
	}
	return names
}

// parameter returns the parameter of that name.
func (s Spec) parameter(name string) (Parameter, bool) {
	for _, p := range s.Parameters {
		if p.Name == name {
			return p, true
		}
	}
	return Parameter{}, false
}

func (s Spec) parameterNames() []string {
	names := make([]string, len(s.Parameters))
	for i, p := range s.Parameters {
		names[i] = p.Name
	}
	return names
}
