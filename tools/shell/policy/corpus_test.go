package policy_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"parley/tools/shell/policy"
)

// sandboxed is the place of the corpus: a workspace, and a second root.
var sandboxed = policy.Place{Roots: []string{"/workspace", "/tmp/agent"}}

type corpusCase struct {
	Input    string `json:"input"`
	Expected string `json:"expected"`
	Why      string `json:"why"`
}

func corpus(t testing.TB) []corpusCase {
	t.Helper()
	data, err := os.ReadFile("testdata/commands.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []corpusCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 100 {
		t.Fatalf("the corpus has %d cases", len(cases))
	}
	return cases
}

func mustNew(t testing.TB, c policy.Config) *policy.Policy {
	t.Helper()
	p, err := policy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// requirements J01, J03, F05, TS13
func TestJudgeCorpus(t *testing.T) {
	t.Parallel()
	p := mustNew(t, policy.Config{})
	for _, c := range corpus(t) {
		got := p.Judge(c.Input, sandboxed)
		if got.Verdict.String() != c.Expected {
			t.Errorf("%q: %s, want %s (%s)\n\t%s", c.Input, got.Verdict, c.Expected, c.Why, got)
		}
		if got.Reason == "" {
			t.Errorf("%q: no reason", c.Input)
		}
	}
}

// verdicts reads testdata/verdicts.txt.
func verdicts(t testing.TB) []corpusCase {
	t.Helper()
	data, err := os.ReadFile("testdata/verdicts.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases []corpusCase
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		verdict, quoted, _ := strings.Cut(line, " ")
		input, err := strconv.Unquote(strings.TrimSpace(quoted))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		cases = append(cases, corpusCase{Input: input, Expected: verdict})
	}
	return cases
}

func TestJudgeVerdicts(t *testing.T) {
	t.Parallel()
	p := mustNew(t, policy.Config{})
	for _, c := range verdicts(t) {
		if got := p.Judge(c.Input, sandboxed); got.Verdict.String() != c.Expected {
			t.Errorf("%q: %s, want %s\n\t%s", c.Input, got.Verdict, c.Expected, got)
		}
	}
}
