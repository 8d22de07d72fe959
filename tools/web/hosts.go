package web

import (
	"errors"
	"slices"
	"strings"

	"parley/tools/web/guard"
)

// everywhere stands for all hosts in a list of them.
const everywhere = "*"

var errPattern = errors.New("neither a host such as example.org, nor *.example.org for all hosts below it, nor *")

// readPattern returns a host of a list as hosts are compared: exact, *.suffix, or *.
func readPattern(text string) (string, error) {
	host, below := strings.CutPrefix(text, "*.")
	if text == everywhere {
		return text, nil
	}
	host, err := guard.CanonicalHost(host)
	if err != nil {
		return "", errPattern
	}
	if below {
		return "*." + host, nil
	}
	return host, nil
}

// readPatterns reads a list; those that are no hosts are left out.
func readPatterns(list []string) (all []string) {
	for _, text := range list {
		if p, err := readPattern(text); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// contains reports whether a list of patterns has a canonical host. *.example.org does not
// have example.org itself.
func contains(patterns []string, host string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		suffix, below := strings.CutPrefix(p, "*")
		return p == host || p == everywhere || below && len(host) > len(suffix) && strings.HasSuffix(host, suffix)
	})
}
