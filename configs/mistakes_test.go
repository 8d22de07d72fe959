package configs_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"parley/configs"
)

var update = flag.Bool("update", false, "rewrite testdata")

// canary stands in every broken configuration of these tests, as a secret. It
// must never be seen.
const canary = "canary7"

// set is the environment of the broken configurations.
var set = map[string]string{
	"HOME": "/home/ann", "TELEGRAM_TOKEN": "4200000001:AA" + canary, "ANTHROPIC_API_KEY": canary + "-key",
	"CANARY": canary + "/" + canary + "-secret", "EMPTY": "",
}

func TestEveryMistakeIsSaidAtOnceWithItsPlaceAndNoSecret(t *testing.T) {
	t.Parallel()
	const file = "testdata/mistakes.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"good": "4200000002:" + canary + "\n", "empty": "\n", "lines": canary + "\n\n", "huge": strings.Repeat("x", 1<<17)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wanted := map[string]string{}
	var cases []txtar.File
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, "/said"); ok {
			wanted[name] = string(f.Data)
			continue
		}
		cases = append(cases, f)
	}
	archive.Files = nil
	for _, c := range cases {
		name := strings.TrimSuffix(c.Name, "/parley.yaml")
		_, err := configs.Parse(filepath.Join(dir, "parley.yaml"), c.Data, environ(set))
		if err == nil {
			t.Errorf("%s: no mistake was found", name)
			continue
		}
		said := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "") + "\n"
		if strings.Contains(strings.ToLower(said), canary) {
			t.Errorf("%s: a secret is shown:\n%s", name, said)
		}
		archive.Files = append(archive.Files, c, txtar.File{Name: name + "/said", Data: []byte(said)})
		if d := cmp.Diff(wanted[name], said); d != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// broken are files that a golden file cannot hold.
func TestWhatIsNoTextIsRefusedInPlainWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"NUL", "name: a\nlog:\n  level: in\x00fo\n", "3: not YAML: byte that no text has"},
		{"Latin-1", "name: a\nlog:\n  level: caf\xe9\n", "3: not YAML: bytes that are not UTF-8"},
		{"a program", "\x7fELF\x02\x01\x01\x00\x00", "1: not YAML"},
		{"deep", "name: a\nlog: " + strings.Repeat("[", 20_000), "2: not YAML: value nested too deeply"},
		{"many lines", strings.Repeat("# line\n", 5000) + "\tname: a\n", "not YAML"},
	} {
		_, err := configs.Parse("f", []byte(c.text), environ(set))
		if err == nil || !strings.HasPrefix(err.Error(), "f:") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAMarkAtTheBeginningOfTheFileIsNoPartOfIt(t *testing.T) {
	t.Parallel()
	if _, err := configs.Parse("f", []byte("\ufeff"+configs.Example), environ(home)); err != nil {
		t.Errorf("with a byte order mark: %v", err)
	}
	windows := strings.ReplaceAll(configs.Example, "\n", "\r\n")
	if d := cmp.Diff(mustParse(t, configs.Example, home), mustParse(t, windows, home), revealed); d != "" {
		t.Errorf("with lines of Windows:\n%s", d)
	}
}

func TestAMistakeAtManyAliasesStaysSmall(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString("name: &a [x,x,x,x,x,x,x,x,x]\n")
	b.WriteString("log: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nworker: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n")
	b.WriteString("ops: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\nagents: {main: {tools: [*d,*d,*d,*d]}}\n")
	_, err := configs.Parse("f", b.Bytes(), environ(set))
	var all *configs.Error
	if !errors.As(err, &all) || len(all.Mistakes) > 12 {
		t.Errorf("%v", err)
	}
}
