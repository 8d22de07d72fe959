package configs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/configs"
)

// written is a file with mode in a folder of its own.
func written(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func complaint(t *testing.T, file string) string {
	t.Helper()
	_, err := configs.Load(file, environ(set))
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAFileThatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "parley.yaml")
	if got := complaint(t, missing); got != missing+": no such file or directory (parley init writes a commented one; another is named with --config)" {
		t.Errorf("missing: %s", got)
	}
	dir := t.TempDir()
	if got := complaint(t, dir); got != dir+": is a directory" {
		t.Errorf("a folder: %s", got)
	}
	huge := written(t, strings.Repeat("# "+canary+"\n", 1<<18), 0o600)
	if got := complaint(t, huge); !strings.HasPrefix(got, huge+": more than 1048576 bytes") {
		t.Errorf("huge: %s", got)
	}
	if got := complaint(t, "/dev/zero"); !strings.HasPrefix(got, "/dev/zero: more than") {
		t.Errorf("endless: %s", got)
	}
}

func TestOnlyAFileThatNobodyElseReadsMayHoldSecrets(t *testing.T) {
	t.Parallel()
	const rest = "\nproviders: {anthropic: {api_key: \"${ANTHROPIC_API_KEY}\"}}\nagents: {main: {model: anthropic/m}}\n"
	literal := "channels: {telegram: {main: {token: 4200000001:AA" + canary + "}}}" + rest
	fallback := "channels: {telegram: {main: {token: \"${T:-4200000001:AA" + canary + "}\"}}}" + rest
	variable := "channels: {telegram: {main: {token: \"${TELEGRAM_TOKEN}\"}}}" + rest
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		refused    bool
	}{
		{"a secret, readable by all", literal, 0o644, true},
		{"a secret, readable by the group", literal, 0o640, true},
		{"a secret as a default", fallback, 0o644, true},
		{"a secret, readable by its owner", literal, 0o600, false},
		{"a variable, readable by all", variable, 0o644, false},
	} {
		file := written(t, c.text, c.mode)
		got := complaint(t, file)
		if c.refused != strings.Contains(got, "a secret, but others may read this file") || strings.Contains(got, canary) {
			t.Errorf("%s: %s", c.name, got)
		}
		if c.refused && (!strings.HasPrefix(got, file+":1:37: channels.telegram.main.token: ") || strings.Count(got, file) != 1) {
			t.Errorf("%s: not said once with its place: %s", c.name, got)
		}
		if !c.refused && got != "" {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestSecretsComeFromFilesAndCredentials(t *testing.T) {
	t.Parallel()
	const text = `
channels:
  telegram:
    a: {token_file: secrets/token}
providers:
  anthropic: {api_key: "${A:-}${file:/dev/null}k${N:-e}y"}
  b: {kind: openai, api_key: "${file:secrets/token}"}
  c: {kind: openai, api_key_file: credential}
  d: {kind: openai, api_key: 4200000001:AA$$x$y}
agents: {main: {model: anthropic/m, instructions: [notes, ~/house.md]}}
skills: [skills]
broker: {token_file: ~/token}
state_dir: state
`
	file := written(t, text, 0o600)
	dir := filepath.Dir(file)
	for name, secret := range map[string]string{"secrets/token": "42:from-a-file\r\n", "given/credential": "from-the-manager"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := configs.Load(file, environ(map[string]string{"HOME": "/home/ann", "CREDENTIALS_DIRECTORY": filepath.Join(dir, "given")}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want string }{
		{cfg.Channels.Telegram["a"].Token.Reveal(), "42:from-a-file"},
		{cfg.Providers["anthropic"].APIKey.Reveal(), "key"},
		{cfg.Providers["b"].APIKey.Reveal(), "42:from-a-file"},
		{cfg.Providers["c"].APIKey.Reveal(), "from-the-manager"},
		{cfg.Providers["d"].APIKey.Reveal(), "4200000001:AA$x$y"},
		{cfg.StateDir, filepath.Join(dir, "state")},
		{cfg.Broker.TokenFile, "/home/ann/token"},
		{strings.Join(cfg.Agents["main"].Instructions, " "), filepath.Join(dir, "notes") + " /home/ann/house.md"},
		{strings.Join(cfg.Skills, " "), filepath.Join(dir, "skills")},
		{strings.Join(cfg.ReadFrom, " "), strings.Join([]string{file, dir + "/secrets/token", "/dev/null", dir + "/secrets/token", dir + "/given/credential"}, " ")},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
}

func TestTheStateFolderIsWhereTheServiceManagerSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		vars       map[string]string
	}{
		{"systemd", "/var/lib/parley", map[string]string{"STATE_DIRECTORY": "/var/lib/parley:/var/lib/other", "XDG_STATE_HOME": "/x", "HOME": "/h"}},
		{"desktop", "/x/parley", map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/h"}},
		{"a relative folder counts as none", "/h/.local/state/parley", map[string]string{"XDG_STATE_HOME": "x", "HOME": "/h"}},
	} {
		c.vars["TELEGRAM_TOKEN"], c.vars["ANTHROPIC_API_KEY"] = "1:t", "k"
		if got := mustParse(t, configs.Example, c.vars).StateDir; got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
	_, err := configs.Parse("f", []byte(configs.Example), environ(map[string]string{"TELEGRAM_TOKEN": "1:t", "ANTHROPIC_API_KEY": "k"}))
	if err == nil || !strings.Contains(err.Error(), "state_dir: required") {
		t.Errorf("without any: %v", err)
	}
}

func TestAnEmptyListIsNobodyAndNothing(t *testing.T) {
	t.Parallel()
	cfg := mustParse(t, `
channels:
  telegram:
    said: {token: "1:t", access: {people: [], groups: []}}
    unsaid: {token: "2:t"}
providers: {anthropic: {api_key: k}}
agents:
  main: {model: anthropic/m, tools: []}
  all: {model: anthropic/m}
`, home)
	for name, c := range cfg.Channels.Telegram {
		if c.Access.Everyone || len(c.Access.People)+len(c.Access.Groups) > 0 {
			t.Errorf("%s lets somebody in: %+v", name, c.Access)
		}
	}
	if got := cfg.Agents["main"].Tools; got == nil || len(got) != 0 {
		t.Errorf("[] became %#v", got)
	}
	if got := cfg.Agents["all"].Tools; got != nil {
		t.Errorf("nothing said became %#v", got)
	}
}
