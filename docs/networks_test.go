package docs

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// homonyms are names of networks that are also words of the program: hints that processes
// send each other, and what the system sends a process. Of these only what can mean the
// network counts: see network.
var homonyms = []string{"signal"}

// networkNames are what the adapters' folders are called.
func networkNames(t *testing.T) (names []string) {
	t.Helper()
	dirs, err := os.ReadDir("../channels")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if d.IsDir() && d.Name() != "internal" && !exempt("channels/"+d.Name()) {
			names = append(names, d.Name())
		}
	}
	if len(names) < 3 {
		t.Fatalf("the networks are %q", names)
	}
	return names
}

// mayNameNetworks reports whether a file may say what a network is called: the adapters
// and their counterparties, the table with the accounts of each, the programs, examples of
// configurations; and tests with their companions, which need places to speak of.
func mayNameNetworks(file string, names []string) bool {
	dir, base := path.Dir(file), path.Base(file)
	if strings.HasSuffix(base, "_test.go") || slices.ContainsFunc(strings.Split(dir, "/"), exempt) || exempt(dir) {
		return true
	}
	if dir == "gateway/settings" && (base == "networks.go" || slices.ContainsFunc(names, func(n string) bool { return base == n+".go" })) {
		return true
	}
	return slices.Contains([]string{"channels", "simulators", "cmd"}, top(dir)) || dir == "configs" && path.Ext(base) == ".yaml"
}

// network is a name as it is looked for.
type network struct {
	name    string
	homonym bool
	text    *regexp.Regexp // in literals and texts
	comment *regexp.Regexp
}

// lookFor makes what finds a name. One that is a word too is the network where it is an
// element of a path, a key or an address, a program's name, or has a capital that begins
// no sentence of Go ("broker.Signal", "Signal sends …" above its declaration).
func lookFor(name string) network {
	if !slices.Contains(homonyms, name) {
		r := regexp.MustCompile("(?i)" + regexp.QuoteMeta(name))
		return network{name: name, text: r, comment: r}
	}
	element := fmt.Sprintf(`(?:^|[./:"'])%[1]s(?:$|[./:"'])|\b%[1]s-cli\b`, name)
	capital := strings.ToUpper(name[:1]) + name[1:]
	return network{
		name: name, homonym: true,
		text:    regexp.MustCompile(element + `|\b` + capital + `\b`),
		comment: regexp.MustCompile(element + `|(?:^|[^.\[\w])` + capital + `\b`),
	}
}

// namedIn returns where Go source names the network.
func (n network) namedIn(t *testing.T, file string, source []byte) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	add := func(at token.Pos, what string) {
		found = append(found, fmt.Sprintf("%s: %.60s", set.Position(at), what))
	}
	documented := map[*ast.CommentGroup]string{} // the name that each is about
	ast.Inspect(f, func(node ast.Node) bool {
		switch d := node.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(d.Value)
			if err == nil && d.Kind == token.STRING && text != "os/signal" && n.text.MatchString(text) {
				add(d.Pos(), d.Value)
			}
		case *ast.Ident:
			if !n.homonym && slices.ContainsFunc(words(d.Name), func(w string) bool { return strings.EqualFold(w, n.name) }) {
				add(d.Pos(), d.Name)
			}
		case *ast.FuncDecl:
			documented[d.Doc] = d.Name.Name
		case *ast.TypeSpec:
			documented[d.Doc] = d.Name.Name
		case *ast.GenDecl:
			if s, ok := d.Specs[0].(*ast.TypeSpec); ok {
				documented[d.Doc] = s.Name.Name
			}
		}
		return true
	})
	for _, c := range f.Comments {
		text := strings.TrimPrefix(c.Text(), documented[c])
		for line := range strings.Lines(text) {
			if n.comment.MatchString(line) {
				add(c.Pos(), strings.TrimSpace(line))
			}
		}
	}
	return found
}

