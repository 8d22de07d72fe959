package tools

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"parley/costs"
	"parley/llm"
)

// ErrUnknownTool means that the set has no such tool, or that it was taken out.
var ErrUnknownTool = errors.New("unknown tool")

// Set is the tools that one agent has, in order. It never changes, so it may be
// shared; a nil *Set has no tools. What is not in a set is neither shown to the
// model nor run: both ask the same set.
type Set struct {
	tools []member
	index map[string]int
	defs  []llm.Definition
	bound []Tool // in the place of those of tools; nil: none, and so is each of its elements
}

type member struct {
	tool   Tool
	def    llm.Definition
	schema *Schema
	says   Announcement
	price  costs.Amount // of a call
}

// NewSet makes a set of ts in the order given. Names must be unique and fit
// [a-zA-Z0-9_-]{1,64}, which every provider takes; each schema must be one that
// arguments can be checked against.
func NewSet(ts ...Tool) (*Set, error) { return new(Set).With(ts...) }

// schemaOf returns the schema of a tool's arguments: that of a tool which New made is
// there already.
func schemaOf(t Tool) (*Schema, error) {
	if typed, ok := t.(interface{ compiledSchema() *Schema }); ok {
		return typed.compiledSchema(), nil
	}
	return ParseSchema(t.Definition().Schema)
}

// setOf returns the set of all, with their other names.
func setOf(all []member) *Set {
	s := &Set{tools: all, index: map[string]int{}}
	for i, m := range all {
		s.defs = append(s.defs, m.def)
		for _, name := range aliasesOf(m.tool) {
			s.index[name] = i
		}
	}
	for i, m := range all {
		s.index[m.def.Name] = i
	}
	return s
}

var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("tool name %q: only 1 to 64 letters, digits, _ and - of ASCII", name)
	}
	return nil
}

// Len returns how many tools there are.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.tools)
}

// Definitions returns what the model sees, in order. All callers share the slice, and nobody
// changes it.
func (s *Set) Definitions() []llm.Definition {
	if s == nil {
		return nil
	}
	return slices.Clip(s.defs)
}

// Names lists the tools in order.
func (s *Set) Names() []string {
	names := make([]string, s.Len())
	for i := range names {
		names[i] = s.tools[i].def.Name
	}
	return names
}

// Lookup finds a tool by its exact name, or by one of its other names.
func (s *Set) Lookup(name string) (Tool, bool) {
	if s.Len() == 0 {
		return nil, false
	}
	i, ok := s.index[name]
	if !ok {
		return nil, false
	}
	return s.tool(i), true
}

// Announcement returns the words for people of the tool of that name, or of one of its
// other names; zero when it has none.
func (s *Set) Announcement(name string) Announcement {
	if s.Len() == 0 {
		return Announcement{}
	}
	i, ok := s.index[name]
	if !ok {
		return Announcement{}
	}
	return s.tools[i].says
}

func announcementOf(t Tool) Announcement {
	if a, ok := t.(Announcer); ok {
		return a.Announcement()
	}
	return Announcement{}
}

// Checker is what a tool may do besides its schema to refuse arguments, before
// anybody is asked for permission. The error is a sentence for the model.
type Checker interface {
	Check(a Arguments) error
}

// Check reports what is wrong with the arguments of a call, in a sentence for the
// model, or returns nil: then the tool may be run with a.JSON(). It returns
// ErrUnknownTool when the set has no such tool.
func (s *Set) Check(name string, a Arguments) error {
	t, ok := s.Lookup(name)
	if !ok {
		return fmt.Errorf("%w %q", ErrUnknownTool, name)
	}
	if err := s.tools[s.index[name]].schema.Check(a); err != nil {
		return err
	}
	if c, ok := t.(Checker); ok {
		return c.Check(a)
	}
	return nil
}

// Filter returns the set of those tools whose name fits; order is kept. The narrower
// set both hides and refuses the others.
func (s *Set) Filter(fits func(name string) bool) *Set {
	var kept []member
	for i := range s.Len() {
		if m := s.tools[i]; fits(m.def.Name) {
			m.tool = s.tool(i)
			kept = append(kept, m)
		}
	}
	return setOf(kept)
}

// Bind returns s with each of ts in the place of the tool of its name: the same
// definition and schema, run by another value, for one turn for example. What
// is not in s stays out: binding never adds rights.
func (s *Set) Bind(ts ...Tool) *Set {
	if s.Len() == 0 || len(ts) == 0 {
		return s
	}
	// All but the tools themselves is shared: a set is bound for each turn.
	b := &Set{tools: s.tools, index: s.index, defs: s.defs, bound: make([]Tool, len(s.tools))}
	copy(b.bound, s.bound)
	renamed := false
	for _, t := range ts {
		name := t.Definition().Name
		i, ok := s.index[name]
		if !ok || s.tools[i].def.Name != name { // that may be the other name of a tool
			continue
		}
		renamed = renamed || !slices.Equal(aliasesOf(t), aliasesOf(s.tools[i].tool))
		b.bound[i] = t
	}
	if renamed {
		return setOf(b.members())
	}
	return b
}

// tool returns tool number i as it runs.
func (s *Set) tool(i int) Tool {
	if s.bound != nil && s.bound[i] != nil {
		return s.bound[i]
	}
	return s.tools[i].tool
}

// members returns a copy of the tools as they run.
func (s *Set) members() []member {
	if s == nil {
		return nil
	}
	all := slices.Clone(s.tools)
	for i := range all {
		all[i].tool = s.tool(i)
	}
	return all
}

func aliasesOf(t Tool) []string {
	if a, ok := t.(Aliased); ok {
		return a.Aliases()
	}
	return nil
}

// WithPrices returns s with the prices of calls by the names of their tools; those of tools
// that are not named stay. Names that are not in s are passed over. What is made of the set
// keeps its prices.
func (s *Set) WithPrices(of map[string]costs.Amount) *Set {
	priced := slices.Clone(s.members())
	for i := range priced {
		if p, ok := of[priced[i].def.Name]; ok {
			priced[i].price = p
		}
	}
	return setOf(priced)
}

// Price returns what a call costs of the tool of that name, or of one of its other names; 0:
// nothing.
func (s *Set) Price(name string) costs.Amount {
	if s.Len() == 0 {
		return 0
	}
	i, ok := s.index[name]
	if !ok {
		return 0
	}
	return s.tools[i].price
}

// Only keeps the named tools. Names that are not in s are passed over: a list
// can never add rights. No names keep nothing.
func (s *Set) Only(names ...string) *Set {
	return s.Filter(func(name string) bool { return slices.Contains(names, name) })
}

// Without takes the named tools out.
func (s *Set) Without(names ...string) *Set {
	return s.Filter(func(name string) bool { return !slices.Contains(names, name) })
}

// With returns s and then ts, which follow the rules of [NewSet].
func (s *Set) With(ts ...Tool) (*Set, error) {
	all := s.members()
	seen := map[string]bool{}
	for _, m := range all {
		seen[m.def.Name] = true
	}
	for _, t := range ts {
		def := t.Definition()
		if err := checkName(def.Name); err != nil {
			return nil, err
		}
		if seen[def.Name] {
			return nil, fmt.Errorf("two tools are named %q", def.Name)
		}
		seen[def.Name] = true
		schema, err := schemaOf(t)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", def.Name, err)
		}
		all = append(all, member{tool: t, def: def, schema: schema, says: announcementOf(t)})
	}
	return setOf(all), nil
}

// Nearest lists up to three tools whose names resemble name, closest first.
func (s *Set) Nearest(name string) []string { return Nearest(name, s.Names()) }
