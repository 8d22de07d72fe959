package signal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/channels/signal"
	sim "parley/simulators/signal"
)

// What an examination finds of an account, by the ids of the findings, whether or not its signal-cli
// runs; and that it starts none that stays.
func TestExamine(t *testing.T) {
	t.Parallel()
	accounts := func(dir, text string) {
		t.Helper()
		noError(t, os.MkdirAll(filepath.Join(dir, "config", "data"), 0o700))
		noError(t, os.WriteFile(filepath.Join(dir, "config", "data", "accounts.json"), []byte(text), 0o600))
	}
	for name, c := range map[string]struct {
		version string
		change  func(r *fixture, o *signal.Options)
		want    string
	}{
		"registered, by its number": {sim.Version014, func(r *fixture, _ *signal.Options) {
			accounts(r.dir, `{"accounts":[{"path":"1","number":"`+number+`","uuid":"x"}],"version":2}`)
		}, "signal.version signal.account"},
		"another account":            {sim.Version014, func(r *fixture, _ *signal.Options) { accounts(r.dir, `{"accounts":[{"number":"+49301"}],"version":2}`) }, "signal.version signal.unlinked"},
		"a list that cannot be read": {sim.Version014, func(r *fixture, _ *signal.Options) { accounts(r.dir, `{`) }, "signal.version signal.unlinked"},
		"never registered":           {sim.Version014, func(*fixture, *signal.Options) {}, "signal.version signal.unlinked"},
		"one that loses messages":    {sim.Version0144, func(*fixture, *signal.Options) {}, "signal.old"},
		"no signal-cli":              {sim.Version014, func(_ *fixture, o *signal.Options) { o.Command = []string{"/nowhere/signal-cli"} }, "signal.missing"},
		"a program that is none":     {sim.Version014, func(_ *fixture, o *signal.Options) { o.Command = []string{"true"} }, "signal.missing"},
		"a daemon that does not run": {sim.Version014, func(_ *fixture, o *signal.Options) { o.Command, o.Dir, o.URL = nil, "", "http://127.0.0.1:1" }, "signal.unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(o *sim.Options) { o.Version = c.version })
			o := r.options()
			c.change(r, &o)
			ch, err := signal.New(o)
			noError(t, err)
			if got := idsOf(t, ch); got != c.want {
				t.Errorf("found %s, want %s", got, c.want)
			}
		})
	}
	t.Run("one that runs", func(t *testing.T) {
		t.Parallel()
		if got := idsOf(t, newRig(t).open(t)); got != "signal.version signal.account" {
			t.Errorf("supervised: %s", got)
		}
	})
	t.Run("one that runs elsewhere", func(t *testing.T) {
		t.Parallel()
		a := newAttached(t, "http")
		if got := idsOf(t, a.open(t)); got != "signal.version signal.account" {
			t.Errorf("attached: %s", got)
		}
	})
}

func idsOf(t *testing.T, ch *signal.Channel) string {
	t.Helper()
	var ids []string
	for _, f := range ch.Examine(t.Context()) {
		ids = append(ids, f.ID)
		t.Log(f.ID, f.Detail)
	}
	return strings.Join(ids, " ")
}
