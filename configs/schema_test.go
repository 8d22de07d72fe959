package configs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"parley/configs"
)

// compiled is the schema, as a validator that is not ours reads it.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := configs.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("parley.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("parley.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON reads YAML as an editor does.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSchema(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	t.Run("accepts every configuration that is shipped", func(t *testing.T) {
		t.Parallel()
		texts := map[string]string{"the example": configs.Example, "its defaults": uncommented(false), "all of it": uncommented(true)}
		for _, pattern := range []string{"cluster.yaml", "../deploy/*/parley.yaml", "../deploy/*/*/parley.yaml"} {
			files, err := filepath.Glob(pattern)
			if err != nil || len(files) == 0 {
				t.Fatalf("no %s: %v", pattern, err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				texts[file] = string(text)
			}
		}
		for name, text := range texts {
			if err := s.Validate(asJSON(t, text)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("is as strict about the form as the program", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			text string
			ok   bool
		}{
			{"log: {level: info}", true},
			{"log:", true},
			{"log: {levl: info}", false},
			{"lgo: {}", false},
			{"log: info", false},
			{"roles: worker", false},
			{"channels: {telegram: {main: {token_file: /run/secrets/token}}}", true},
			{"channels: {telegram: {main: {tokn_file: /run/secrets/token}}}", false},
			{"channels: {telegram: {main: {access: {people: [123456789]}}}}", true},
			{"worker: {turns: 8, grace: 30s}", true},
			{"worker: {turns: \"${TURNS}\", grace: \"${GRACE:-1m}\"}", true},
			{"worker: {turns: 1_000}", true},
			{"worker: {turns: lots}", false},
			{"worker: {turns: 8MB}", false},
			{"broker: {max_bytes: 10MB}", true},
			{"broker: {max_bytes: 1_000 KiB}", true},
			{"broker: {max_bytes: 1073741824}", true},
			{"broker: {max_bytes: 10mb}", false},
			{"sandbox: {memory: 1GiB}", true},
			{"workspaces: {keep: 2d}", true},
			{"worker: {grace: 30}", true}, // the program says what is missing
			{"worker: {grace: 30 seconds}", false},
			{"reload: {watch: true}", true},
			{"reload: {watch: \"${WATCH}\"}", true},
			{"reload: {watch: yes please}", false},
			{"context: {trim: 0.5}", true},
			{"context: {trim: half}", false},
			{"mcp: {servers: [{name: a, env: {KEY: x}}]}", true},
			{"mcp: {servers: {name: a}}", false},
		} {
			if err := s.Validate(asJSON(t, c.text)); (err == nil) != c.ok {
				t.Errorf("%s: %v", c.text, err)
			}
		}
	})
	t.Run("explains what the example explains", func(t *testing.T) {
		t.Parallel()
		at := func(path string) string {
			s := s
			for key := range strings.SplitSeq(path, ".") {
				next := s.Properties[key]
				if next == nil {
					t.Fatalf("%s: no %s", path, key)
				}
				if more, ok := next.AdditionalProperties.(*jsonschema.Schema); ok && !strings.HasSuffix(path, "."+key) {
					next = more
				}
				s = next
			}
			return s.Description
		}
		for path, want := range map[string]string{
			"state_dir":                          "The folder for everything that must survive a restart",
			"log.level":                          "debug, info, warn or error",
			"channels.telegram.token":            "The bot's token from BotFather.",
			"channels.telegram.access.approvers": "Those of the people who may permit",
			"agents.max_iterations":              "model calls in one turn, 1 to 200",
			"worker.turns":                       "parallel turns; further messages wait in the log",
		} {
			if got := at(path); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q", path, got)
			}
		}
	})
}
