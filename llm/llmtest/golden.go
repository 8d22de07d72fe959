package llmtest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// Body is a request body with the name that it has in a golden file.
type Body struct {
	Name string
	JSON []byte
}

// CompareGolden holds request bodies to those of a txtar file, with the order of their
// keys and the way in which their texts are escaped: a provider finds a prompt
// in its cache by its beginning, and what is written differently may be another
// prompt. update rewrites the file.
func CompareGolden(t testing.TB, file string, update bool, bodies []Body) {
	t.Helper()
	a := &txtar.Archive{}
	for _, body := range bodies {
		var b bytes.Buffer
		if err := json.Indent(&b, body.JSON, "", "  "); err != nil {
			t.Fatalf("%s: %v", body.Name, err)
		}
		b.WriteByte('\n')
		a.Files = append(a.Files, txtar.File{Name: body.Name, Data: b.Bytes()})
	}
	got := txtar.Format(a)
	if update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-golden +got): %s\nWhen that is meant, run the test with -update.", file, diff)
	}
}
