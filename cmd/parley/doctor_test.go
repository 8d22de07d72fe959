package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/simulators/model"
)

// What doctor says before the first start, beside a gateway that runs, and of what is wrong; and that
// it writes nothing and shows no secret.
func TestDoctor(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer("${TOKEN}", token, "${KEY}", key).Replace(string(text))
	if err := os.WriteFile(config, []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, said := asked(t, "doctor", "-c", config)
	if status != exitOK || said != "" {
		t.Fatalf("before the start it ended with %d: %s%s", status, out, said)
	}
	sizes := regexp.MustCompile(`\d+ MiB of \d+ MiB|asked in \S+|user \d+`)
	golden(t, "doctor before the start", sizes.ReplaceAllString(out, "SO"), `
ok       state.new            /state: not there yet
ok       gateway.stopped      gateway: none runs on /state
ok       exposure.local       listeners: looked at: 1
ok       log.embedded         message log: in the state folder
ok       store.sqlite         store: in the state folder
ok       telegram.account     tg: @parley_bot, bot 4200000001
ok       model.listed         sim/demo: SO for nothing; priced: parley
ok       clock.right          clock: within SPAN of sim
`)
	if entries, err := filepath.Glob(filepath.Join(filepath.Dir(config), "*")); err != nil || len(entries) != 1 {
		t.Errorf("it left %q behind, %v", entries, err)
	}

	p := start(t, environment, "run", "--config", config)
	say(t, tg, "hello")
	await(t, tg, "the answer", answer("hello"))
	settled(t, config)
	status, out, said = asked(t, "doctor", "-c", config, "--no-models")
	if status != exitOK || !strings.Contains(out, "ok       gateway.running ") || !strings.Contains(out, "ok       model.skipped ") || !strings.Contains(out, "ok       disk.space ") {
		t.Errorf("beside a gateway it ended with %d: %s%s", status, out, said)
	}
	p.end(os.Interrupt)

	// A model that is not there, a folder that others may read, metrics for all.
	worse := strings.NewReplacer(`ops: {listen: "127.0.0.1:0"}`, `ops: {listen: "0.0.0.0:0", public: true}`, "sim/demo", "sim/other").Replace(plain)
	if err := os.WriteFile(config, []byte(worse), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, said = asked(t, "doctor", "-c", config, "--json")
	var r examined
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s%s", err, out, said)
	}
	var bad []string
	for _, f := range r.Findings {
		if f.Severity != "ok" {
			bad = append(bad, f.ID)
		}
	}
	if got := strings.Join(bad, " "); status != exitProblem || got != "config.warning exposure.metrics model.missing model.refused" || r.Worst != "error" ||
		said != "parley: doctor found 2 errors and 2 warnings\n" {
		t.Errorf("it ended with %d, found %s and said %s", status, got, said)
	}
	worse = strings.Replace(worse, "sim/other", "sim/demo", 1)
	if err := os.WriteFile(config, []byte(worse), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, said = asked(t, "doctor", "-c", config)
	if status != exitFailed || said != "parley: doctor found 0 errors and 1 warning\n" || !strings.Contains(out, "\n         To mend it: Set ops.listen to 127.0.0.1") {
		t.Errorf("with a warning it ended with %d: %s%s", status, out, said)
	}
	for _, secret := range []string{token, key, "canary7"} {
		if strings.Contains(out+said, secret) {
			t.Errorf("a secret is in %s", out)
		}
	}
	if err := os.WriteFile(config, []byte("state_dirr: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, said := asked(t, "doctor", "-c", config); status != exitConfig || out != "" || !strings.Contains(said, "unknown key (did you mean state_dir?)") {
		t.Errorf("of a mistake it ended with %d: %s%s", status, out, said)
	}
}
