package gateway

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/settings"
	"parley/sessions/memtest"
)

// What lies on servers is backed up by their tools, and the operator reads that.
func TestAGatewayOnServersIsNotBackedUp(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		url   string
		local bool
	}{
		"keeps conversations in Redis,":                      {"", false},
		"keeps conversations in Redis and messages in NATS,": {"nats://localhost", false},
		"keeps messages in NATS,":                            {"nats://localhost", true},
	} {
		s, opened := &setup{}, resources{store: memtest.New(memtest.Every)}
		s.cfg.Broker.URL = c.url
		if c.local {
			opened.store = openFile(t, t.TempDir())
		}
		err := backupOf(s, opened)(t.Context(), io.Discard, false)
		e, ok := errors.AsType[*admin.Error](err)
		if !ok || e.Kind != admin.Refused || !strings.Contains(e.Message, want) || !strings.Contains(e.Message, "Back up NATS and Redis") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestAGatewayDoesNotStartOnHalfARestore(t *testing.T) {
	t.Parallel()
	s := &setup{cfg: settings.Config{StateDir: t.TempDir()}}
	if err := os.Mkdir(filepath.Join(s.cfg.StateDir, "restore.partial"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := (opener{s}).openWithRoom(t.Context(), filepath.Join(s.cfg.StateDir, "workspaces")); err == nil || !strings.Contains(err.Error(), "was interrupted: empty the folder and restore again") {
		t.Errorf("opened with %v", err)
	}
	if found, err := os.ReadDir(s.cfg.StateDir); err != nil || len(found) != 1 { // a restore under way would stumble over more
		t.Errorf("it left %v, %v", found, err)
	}
}
