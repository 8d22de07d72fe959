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
		{"b[!a]c", "bxc", "bac"},
		{`[\]x]`, "] x", "a"},
		{"*.{yaml,yml}", "a.yml b/c.yaml", "a.json"},
		{"{**/x,y}/z", "x/z a/x/z y/z", "a/y/z"},
		{"{y,**/x}/z", "x/z a/x/z y/z", "a/y/z"},
		{"a{b,c{d,e}}", "ab acd ace", "a ac"},
		{`\*x`, "*x", "ax"},
		{"a+b(c).$", "a+b(c).$", "aab(c)x$"},
		{"a**b", "ab axxb", "a/b"},
		{"é?", "éü", "é"},
	} {
		pattern, err := compileGlob(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for _, path := range strings.Fields(c.matches) {
			if !pattern.matches(path) {
				t.Errorf("%s does not match %s", c.pattern, path)
			}
		}
		for _, path := range strings.Fields(c.not) {
			if pattern.matches(path) {
				t.Errorf("%s matches %s", c.pattern, path)
			}
		}
	}
	for _, pattern := range []string{"", "./", "/etc/*", "../x", "a/../b", "[a", "[", "[!", "[]x]", "{a,b", "a}", `a\`} {
		if accepted, err := compileGlob(pattern); err == nil {
			t.Errorf("%q became %s", pattern, accepted)
		}
	}
}

// TestPatternsThatWouldTakeForeverAreRefused measures no time: what is taken is compared with
// a long path, and would hang the test if it took for ever.
func TestPatternsThatWouldTakeForeverAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		taken   bool
	}{
		{"{cmd,internal,pkg}/**/*.{go,mod,sum,tmpl}", true},
		{"*.{c,cc,cpp,cxx,h,hh,hpp,hxx,go,rs,java,kt,py,rb,js,jsx,ts,tsx,md}", true},
		{strings.Repeat("{a}", 300), true},
		{strings.Repeat("{", 400) + strings.Repeat("}", 400), true},
		{strings.Repeat("*a", 400) + "b", true},
		{strings.Repeat("**/", 300) + "b", true},
		{strings.Repeat("**/*a*/", 100) + "b", true},
		{"**/" + strings.Repeat("{*a,a*}", 6) + strings.Repeat("*a", 400) + "b", true},
		{"{" + strings.Repeat("*a,", 99) + "b}", true},
		{strings.Repeat("{a,a}", 7), false},
		{strings.Repeat("{a,a}", 200), false},
		{strings.Repeat("{,", 300) + strings.Repeat("}", 300), false},
		{strings.Repeat("{a,{a,b}}", 4), false},
		{"{" + strings.Repeat("a,", 100) + "}", false},
	} {
		pattern, err := compileGlob(c.pattern)
		if taken := err == nil; taken != c.taken {
			t.Errorf("%.40s: %v, want it taken: %v", c.pattern, err, c.taken)
			continue
		}
		if c.taken && pattern.matches(strings.Repeat(strings.Repeat("a", 60)+"/", maxDepth)+strings.Repeat("a", 60)+"c") {
			t.Errorf("%.40s matches", c.pattern)
		}
	}
}

func FuzzANameMatchesItselfAsAPattern(f *testing.F) {
	for _, s := range []string{"a.go", "[x", "{a,b}", `\`, "**", "a?", "é", "x/y", "[a-", `[\]]`, "{[}]}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if pattern, err := compileGlob(s); err == nil && len(s) <= 1000 {
			pattern.matches(s) // does not panic, and ends
			pattern.matches("x/" + s)
		}
		name := strings.ReplaceAll(strings.ToValidUTF8(s, ""), "/", "")
		if name == "" {
			return
		}
		var quoted strings.Builder
		for _, r := range name {
			quoted.WriteString(`\` + string(r))
		}
		pattern, err := compileGlob(quoted.String())
		if err != nil {
			t.Fatalf("%q: %v", quoted.String(), err)
		}
		if !pattern.matches(name) || !pattern.matches("x/"+name) || pattern.matches(name+"x") {
			t.Fatalf("%s does not match %q alone", pattern, name)
		}
	})
}
