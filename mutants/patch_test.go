package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// What a patch takes out stands in the code, once. That its test turns red is
// for make mutants.
func TestEveryPatchApplies(t *testing.T) {
	t.Chdir("..")
	ms, err := load("mutants")
	if err != nil {
		t.Fatal(err)
	}
	if len(ms) == 0 {
		t.Fatal("there are no patches")
	}
	for _, m := range ms {
		t.Run(m.name, func(t *testing.T) {
			texts, err := m.apply()
			if err != nil {
				t.Fatal(err)
			}
			for file, text := range texts {
				was, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if text == string(was) {
					t.Errorf("%s is left as it is", file)
				}
			}
			for _, by := range m.tests {
				if top, _, _ := strings.Cut(by.name, "/"); !hasTest(t, by.pkg, top) {
					t.Errorf("%s has no test %s", by.pkg, top)
				}
			}
		})
	}
}

// hasTest looks for the function in the package's test files.
func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := os.ReadDir(pkg)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(pkg + "/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

func TestParse(t *testing.T) {
	t.Parallel()
	const diff = "--- a/x.go\n+++ b/x.go\n@@ -1,2 +1 @@\n one\n-two\n+three\n"
	for name, text := range map[string]string{
		"without a guard":       "Test: ./x TestX\n\n" + diff,
		"without a test":        "Guard: it\n\n" + diff,
		"without a test's name": "Guard: it\nTest: ./x\n\n" + diff,
		"without a diff":        "Guard: it\nTest: ./x TestX\n",
		"with a line of no use": "Guard: it\nTest: ./x TestX\nWhy: because\n\n" + diff,
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("a patch %s is read", name)
		}
	}
	m, err := parse("Guard: it\nTest: ./x TestX/a sub-test\nLong: ./y TestY\n\n" + diff)
	if err != nil {
		t.Fatal(err)
	}
	tests := []target{{"./x", "TestX/a sub-test", false}, {"./y", "TestY", true}}
	want := hunk{"x.go", "one\ntwo\n", "one\nthree\n"}
	if len(m.hunks) != 1 || m.hunks[0] != want || !slices.Equal(m.tests, tests) {
		t.Errorf("read as %+v", m)
	}
}
