package try_test

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"parley/cmd/parley/try"
)

// script types lines, of which CODE stands for the code that was seen last.
type script struct {
	lines []string
	glass glass
	rest  string
}

var askedFor = regexp.MustCompile(`/approve ([0-9A-Z]+) permits`)

// Read gives the rest of a line, or the next one. One with a code waits until the bot has
// named it.
func (s *script) Read(p []byte) (int, error) {
	if s.rest == "" {
		if len(s.lines) == 0 {
			return 0, io.EOF
		}
		s.rest, s.lines = s.lines[0]+"\n", s.lines[1:]
		if strings.Contains(s.rest, "CODE") {
			code, err := s.glass.find(askedFor)
			if err != nil {
				return 0, err
			}
			s.rest = strings.ReplaceAll(s.rest, "CODE", code)
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// run returns what somebody sees who has these lines typed.
func (s *script) run(t *testing.T) string {
	t.Helper()
	s.glass.changed = make(chan struct{})
	if err := try.Run(t.Context(), try.Settled(try.Options{In: s, Out: &s.glass, Getenv: func(string) string { return "" }})); err != nil {
		t.Fatal(err)
	}
	return s.glass.all
}

// seen is what somebody sees who types these lines.
func seen(t *testing.T, lines ...string) string {
	t.Helper()
	return (&script{lines: lines}).run(t)
}

// tried is what somebody sees behind the first of these lines.
func tried(t *testing.T, lines ...string) string {
	t.Helper()
	_, answers, _ := strings.Cut(seen(t, lines...), "ann> "+lines[0]+"\n")
	return answers
}

// What try says, and what the demonstration says of itself, is what somebody types first.
func TestEachSentenceThatTryRecommendsWorksWhenItIsTypedFirst(t *testing.T) {
	t.Parallel()
	sentences := map[string]string{
		"research the weather":   "the files, says my sub-agent: Here is what I found, 1 line of it:",
		"list files":             "Say read welcome.txt, if you like.",
		"read welcome.txt":       "No other conversation can read it.",
		"something long":         "none of them needs a key",
		"something slow":         "I am taking my time",
		"what 12*7 is":           "12 * 7 = 84",
		"what is 12*7":           "12 * 7 = 84",
		"research something":     "“something” has 9 characters in 1 word.",
		"/help":                  "/status – ",
		"hello":                  "Ask me to list files, to read one by its name, for something long or something slow, what 12*7 is, to research something with sub-agents, to set COLOUR=blue, for which I need your permission, or to spend your money with a sub-agent, until a cap stops it. Or show me a picture.",
		"set COLOUR=blue":        "/approve ",
		"research cats and dogs": "the counting     $",
		"spend my money":         "(sub-agent “the spender” was stopped by its budget: ",
		"spend your money":       "parley: the spender, says my sub-agent: I ",
		":picture":               "I see a picture of 320 × 200 points (PNG): mostly light blue, some green, a little yellow.",
		":voice what is 12*7":    "12 * 7 = 84",
	}
	for sentence, want := range sentences {
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
		greeting, _, _ := strings.Cut(seen(t, ":who"), "ann> ")
		said := regexp.MustCompile(`(?m)^  (\S.*?)  +\S`).FindAllStringSubmatch(greeting, -1)
		if len(said) != 5 {
			t.Errorf("try recommends %q", said)
		}
		for _, s := range said {
			if sentences[s[1]] == "" {
				t.Errorf("try recommends %q, which no test types", s[1])
			}
		}
	})
}

// A permission that is given lets the work go on, also for whoever reads lines from a file:
// the answer to the permission is what the next line waits for.
func TestWhatIsPermittedIsDone(t *testing.T) {
	t.Parallel()
	got := (&script{lines: []string{"set COLOUR=blue", "/approve CODE", "read .env"}}).run(t)
	for _, want := range []string{"parley: Done, with your permission: wrote a new file .env", "ann> read .env\n", "COLOUR=blue\n   ("} {
		_, rest, ok := strings.Cut(got, want)
		if !ok {
			t.Fatalf("%q is missing or too early in:\n%s", want, got)
		}
		got = rest
	}
	if strings.Contains(got, "May I use") {
		t.Errorf("the question is shown again:\n%s", got)
	}
}

func TestNoCommandOfTheTerminalIsAGuess(t *testing.T) {
	t.Parallel()
	got := seen(t, ":grou", ":pictures", ":zzz", ":picture no-such.png", ":picture "+t.TempDir()+"/", ":group", ":picture", ":voice hello", ":dm", ":voice")
	for _, want := range []string{
		"There is no :grou here. Did you mean :group?\n", "There is no :pictures here. Did you mean :picture?\n",
		"There is no :zzz here; there are :as, :dm, :group, :picture, :voice, :who, :help and :quit.\n",
		"No picture was sent: look for the picture: stat no-such.png: no such file or directory.\n", ": not a picture: PNG, JPEG, GIF and WebP are.\n",
		"Pictures and voice notes go into direct messages here; :dm leads there.\nann> :voice hello\nPictures and voice notes go", "Say something: :voice what is 12*7\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}
