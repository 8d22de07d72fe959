package docs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"parley/configs"
	"parley/gateway/settings"
)

// snippet is a block of YAML in a document.
type snippet struct {
	where  string
	fenced bool // between ```yaml and ```, and not indented
	text   string
}

// snippets returns the blocks of a document that are YAML, or may be: those that say so, and the
// indented ones that begin with a key.
func snippets(name, text string) (all []snippet) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		first, begin := i, 0
		var in func(line string) bool
		switch fence := strings.Index(lines[i], "```yaml"); {
		case fence >= 0:
			begin = fence
			i++
			in = func(line string) bool { return !strings.HasPrefix(strings.TrimSpace(line), "```") }
		case strings.HasPrefix(lines[i], "    ") && (i == 0 || strings.TrimSpace(lines[i-1]) == ""):
			begin = len(lines[i]) - len(strings.TrimLeft(lines[i], " "))
			in = func(line string) bool { return line == "" || strings.HasPrefix(line, lines[first][:begin]) }
		default:
			continue
		}
		var body []string
		for ; i < len(lines) && in(lines[i]); i++ {
			body = append(body, strings.TrimPrefix(lines[i], strings.Repeat(" ", begin)))
		}
		i-- // the line behind it may begin the next
		s := snippet{fmt.Sprintf("%s:%d", name, first+1), strings.Contains(lines[first], "```"), strings.Join(body, "\n") + "\n"}
		if s.fenced || regexp.MustCompile(`^[a-z_]+:( |\n)`).MatchString(s.text) {
			all = append(all, s)
		}
	}
	return all
}

// minimal is the least configuration, into which the parts of one are put.
const minimal = `state_dir: state
channels: {telegram: {main: {token: "${TELEGRAM_TOKEN}", access: {people: ["123456789"], approvers: ["123456789"], groups: ["-1001234567890"]}}}}
providers: {anthropic: {api_key: "${ANTHROPIC_API_KEY}"}}
agents: {main: {model: anthropic/claude-haiku-5-5}}
`

// merge puts part into whole, mappings into mappings.
func merge(whole, part map[string]any) {
	for key, v := range part {
		into, both := whole[key].(map[string]any)
		more, ok := v.(map[string]any)
		if both && ok {
			merge(into, more)
		} else {
			whole[key] = v
		}
	}
}

// ofOthers are the blocks that are the configuration of another program, by how they begin.
var ofOthers = []string{"receivers:\n"}

// checkSnippet loads a block as what it is: a configuration, a part of one, or a file of tools. It
// reports whether it was any of these, and what is wrong with it.
func checkSnippet(t *testing.T, s snippet) (isConfig bool, err error) {
	t.Helper()
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[settings.Config]()) {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		known[key] = true
	}
	key, _, _ := strings.Cut(regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(s.text, ""), ":")
	switch {
	case slices.ContainsFunc(ofOthers, func(begin string) bool { return strings.HasPrefix(s.text, begin) }), !known[key] && !s.fenced:
		return false, nil
	}

	dir := t.TempDir()
	text := s.text
	// Files that it names are there, and so are its programs.
	for i, m := range regexp.MustCompile(`_file: ([^\s,}]+)`).FindAllStringSubmatch(text, -1) {
		file := filepath.Join(dir, fmt.Sprintf("file%d", i))
		if err := os.WriteFile(file, []byte("a long enough secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, m[1], file)
	}
	for _, m := range regexp.MustCompile(`(?m)^ +cmd: (\w+)$`).FindAllStringSubmatch(text, -1) {
		if err := os.WriteFile(filepath.Join(dir, m[1]), []byte("#!/bin/sh\n"), 0o700); err != nil { // a program
			t.Fatal(err)
		}
	}
	for _, m := range regexp.MustCompile(`command: \[(/[\w/.-]+),`).FindAllStringSubmatch(text, -1) {
		program := filepath.Join(dir, "program")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil { // a program
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, m[1], program)
	}
	const token = "4200000001:AAsnippetAAsnippetAAsnippetAAsnippe"
	text = strings.ReplaceAll(text, `"TOKEN"`, `"`+token+`"`)
	file := filepath.Join(dir, "parley.yaml")
	lookup := func(name string) (string, bool) {
		switch name {
		case "PATH", "HOME":
			return dir, true
		case "TELEGRAM_TOKEN":
			return token, true
		case "SLACK_BOT_TOKEN":
			return "xoxb-1", true
		case "SLACK_APP_TOKEN":
			return "xapp-1", true
		case "INSIDE_BOT_TOKEN":
			return "xoxb-2", true
		case "INSIDE_APP_TOKEN":
			return "xapp-2", true
		}
		return "a-long-enough-secret", true
	}
	var part map[string]any
	if err := yaml.Unmarshal([]byte(text), &part); err != nil {
		return true, err // the caller says where
	}
	if _, list := part["tools"].([]any); list {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := configs.LoadTools(file, lookup)
		return true, err // likewise
	}
	if part["channels"] == nil || part["providers"] == nil || part["agents"] == nil {
		var whole map[string]any
		if err := yaml.Unmarshal([]byte(minimal), &whole); err != nil {
			t.Fatal(err)
		}
		merge(whole, part)
		merged, err := yaml.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		text = string(merged)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = configs.Load(file, lookup)
	return true, err // likewise
}

// What the manual shows of a configuration is one: a whole one as it stands, and a part of one
// together with what every configuration has.
func TestConfigurationsInTheManual(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, name := range append(files, "../README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range snippets(name, string(text)) {
			isConfig, err := checkSnippet(t, s)
			if err != nil {
				t.Errorf("%s: %v\n%s", s.where, err, s.text)
			}
			if isConfig {
				found[name]++
			}
		}
	}
	for name, least := range map[string]int{"quickstart.md": 3, "operating.md": 9, "mcp.md": 2, "slack.md": 1, "telegram.md": 1, "signal.md": 2, "tracing.md": 1, "writing-a-tool.md": 1} {
		if found[name] < least {
			t.Errorf("%s: only %d configurations were found, of %v", name, found[name], slices.Sorted(maps.Keys(found)))
		}
	}
	t.Run("what is wrong is found", func(t *testing.T) {
		t.Parallel()
		const text = "It says:\n\n    bash: {enabld: true}\n\n```yaml\nagnts: {}\n```\n\n1. As in\n\n       web: {fetch: {enabled: maybe}}\n\n    $ parley status\n"
		all := snippets("x.md", text)
		if len(all) != 3 {
			t.Fatalf("%+v", all)
		}
		for _, s := range all {
			if _, err := checkSnippet(t, s); err == nil {
				t.Errorf("nothing is wrong with %s", s.text)
			}
		}
	})
}
