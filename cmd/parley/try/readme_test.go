package try_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What the README shows of make run is what one sees who types the same lines, except for
// what is different each time: how long it took, what it cost, and codes; and which of
// two sub-agents side by side comes first. Where the README has "…", anything may stand.
func TestTheReadmeShowsWhatOneSees(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := transcript(string(readme))
	var typed []string
	for _, m := range regexp.MustCompile(`(?m)^ann(?: \(group\))?> (.*)$`).FindAllStringSubmatch(shown, -1) {
		typed = append(typed, regexp.MustCompile(`^(/approve|/deny) \S+$`).ReplaceAllString(m[1], "$1 CODE"))
	}
	if len(typed) < 6 {
		t.Fatalf("the README types only %q", typed)
	}
	got := alike(seen(t, typed...))
	if !strings.HasPrefix(got, "parley: everything in one process") {
		t.Fatalf("it begins with %q", got[:min(len(got), 100)])
	}
	_, got, _ = strings.Cut(got, "\n\nann> ")
	got = "ann> " + got
	for _, piece := range regexp.MustCompile(`(?m)^ *…\n|…`).Split(alike(shown), -1) {
		i := strings.Index(got, piece)
		if i < 0 {
			t.Fatalf("the README shows\n%s\nwhere one sees\n%s", piece, got)
		}
		got = got[i+len(piece):]
	}
	if got != "" {
		t.Errorf("the README does not show the end:\n%s", got)
	}
}

// transcript returns the indented block of the README that begins with the first line that is
// typed.
func transcript(readme string) string {
	_, rest, _ := strings.Cut(readme, "\n    ann> ")
	var b strings.Builder
	for line := range strings.Lines("    ann> " + rest) {
		text, ok := strings.CutPrefix(line, "    ")
		if !ok && strings.TrimSpace(line) != "" {
			break
		}
		b.WriteString(text)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// alike takes out of a transcript what is different each time.
func alike(text string) string {
	for _, r := range []struct{ what, by string }{
		{` \(group\)> `, "> "}, // a prompt that only a terminal has
		{`[ \t]+`, " "},
		{`\$[0-9]+\.[0-9]+`, "$$#"},
		{`[0-9]+\.[0-9] s\b`, "# s"},
		{`(/approve|/deny) [0-9A-Z]{5}\b`, "$1 #"},
		{`(?m)^( the files \$# \$#\n)( the question .*\n the counting .*\n)`, "$2$1"},
	} {
		text = regexp.MustCompile(r.what).ReplaceAllString(text, r.by)
	}
	return text
}
