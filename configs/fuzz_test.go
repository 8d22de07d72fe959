package configs_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"parley/configs"
)

// secret is not made of words that a mistake may use.
const secret = "Zq7xKv9wQz3JpYd5"

// FuzzParse: whatever is written, nothing panics, an error names the file, and
// what variables and files hold is never shown.
func FuzzParse(f *testing.F) {
	archive, err := txtar.ParseFile("testdata/mistakes.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range archive.Files {
		if strings.HasSuffix(c.Name, "/parley.yaml") {
			f.Add(strings.ReplaceAll(string(c.Data), "4200000001:AAcanary7", "${CANARY}"))
		}
	}
	f.Add(configs.Example)
	f.Add("\xff\xfe\x00")
	f.Add("? [a]\n: b\n")
	f.Add("name: &a [*a]\nlog: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := configs.Parse("file.yaml", []byte(text), func(name string) (string, bool) {
			return secret, name != "UNSET" && name != "HOME"
		})
		if err == nil {
			return
		}
		if got := err.Error(); !strings.HasPrefix(got, "file.yaml:") || strings.Contains(got, secret) && !strings.Contains(text, secret) {
			t.Errorf("%q gives %q", text, got)
		}
	})
}
