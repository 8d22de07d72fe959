package try_test

import (
	"regexp"
	"strings"
	"testing"

	"parley/cmd/parley/try"
)

// tried is what somebody sees who types these lines, and nothing before them.
func tried(t *testing.T, lines ...string) string {
	t.Helper()
	var out strings.Builder
	err := try.Run(t.Context(), try.Options{
		In: strings.NewReader(strings.Join(lines, "\n") + "\n"), Out: &out, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	_, answers, _ := strings.Cut(out.String(), "ann> "+lines[0]+"\n")
	return answers
}

// What try says, and what the demonstration says of itself, is what somebody types first.
func TestEachSentenceThatTryRecommendsWorksWhenItIsTypedFirst(t *testing.T) {
	t.Parallel()
	for sentence, want := range map[string]string{
		"research the weather":   "the files, says my sub-agent: Here is what I found, 1 line of it:",
		"list files":             "Say read welcome.txt, if you like.",
		"read welcome.txt":       "No other conversation can read it.",
		"something long":         "none of them needs a key",
		"something slow":         "I am taking my time",
		"what 12*7 is":           "12 * 7 = 84",
		"research something":     "“something” has 9 characters in 1 word.",
		"/help":                  "/status – ",
		"hello":                  "Ask me to list files, to read one by its name, for something long or something slow, what 12*7 is, to research something with sub-agents, to set COLOUR=blue, for which I need your permission, or to spend your money, until a limit stops me. Or show me a picture.",
		"set COLOUR=blue":        "/approve ",
		"research cats and dogs": "- the counting: $",
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := tried(t, sentence)
			if !strings.Contains(got, want) || strings.Contains(got, "did not work") || strings.Contains(got, "beyond my script") {
				t.Errorf("it is answered\n%s\nwithout %q", got, want)
			}
		})
	}
	t.Run("all that are recommended are here", func(t *testing.T) {
		t.Parallel()
		seen := tried(t, "hello", ":help")
		said := regexp.MustCompile(`, say: (.*)\n`).FindAllStringSubmatch(seen, -1)
		if len(said) != 2 || said[0][1] != "research the weather" || said[1][1] != "set COLOUR=blue" {
			t.Errorf("try recommends %q", said)
		}
	})
}
