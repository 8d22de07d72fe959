package configs_test

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"parley/configs"
	"parley/gateway/settings"
)

// environ is a lookup of variables.
func environ(pairs map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := pairs[name]
		return v, ok
	}
}

// home is the least that the example needs.
var home = map[string]string{
	"HOME": "/home/ann", "TELEGRAM_TOKEN": "4200000001:AAexample", "ANTHROPIC_API_KEY": "key-of-the-example",
}

// revealed compares secrets by what they hold.
var revealed = cmp.Comparer(func(a, b settings.Secret) bool { return a.Reveal() == b.Reveal() })

var (
	defaultLine = regexp.MustCompile(`(?m)^( *)# ([a-z_]+: .+)$`)
	sampleLine  = regexp.MustCompile(`(?m)^( *)#e\.g\. (.+)$`)
)

// uncommented puts the defaults, and with samples everything else, into force.
func uncommented(samples bool) string {
	s := configs.Example
	if _, rest, ok := strings.Cut(s, "\n\n"); ok {
		s = rest // the head explains the notation
	}
	s = defaultLine.ReplaceAllStringFunc(s, func(line string) string {
		m := defaultLine.FindStringSubmatch(line)
		if isProse(m[2]) {
			return line
		}
		return m[1] + m[2]
	})
	if samples {
		s = sampleLine.ReplaceAllString(s, "$1$2")
	}
	return s
}

// isProse tells a sentence with a colon in it from a key.
func isProse(line string) bool {
	key, _, _ := strings.Cut(line, ":")
	return !slices.Contains(slices.Collect(maps.Keys(keysOf(reflect.TypeFor[settings.Config]()))), key)
}

func mustParse(t *testing.T, text string, vars map[string]string) settings.Config {
	t.Helper()
	cfg, err := configs.Parse("/etc/parley/parley.yaml", []byte(text), environ(vars))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestTheExampleLoadsToTheDefaults(t *testing.T) {
	t.Parallel()
	want := settings.Config{
		ReadFrom: []string{"/etc/parley/parley.yaml"},
		StateDir: "/home/ann/.local/state/parley",
		Channels: settings.ChannelsConfig{Telegram: map[string]settings.TelegramConfig{"main": {
			Token: settings.NewSecret("4200000001:AAexample"),
		}}},
		Providers: map[string]settings.ProviderConfig{"anthropic": {APIKey: settings.NewSecret("key-of-the-example")}},
		Agents:    map[string]settings.AgentConfig{"main": {Model: "anthropic/claude-haiku-5-5"}},
	}.Defaults()
	if d := cmp.Diff(want, mustParse(t, configs.Example, home), revealed); d != "" {
		t.Errorf("the example is not the defaults (-want +got):\n%s", d)
	}
}

func TestTheDefaultsThatTheExampleShowsAreTheDefaults(t *testing.T) {
	t.Parallel()
	all := uncommented(false)
	for _, line := range []string{"\n  level: info", "\n        everyone: false", "\n  max_bytes: 1073741824", "\n  grace: 20s", "\nstate_dir: ~"} {
		if !strings.Contains(all, line) {
			t.Errorf("this test did not uncomment %q", strings.TrimSpace(line))
		}
	}
	if d := cmp.Diff(mustParse(t, configs.Example, home), mustParse(t, all, home), revealed); d != "" {
		t.Errorf("written out, the defaults differ (-left out +written out):\n%s", d)
	}
}

func TestTheExampleHasEveryKeyAndNoOther(t *testing.T) {
	t.Parallel()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(uncommented(true)), &doc); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	collect(doc.Content[0], "", shown)
	for path := range keysOf(reflect.TypeFor[settings.Config]()) {
		if strings.ContainsAny(path, ".") && !shown[path] {
			t.Errorf("the example does not show %s", path)
		}
	}
	// With everything in force only what excludes each other may be wrong.
	vars := maps.Clone(home)
	vars["OPENAI_API_KEY"] = "key-of-a-sample"
	_, err := configs.Parse("example.yaml", []byte(uncommented(true)), environ(vars))
	if err == nil || strings.Count(err.Error(), "example.yaml:") != 2 || !strings.Contains(err.Error(), "broker.listen: not together with url") ||
		!strings.Contains(err.Error(), "broker.token_file: not together with credentials_file") {
		t.Errorf("all keys together: %v", err)
	}
}

// keysOf gives the paths of all keys of t, with * for names, and also every key
// by itself.
func keysOf(t reflect.Type) map[string]bool {
	keys := map[string]bool{}
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		switch {
		case t.Kind() == reflect.Map:
			walk(t.Elem(), path+".*")
		case t.Kind() == reflect.Slice:
			walk(t.Elem(), path)
		case t.Kind() == reflect.Struct && t != reflect.TypeFor[settings.Secret]():
			for _, f := range reflect.VisibleFields(t) {
				if key := f.Tag.Get("yaml"); key != "" && key[0] != ',' {
					keys[key], keys[path+"."+key] = true, true
					walk(f.Type, path+"."+key)
				}
			}
		}
	}
	walk(t, "")
	return keys
}

// names are the mappings whose keys the operator chooses.
var names = []string{".page.operators", ".channels.telegram", ".channels.slack", ".channels.signal", ".providers", ".agents"}

func collect(n *yaml.Node, path string, into map[string]bool) {
	if n.Kind == yaml.SequenceNode {
		for _, e := range n.Content {
			collect(e, path, into)
		}
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if slices.Contains(names, path) {
			key = "*"
		}
		into[path+"."+key] = true
		collect(n.Content[i+1], path+"."+key, into)
	}
}
