package files_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/tools"
	"parley/tools/files"
)

// What it costs to read one file of ten kilobytes, with all that keeps a model inside its workspace.
func BenchmarkReadFile(b *testing.B) {
	ws := b.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "notes.txt"), []byte(strings.Repeat("a line of text\n", 700)), 0o600); err != nil {
		b.Fatal(err)
	}
	read := lookup(b, files.Config{}.Defaults(), "read_file")
	call := tools.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"notes.txt"}`), Workspace: ws}
	for b.Loop() {
		if _, err := read.Run(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}
