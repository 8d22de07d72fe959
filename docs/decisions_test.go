package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	recordName  = regexp.MustCompile(`^(\d{4})-[a-z0-9-]+\.md$`)
	recordTitle = regexp.MustCompile(`^# (\d+)\. (.+)$`)
	citation    = regexp.MustCompile(`docs/decisions/(\d{4})`)
)

// records returns the titles of the decision records by the names of their files.
func records(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir("decisions")
	if err != nil {
		t.Fatal(err)
	}
	titles, next := map[string]string{}, 1
	for _, e := range entries {
		if e.Name() == "README.md" {
			continue
		}
		m := recordName.FindStringSubmatch(e.Name())
		if m == nil || m[1] != fmt.Sprintf("%04d", next) {
			t.Fatalf("decisions/%s: want number %04d and a name in lower case", e.Name(), next)
		}
		text, err := os.ReadFile(filepath.Join("decisions", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		first, rest, _ := strings.Cut(string(text), "\n")
		title := recordTitle.FindStringSubmatch(first)
		if title == nil || title[1] != fmt.Sprint(next) {
			t.Fatalf("decisions/%s begins with %q, want %q and the title", e.Name(), first, fmt.Sprintf("# %d. ", next))
		}
		for _, heading := range []string{"Context", "Decision", "Consequences"} {
			_, after, ok := strings.Cut(rest, "\n## "+heading+"\n\n")
			if !ok || strings.HasPrefix(after, "#") {
				t.Errorf("decisions/%s: no text under %q, in the order Context, Decision, Consequences", e.Name(), heading)
			}
			rest = after
		}
		titles[e.Name()] = title[2]
		next++
	}
	return titles
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	titles := records(t)
	t.Run("the index lists each record once, under its title", func(t *testing.T) {
		index, err := os.ReadFile("decisions/README.md")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for name, title := range titles {
			n++
			number := strings.TrimLeft(name[:4], "0")
			if line := fmt.Sprintf("- [%s. %s](%s)\n", number, title, name); strings.Count(string(index), line) != 1 {
				t.Errorf("decisions/README.md needs the line %q once", line)
			}
		}
		if listed := strings.Count(string(index), "\n- ["); listed != n {
			t.Errorf("decisions/README.md lists %d records, there are %d", listed, n)
		}
	})
	t.Run("what is cited exists", func(t *testing.T) {
		numbers := map[string]bool{}
		for name := range titles {
			numbers[name[:4]] = true
		}
		cited := 0
		err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				if err == nil && path != ".." && strings.HasPrefix(e.Name(), ".") {
					return fs.SkipDir
				}
				return err
			}
			switch filepath.Ext(path) {
			case ".go", ".md", ".yaml", ".sql", ".lua", ".sh":
			default:
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range citation.FindAllSubmatch(text, -1) {
				if cited++; !numbers[string(m[1])] {
					t.Errorf("%s cites docs/decisions/%s, which does not exist", path, m[1])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if cited == 0 {
			t.Error("no citation was found, not even architecture.md's")
		}
	})
}
