package gateway

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"parley/disks"
	"parley/disks/diskstest"
	"parley/gateway/settings"
)

// F9, for what signal-cli writes.
func TestAGatewayIsNotReadyWhileTheDiskOfAJournalIsFull(t *testing.T) {
	t.Parallel()
	diskstest.Run(t, func(t *testing.T, mount func(int) *diskstest.Disk) {
		d := mount(8 << 20)
		journal := func(c settings.SignalConfig, roles ...string) *healthCheck {
			cfg := settings.Config{StateDir: d.Dir, Roles: roles, Channels: settings.ChannelsConfig{Signal: map[string]settings.SignalConfig{"phone": c}}}
			all := newHealthChecks(&setup{cfg: cfg}, &storage{}, t.TempDir()).checks
			i := slices.IndexFunc(all, func(v *healthCheck) bool { return v.metric == "journals" })
			if i < 0 {
				return nil
			}
			return all[i]
		}
		if journal(settings.SignalConfig{}, settings.RoleWorker) != nil || journal(settings.SignalConfig{URL: "http://127.0.0.1:1"}, settings.RoleGateway) != nil {
			t.Error("who writes no journal asks for room for one")
		}
		v := journal(settings.SignalConfig{}, settings.RoleGateway)
		check := func(when string, full bool) {
			t.Helper()
			v.check(t.Context())
			if err := v.state(); disks.IsFull(err) != full || err != nil && !full {
				t.Errorf("%s: %v", when, err)
			}
		}
		check("before anything was written", false)
		if err := os.Mkdir(filepath.Join(d.Dir, "signal"), 0o700); err != nil {
			t.Fatal(err)
		}
		check("with room", false)
		d.Fill()
		check("without room", true)
		d.Free()
		check("with room again", false)
	})
}

// docs/metrics.md lists the values of the label dependency: what a gateway with every network
// checks, and nothing else.
func TestTheDocumentNamesEveryDependency(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `dependency` \\| (.*), and the providers \\|").FindSubmatch(text)
	if row == nil {
		t.Fatal("the document has no label dependency")
	}
	var documented, checked []string
	for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllSubmatch(row[1], -1) {
		documented = append(documented, string(name[1]))
	}
	cfg := settings.Config{StateDir: t.TempDir(), Roles: []string{settings.RoleGateway}, Channels: settings.ChannelsConfig{Signal: map[string]settings.SignalConfig{"phone": {}}}}
	for _, c := range append(newHealthChecks(&setup{cfg: cfg}, &storage{}, t.TempDir()).readinessChecks(), deadLetterCheck(nil)) {
		checked = append(checked, c.Metric)
	}
	slices.Sort(documented)
	slices.Sort(checked)
	if !slices.Equal(documented, checked) {
		t.Errorf("the document names %q, and the gateway checks %q", documented, checked)
	}
}
