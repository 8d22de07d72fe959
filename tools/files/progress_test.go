package files_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley/tools"
	"parley/tools/files"
)

// F19: a search through many files says how far it is.
func TestASearchReportsHowFarItIs(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	for i := range 2100 {
		if err := os.WriteFile(filepath.Join(ws, fmt.Sprintf("%04d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := files.NewSearchTools(files.Config{SearchTime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tools.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]string{"grep": `{"pattern":"x"}`, "glob": `{"pattern":"*.md"}`} {
		tool, _ := set.Lookup(name)
		var got []string
		if _, err := tool.Run(t.Context(), tools.Call{
			Name: name, Arguments: json.RawMessage(args), Workspace: ws, Progress: func(s string) { got = append(got, s) },
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, []string{"1000 files and folders", "2000 files and folders"}) {
			t.Errorf("%s reported %q", name, got)
		}
	}
}
