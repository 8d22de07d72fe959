package files

import (
	"strings"
	"testing"
)

func TestAGlobMatchesWhatItSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, matches, not string }{
		{"*.go", "a.go b/c/d.go .go", "a.go.x a.god"},
		{"./*.go", "a.go b/c.go", "a.c"},
		{"b/*.go", "b/c.go", "c.go b/c/d.go x/b/c.go"},
		{"**/*.go", "a.go b/c/d.go", "a.c"},
		{"b/**", "b/c b/c/d", "b c/b/d"},
		{"b/", "b/c b/c/d", "b"},
		{"b/**/c.go", "b/c.go b/x/c.go b/x/y/c.go", "bc.go b/xc.go"},
		{"a?c", "abc x/axc", "ac a/c"},
		{"[a-c]x", "ax bx", "dx -x"},
		{"[!a-c]x", "dx", "ax"},
		{"b[!a]c", "bxc", "bac b/c"},
		{"[]x]", "] x", "a"},
		{"*.{yaml,yml}", "a.yml b/c.yaml", "a.json"},
		{"{**/x,y}/z", "x/z a/x/z y/z", "a/y/z"},
		{"{y,**/x}/z", "x/z a/x/z y/z", "a/y/z"},
		{"a{b,c{d,e}}", "ab acd ace", "a ac"},
		{`\*x`, "*x", "ax"},
		{"a+b(c).$", "a+b(c).$", "aab(c)x$"},
		{"a**b", "ab axxb", "a/b"},
		{"é?", "éü", "é"},
	} {
		re, err := compileGlob(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for _, path := range strings.Fields(c.matches) {
			if !re.MatchString(path) {
				t.Errorf("%s does not match %s", c.pattern, path)
			}
		}
		for _, path := range strings.Fields(c.not) {
			if re.MatchString(path) {
				t.Errorf("%s matches %s", c.pattern, path)
			}
		}
	}
	for _, pattern := range []string{"", "./", "/etc/*", "../x", "a/../b", "[a", "[", "[!", "{a,b", `a\`, "[z-a]"} {
		if re, err := compileGlob(pattern); err == nil {
			t.Errorf("%q became %s", pattern, re)
		}
	}
}

func FuzzANameMatchesItselfAsAPattern(f *testing.F) {
	for _, s := range []string{"a.go", "[x", "{a,b}", `\`, "**", "a?", "é", "x/y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = compileGlob(s) // does not panic
		name := strings.ReplaceAll(strings.ToValidUTF8(s, ""), "/", "")
		if name == "" {
			return
		}
		var quoted strings.Builder
		for _, r := range name {
			quoted.WriteString(`\` + string(r))
		}
		re, err := compileGlob(quoted.String())
		if err != nil {
			if len(name) > 500 {
				return
			}
			t.Fatalf("%q: %v", quoted.String(), err)
		}
		if !re.MatchString(name) || !re.MatchString("x/"+name) || re.MatchString(name+"x") {
			t.Fatalf("%s does not match %q alone", re, name)
		}
	})
}
