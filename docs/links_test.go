package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// anchors returns where links into a page may lead: its headings, as GitHub names them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}

// badLinks returns the links of a page in a folder that lead nowhere.
func badLinks(folder, page, text string) (bad []string) {
	for _, m := range regexp.MustCompile(`\]\(([\w./-]*)(?:#([\w-]+))?\)`).FindAllStringSubmatch(text, -1) {
		file := filepath.Join(folder, page)
		if m[1] != "" {
			file = filepath.Join(filepath.Dir(file), m[1])
		}
		target, err := os.ReadFile(file)
		if m[1] == "" {
			target, err = []byte(text), nil
		}
		if err != nil || m[2] != "" && !anchors(string(target))[m[2]] {
			bad = append(bad, m[0][1:])
		}
	}
	return bad
}

// A link of the manual leads to a page that is there, and to a heading of it.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"*.md", "decisions/*.md", "../*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, bad := range badLinks(".", page, string(text)) {
				t.Errorf("%s links to %s", page, bad)
			}
		}
	}
	if bad := badLinks(".", "x.md", "# A page, whole\n[a](#a-page-whole) [b](#b) [c](operating.md#exit-codes) [d](operating.md#d) [e](e.md)"); len(bad) != 3 {
		t.Errorf("wrong are %q", bad)
	}
}
