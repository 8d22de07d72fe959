package listeners

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

func TestTheSystemSaysWhoConnects(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "admin.sock")
	s, err := OpenSocket(t.Context(), path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	c, err := DialSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	other, err := s.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if uid, err := peer(other); err != nil || uid != os.Geteuid() {
		t.Errorf("%d connects, %v", uid, err)
	}
}
