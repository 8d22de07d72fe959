package deploy_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// unit is the values of a unit's keys, by section and key, in their order.
type unit map[string][]string

func readUnit(t *testing.T, name string) unit {
	t.Helper()
	u, section := unit{}, ""
	for line := range strings.Lines(read(t, name)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			section = strings.Trim(line, "[]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || section == "" {
			t.Fatalf("%s: %q is no setting", name, line)
		}
		u[section+"."+key] = append(u[section+"."+key], value)
	}
	return u
}

// one returns the value of a key that stands there once.
func (u unit) one(t *testing.T, key string) string {
	t.Helper()
	if len(u[key]) != 1 {
		t.Fatalf("%s stands there %d times", key, len(u[key]))
	}
	return u[key][0]
}

func TestTheUnit(t *testing.T) {
	t.Parallel()
	u := readUnit(t, "systemd/parley.service")
	for key, want := range map[string]string{
		"Service.Type":                     "notify",
		"Service.ExecStart":                "/usr/bin/parley run --config " + configFile,
		"Service.ExecReload":               "/usr/bin/parley reload --config " + configFile,
		"Service.User":                     "parley",
		"Service.StateDirectory":           strings.TrimPrefix(stateFolder, "/var/lib/"),
		"Service.StateDirectoryMode":       "0700",
		"Service.LoadCredential":           "parley:" + credentials,
		"Service.RestartPreventExitStatus": "78", // a mistake in the configuration
		"Service.KillMode":                 "mixed",
		"Service.OOMPolicy":                "continue",
		"Service.NoNewPrivileges":          "yes",
		"Service.CapabilityBoundingSet":    "",
		"Service.ProtectSystem":            "strict",
		"Install.WantedBy":                 "multi-user.target",
	} {
		if got := u.one(t, key); got != want {
			t.Errorf("%s=%s, want %s", key, got, want)
		}
	}
	stop, err := time.ParseDuration(u.one(t, "Service.TimeoutStopSec") + "s")
	if err != nil || stop < grace+20*time.Second {
		t.Errorf("it has %s to stop, and running turns get %s: %v", stop, grace, err)
	}

	// H08: what the sandbox of tools is built from. Without one of these the walls around
	// programs are weaker, or agents do not have the tools.
	for _, namespace := range []string{"user", "mnt", "pid", "net", "ipc", "uts"} {
		if !slices.Contains(strings.Fields(u.one(t, "Service.RestrictNamespaces")), namespace) {
			t.Errorf("the sandbox may make no namespace of kind %s", namespace)
		}
	}
	calls := strings.Fields(strings.Join(u["Service.SystemCallFilter"], " "))
	for _, call := range []string{"@system-service", "@mount", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp", "sethostname"} {
		if !slices.Contains(calls, call) {
			t.Errorf("the sandbox may not call %s", call)
		}
	}
	for _, key := range []string{"ProtectHostname", "ProtectKernelTunables", "ProtectKernelLogs", "ProcSubset", "MemoryDenyWriteExecute"} {
		if v, ok := u["Service."+key]; ok {
			t.Errorf("%s=%q keeps the sandbox, signal-cli or the metrics from working", key, v)
		}
	}
}

// The drop-in hands over the control group, which the unit's own keys would keep from being
// written.
func TestTheUnitWithControlGroups(t *testing.T) {
	t.Parallel()
	u, more := readUnit(t, "systemd/parley.service"), readUnit(t, "systemd/50-control-groups.conf")
	if u.one(t, "Service.ProtectControlGroups") != "yes" || more.one(t, "Service.ProtectControlGroups") != "no" || more.one(t, "Service.Delegate") != "memory pids" {
		t.Errorf("the unit has %q, the drop-in %q", u, more)
	}
}

// The drop-in takes away again what only the sandbox needs, and nothing else.
func TestTheUnitWithoutPrograms(t *testing.T) {
	t.Parallel()
	u, more := readUnit(t, "systemd/parley.service"), readUnit(t, "systemd/50-no-programs.conf")
	given, taken := u["Service.SystemCallFilter"], more.one(t, "Service.SystemCallFilter")
	for _, call := range strings.Fields(strings.Join(given, " ")) {
		if call != "@system-service" && !slices.Contains(strings.Fields(strings.TrimPrefix(taken, "~")), call) {
			t.Errorf("%s stays allowed", call)
		}
	}
	if !strings.HasPrefix(taken, "~") || more.one(t, "Service.RestrictNamespaces") != "yes" {
		t.Errorf("it takes away %q", taken)
	}
}