// words are the words that an identifier is made of.
func words(id string) (all []string) {
	start := 0
	for i, r := range id {
		if i > 0 && (unicode.IsUpper(r) && !unicode.IsUpper(rune(id[i-1])) || r == '_') {
			all = append(all, strings.Trim(id[start:i], "_"))
			start = i
		}
	}
	return append(all, strings.Trim(id[start:], "_"))
}

// Everybody but the adapters and the table gets what differs by network as a value.
func TestNetworksAreNamedInTheirPlacesOnly(t *testing.T) {
	t.Parallel()
	names := networkNames(t)
	files := 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file := filepath.ToSlash(strings.TrimPrefix(name, ".."+string(filepath.Separator)))
		if d.IsDir() {
			if base := d.Name(); base != ".." && strings.HasPrefix(base, ".") || base == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		goFile := path.Ext(file) == ".go"
		if !goFile && !slices.Contains([]string{".md", ".txt", ".lua", ".sql", ".yaml", ".tmpl"}, path.Ext(file)) || !strings.Contains(file, "/") || mayNameNetworks(file, names) {
			return nil
		}
		content, err := os.ReadFile(name) // of this module
		if err != nil {
			return err
		}
		files++
		lower := bytes.ToLower(content)
		for _, name := range names {
			if !bytes.Contains(lower, []byte(name)) { // which spares parsing it
				continue
			}
			n := lookFor(name)
			if !goFile {
				if at := n.text.FindIndex(content); at != nil {
					t.Errorf("%s names the network %s: %q", file, name, content[max(0, at[0]-20):min(len(content), at[1]+20)])
				}
				continue
			}
			for _, where := range n.namedIn(t, file, content) {
				t.Errorf("the network %s is named in %s; see \"A new network\" in architecture.md", name, where)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 200 {
		t.Errorf("only %d files were looked at", files)
	}
}

func TestANetworksNameIsFound(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]int{
		`package p; import _ "parley/channels/slack"`: 1, `package p; import _ "parley/channels/signal"`: 1, `package p; import _ "os/signal"`: 0,
		"package p; const a = \"telegram\"": 1, "package p; const a = `on Slack`": 1, `package p; const a = "signal"`: 1, `package p; const a = "main:1:signal:dm:2"`: 1,
		`package p; const a = "/v1/signal/keys"`: 1, `package p; const a = "channels.signal"`: 1, `package p; const a = "no Signal account"`: 1,
		`package p; const a = "signal that cannot be read"`: 0, `package p; const a = "signals"`: 0,
		"package p; var slackToken, aTelegram int": 2, "package p; var signal, slacken int": 0, "package p; type TelegramID int": 1,
		"package p\n\n// as on telegram\nvar a int": 1, "package p\n\nvar a int // ids of Signal care": 1, "package p\n\n// by signal-cli\nvar a int": 1,
		"package p\n\n// Signal sends one.\nfunc Signal() {}": 0, "package p\n\n// Signal is a hint.\ntype Signal int": 0, "package p\n\n// Signal has no bots.\nfunc a() {}": 1,
		"package p\n\n// a sends a signal, as [broker.Signal] says.\nfunc a() {}": 0,
	} {
		found := 0
		for _, name := range []string{"telegram", "slack", "signal"} {
			found += len(lookFor(name).namedIn(t, "p.go", []byte(source)))
		}
		if found != want {
			t.Errorf("in %q %d names were found, not %d", source, found, want)
		}
	}
	names := []string{"telegram", "slack", "signal"}
	for file, want := range map[string]bool{
		"gateway/settings/networks.go": true, "gateway/settings/slack.go": true, "gateway/slack_test.go": true, "gateway/slack.go": false, "gateway/admin/slack.go": false, "gateway/settings/settings.go": false,
		"channels/channels.go": true, "simulators/slack/web.go": true, "cmd/parley/run.go": true, "gateway/simtest/world.go": true, "broker/brokertest/node/main.go": true,
		"configs/example.yaml": true, "configs/decode.go": false, "sessionkeys/key.go": false, "agent/prompt/prompt.md": false,
	} {
		if mayNameNetworks(file, names) != want {
			t.Errorf("%s may name networks: %v", file, !want)
		}
	}
}
