package match_test

import (
	"strings"
	"testing"

	"parley/tools/match"
)

func TestCompile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		options match.Options
		text    string
		matches bool
		reach   int
	}{
		{"a.c", match.Options{}, "abc", true, 1 << 16},
		{"a.c", match.Options{Literal: true}, "abc", false, 1 << 16},
		{"A.C", match.Options{IgnoreCase: true}, "abc", true, 1 << 16},
		{"(?:(?:a?){30}){30}b", match.Options{}, "ab", true, 9500}, // many instructions: little text
	} {
		p, err := match.Compile(c.pattern, c.options)
		if err != nil {
			t.Fatal(err)
		}
		if p.MatchString(c.text) != c.matches || p.Reach > c.reach || p.Reach < 1000 {
			t.Errorf("%q: matches %v, looks at %d bytes", c.pattern, p.MatchString(c.text), p.Reach)
		}
	}
	for pattern, want := range map[string]string{
		"(":                       "no regular expression",
		"(?:(?:abc){100}){9}":     "too large",
		strings.Repeat("a", 1001): "longer than 1000 bytes",
	} {
		if _, err := match.Compile(pattern, match.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", pattern, err)
		}
	}
}
