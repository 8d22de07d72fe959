// Package deploy_test checks the files with which parley is installed: against each other,
// and against what the program reads. Their own tools check more: docs/install.md names them.
package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"parley/configs"
	"parley/gateway"
	"parley/gateway/settings"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// decode reads YAML strictly: what v has no field for is an error.
func decode(t *testing.T, name, text string, v any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// secretFolder is where containers find secrets.
const secretFolder = "/run/secrets"

var secretFile = regexp.MustCompile(secretFolder + `/([a-z_]+)`)

// secretsIn returns the names of the files of secrets that a text names, each once.
func secretsIn(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range secretFile.FindAllStringSubmatch(text, -1) {
		names[m[1]] = true
	}
	return names
}

// withSecrets makes a folder with those files.
func withSecrets(t *testing.T, names map[string]bool) string {
	t.Helper()
	dir := t.TempDir()
	for name := range names {
		text := "sk-canary7canary7"
		if strings.HasSuffix(name, "telegram_token") {
			text = "4200000001:AAcanary7AAcanary7AAcanary7AAcanary7\n"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// load reads a shipped configuration as a gateway with these roles does, from a file that
// everybody may read, as it is in a container.
func load(t *testing.T, name string, vars map[string]string, roles ...string) settings.Config {
	t.Helper()
	text := read(t, name)
	dir := withSecrets(t, secretsIn(text))
	file := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, secretFolder, dir)), 0o644); err != nil { // so it is there
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	cfg, err := configs.Load(file, func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, roles...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if _, err := gateway.New(cfg, gateway.Options{}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if cfg.StateDir != stateFolder {
		t.Errorf("%s: the state is in %s", name, cfg.StateDir)
	}
	for _, people := range regexp.MustCompile(`(?m)^ *(people|everyone): (.*)$`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(people[2], "[] ") {
			t.Errorf("%s lets somebody in: %s", name, people[0])
		}
	}
	return cfg
}

const (
	stateFolder = "/var/lib/parley"
	configFile  = "/etc/parley/parley.yaml"
)

// grace is what running turns get at the end, of a configuration that does not say it.
var grace = settings.Config{}.Defaults().Worker.Grace
