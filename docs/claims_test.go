package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// proof is where the README names what proves a claim: a file, and a test or a figure in it.
	proof = regexp.MustCompile(`(?m)^\[([a-z]+)\]: (\S+) "(.+)"$`)
	// claim is where a claim says so, as [text][name].
	claim = regexp.MustCompile(`\]\[([a-z]+)\]`)
)

// checkClaims returns what is wrong with the proofs of a text, whose links begin in root.
func checkClaims(root, text string) (wrong []string) {
	named := map[string]bool{}
	for _, m := range claim.FindAllStringSubmatch(text, -1) {
		named[m[1]] = true
	}
	for _, m := range proof.FindAllStringSubmatch(text, -1) {
		name, file, what := m[1], m[2], m[3]
		if !named[name] {
			wrong = append(wrong, "["+name+"] proves no claim")
		}
		delete(named, name)
		if strings.HasPrefix(what, "Test") {
			what = "func " + what + "("
		}
		switch content, err := os.ReadFile(filepath.Join(root, file)); {
		case err != nil:
			wrong = append(wrong, "["+name+"] "+err.Error())
		case !strings.Contains(string(content), what):
			wrong = append(wrong, "["+name+"] "+file+" has no "+what)
		}
	}
	for name := range named {
		wrong = append(wrong, "["+name+"] is nowhere")
	}
	slices.Sort(wrong)
	return wrong
}

// unproven returns the claims of a text that have no link: paragraphs and items that begin with
// bold words, and rows of a table of commands.
func unproven(text string) (all []string) {
	text, _, _ = strings.Cut(text, "\n[start]: ") // what the links stand for
	for _, block := range strings.Split(text, "\n\n") {
		if strings.HasPrefix(block, "**") && !claim.MatchString(block) {
			all = append(all, block)
		}
		for row := range strings.Lines(block) {
			if strings.HasPrefix(row, "| `/") && !claim.MatchString(row) {
				all = append(all, row)
			}
		}
	}
	return all
}

// What the README claims, and the walls of security.md, are links to the test or the figure that
// proves it, and each is there. Every numbered promise has some, and every other claim one.
func TestClaims(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(readme)
	for _, problem := range checkClaims("..", text) {
		t.Error(problem)
	}
	security, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range checkClaims(".", string(security)) {
		t.Error("security.md: " + problem)
	}
	_, promises, _ := strings.Cut(text, "\n## What it promises\n")
	promises, _, _ = strings.Cut(promises, "\n## ")
	if all := regexp.MustCompile(`(?m)^\d+\. `).Split(promises, -1)[1:]; len(all) < 3 {
		t.Errorf("there are only %d promises", len(all))
	} else {
		for i, p := range all {
			if len(claim.FindAllString(p, -1)) < 3 {
				t.Errorf("promise %d has hardly a proof", i+1)
			}
		}
	}
	for _, c := range unproven(text) {
		t.Errorf("no link proves: %s", c)
	}
	for _, section := range []string{"What it cannot do yet", "Run it for real", "Try it against anything"} {
		_, part, ok := strings.Cut(text, "\n## "+section+"\n")
		part, _, _ = strings.Cut(part, "\n## ")
		if !ok || !claim.MatchString(part) {
			t.Errorf("%s has no proof", section)
		}
	}
	t.Run("what is wrong is found", func(t *testing.T) {
		t.Parallel()
		wrong := checkClaims(".", "It [does][a], [is][b], [has][c].\n\n[a]: claims_test.go \"TestClaims\"\n[b]: claims_test.go \"Test"+"NoSuch\"\n[d]: nowhere.go \"x\"\n")
		want := []string{"[b] claims_test.go has no func Test" + "NoSuch(", "[c] is nowhere", "[d] open nowhere.go: no such file or directory", "[d] proves no claim"}
		if !slices.Equal(wrong, want) {
			t.Errorf("%q", wrong)
		}
		if bad := unproven("**It flies** high.\n\n**It [swims][a]**.\n\n| command | does |\n|---|---|\n| `/fly` | flies |\n| `/swim` | swims ([test][a]) |\n"); len(bad) != 2 {
			t.Errorf("without a proof are %q", bad)
		}
	})
}
