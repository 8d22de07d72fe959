package guard

import (
	"errors"
	"slices"
	"strings"
)

// Everywhere stands for all hosts in a list of them.
const Everywhere Pattern = "*"

// Pattern is a host of a list, as hosts are compared: a canonical host, *.suffix, or
// Everywhere.
type Pattern string

var errPattern = errors.New("neither a host such as example.org, nor *.example.org for all hosts below it, nor *")

// ReadPattern reads a host of a list as an operator writes it.
func ReadPattern(text string) (Pattern, error) {
	if Pattern(text) == Everywhere {
		return Everywhere, nil
	}
	host, below := strings.CutPrefix(text, "*.")
	host, err := CanonicalHost(host)
	if err != nil {
		return "", errPattern
	}
	if below {
		return Pattern("*." + host), nil
	}
	return Pattern(host), nil
}

// ReadPatterns reads a list; those that are no hosts are left out.
func ReadPatterns(list []string) (all []Pattern) {
	for _, text := range list {
		if p, err := ReadPattern(text); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// Contains reports whether a list of patterns has a canonical host.
func Contains(patterns []Pattern, host string) bool {
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Matches(host) })
}

// Matches reports whether p is or has a canonical host. *.example.org does not have
// example.org itself.
func (p Pattern) Matches(host string) bool {
	suffix, below := strings.CutPrefix(string(p), "*")
	return string(p) == host || p == Everywhere || below && len(host) > len(suffix) && strings.HasSuffix(host, suffix)
}
