package preferences

import (
	"slices"
	"strconv"
	"strings"

	"parley/sessionkeys"
)

// Menu is among which models people may choose at an agent. Models are named
// provider/model; the model's own name may hold slashes.
type Menu struct {
	Own    string   // the agent's model, which answers where nothing is chosen
	Models []string // that may be chosen, in the operator's order; empty: none
	// PerSession: a choice holds in the session in which it was made; false: in all sessions
	// of the conversation. (requirements AB03)
	PerSession bool
}

// State is what became of a choice.
type State int

// States of a choice.
const (
	Unchosen   State = iota // nothing is chosen
	Chosen                  // it counts
	Disallowed              // it names a model that may not be chosen (any more)
)

// Apply returns which model answers in a session of a conversation with that choice.
func (m Menu) Apply(c Choice, session sessionkeys.SessionID) (model string, s State) {
	switch {
	case c.Model == "" || m.PerSession && c.Session != session:
		return m.Own, Unchosen
	case !slices.Contains(m.Models, c.Model):
		return m.Own, Disallowed
	}
	return c.Model, Chosen
}

// Offers reports whether there is anything to choose.
func (m Menu) Offers() bool {
	return slices.ContainsFunc(m.Models, func(model string) bool { return model != m.Own })
}

// Find returns the models that a person means: that of a number; or that of a whole name,
// with its provider or without; or all of which the name has the words.
func (m Menu) Find(words string) []string {
	if n, err := strconv.Atoi(strings.TrimPrefix(words, "#")); err == nil {
		if n < 1 || n > len(m.Models) {
			return nil
		}
		return m.Models[n-1 : n]
	}
	words = strings.ToLower(words)
	for _, fits := range []func(model string) bool{
		func(model string) bool { return model == words },
		func(model string) bool { return nameOf(model) == words },
		func(model string) bool { return strings.Contains(model, words) },
	} {
		if found := m.matching(fits); len(found) > 0 {
			return found
		}
	}
	return nil
}

func (m Menu) matching(fits func(model string) bool) (found []string) {
	for _, model := range m.Models {
		if fits(strings.ToLower(model)) {
			found = append(found, model)
		}
	}
	return found
}

// Providers returns the providers of the models that may be chosen, in their order.
func (m Menu) Providers() (all []string) {
	for _, model := range m.Models {
		if p := ProviderOf(model); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// FindProvider returns the first model of each provider that a person means: of that with
// the name, or of all of which the name has the words.
func (m Menu) FindProvider(words string) (found []string) {
	all := m.Providers()
	fits := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return !strings.EqualFold(p, words) })
	if len(fits) == 0 {
		fits = slices.DeleteFunc(all, func(p string) bool { return !strings.Contains(strings.ToLower(p), strings.ToLower(words)) })
	}
	for _, p := range fits {
		i := slices.IndexFunc(m.Models, func(model string) bool { return ProviderOf(model) == p })
		found = append(found, m.Models[i])
	}
	return found
}

// ProviderOf returns the provider of provider/model.
func ProviderOf(model string) string {
	p, _, _ := strings.Cut(model, "/")
	return p
}

// nameOf returns the model's own name of provider/model.
func nameOf(model string) string {
	_, name, _ := strings.Cut(model, "/")
	return name
}

// NothingOffered is what people read who want to choose where there is nothing to choose.
func NothingOffered(m Menu) string {
	return "Here `" + m.Own + "` answers. There is no other model that you may choose: that is up to the operator."
}
