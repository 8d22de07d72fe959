package gateway_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/gateway"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/tools/files"
)

// I02, I03, TS18, TS19: a root of the operator's that holds keys, the configuration and a
// file of a secret shows none of them, nor does a link to the state that is made later; the
// workspace, which lies in the state folder, is in reach. (docs/decisions/0080)
func TestNoRootBringsKeysIntoReach(t *testing.T) {
	t.Parallel()
	home, late := t.TempDir(), filepath.Join(t.TempDir(), "late")
	for _, path := range []string{"notes", ".ssh/id", "parley.yaml", "token"} {
		noError(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(home, path)), 0o700), os.WriteFile(filepath.Join(home, path), []byte("text of "+path), 0o600)))
	}
	noError(t, os.Symlink(".ssh/id", filepath.Join(home, "link")))
	calls := []model.Block{
		model.Use("read_file", map[string]string{"path": home + "/notes"}),
		model.Use("write_file", map[string]string{"path": "mine", "content": "x"}),
		model.Use("read_file", map[string]string{"path": "mine"}),
	}
	reached := len(calls)
	for _, path := range []string{home + "/.ssh/id", home + "/.ssh/none", home + "/link", home + "/parley.yaml", home + "/token", late + "/parley.db", late + "/none"} {
		calls = append(calls, model.Use("read_file", map[string]string{"path": path}), model.Use("send_file", map[string]string{"path": path}))
	}
	calls = append(calls, model.Use("write_file", map[string]string{"path": home + "/.ssh/authorized_keys", "content": "x"}))
	seen := make(chan *model.Prompt, 100)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: asked(seen, calls...), Change: func(c *settings.Config) {
		c.Files = files.Config{ExtraRoots: []string{home, late}}
		c.ReadFrom = []string{home + "/parley.yaml", home + "/token"}
		main := c.Agents["main"]
		main.MaxIterations = 2 * len(calls)
		c.Agents["main"] = main
	}})
	gw := env.Start()
	noError(t, os.Symlink(env.Config().StateDir, late))
	gw.Ask(gatewaytest.Ann, "go")
	var results []string
	for len(seen) > 0 {
		for _, r := range (<-seen).Answering() {
			results = append(results, r.Text)
		}
	}
	if len(results) != len(calls) {
		t.Fatalf("%d results of %d: %q", len(results), len(calls), results)
	}
	for i, want := range []string{"text of notes", "wrote a new file mine", "x"} {
		if !strings.Contains(results[i], want) {
			t.Errorf("call %d gave %q, want %q", i, results[i], want)
		}
	}
	for i, got := range results[reached:] {
		if got != "Error: path not allowed: only regular files and folders of the workspace can be reached" {
			t.Errorf("call %d gave %q", reached+i, got)
		}
	}
	if _, err := os.Stat(home + "/.ssh/authorized_keys"); err == nil {
		t.Error("it was written")
	}
}

// Scripts may not name what the file tools do not reach.
func TestScriptsMayNotNameWhatIsTheGatewaysOwn(t *testing.T) {
	t.Parallel()
	c := settings.Config{StateDir: "/srv/state", ReadFrom: []string{"/etc/parley/parley.yaml"}, Files: files.Config{Denied: []string{"/srv/private"}}}
	c.Broker.TokenFile, c.Broker.CredentialsFile, c.Store.Redis.PasswordFile, c.Webhooks.KeyFile = "/srv/token", "/srv/credentials", "/srv/password", "/srv/key"
	c.Channels.Signal = map[string]settings.SignalConfig{"si": {Command: []string{"signal-cli", "--config", "/srv/signal-cli"}}}
	got := strings.Join(c.BashPolicy(false).DeniedPaths, " ")
	if got != "/srv/private /srv/state /etc/parley/parley.yaml /srv/signal-cli /srv/credentials /srv/token /srv/password /srv/key" {
		t.Errorf("denied are %s", got)
	}
	if got := strings.Join(c.Files.Denied, " "); got != "/srv/private" {
		t.Errorf("the configuration says now %s", got)
	}
}

// The log names a root that holds far more than one subject, at the start, as check-config
// does, and after a reload.
func TestAWideRootIsAWarning(t *testing.T) {
	t.Parallel()
	reloaded := make(heard, 1<<12)
	env := gatewaytest.Open(t, gatewaytest.Options{Log: slog.New(slog.NewTextHandler(reloaded, nil))})
	wide := func(c *settings.Config) { c.Files.ExtraRoots = []string{t.TempDir(), "/usr"} }
	c := env.Config()
	wide(&c)
	var log bytes.Buffer
	_, err := gateway.New(c, gateway.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	noError(t, err)
	if !strings.Contains(log.String(), "level=WARN") || strings.Count(log.String(), "extra root is wide") != 1 || !strings.Contains(log.String(), "key=files.extra_roots[1] path=/usr") {
		t.Errorf("the log says %s", &log)
	}
	env.Start().Reconfigure(wide)
	reloaded.await(t, "extra root is wide")
}
