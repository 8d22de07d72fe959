//go:build linux && (amd64 || arm64)

package sandbox

import (
	"slices"
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
	if err := (Config{}).Defaults().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	if err := (Config{Backend: BackendBubblewrap, Mode: ModeUnsafeHost}).Validate(); err == nil || !strings.Contains(err.Error(), "backend: ") {
		t.Errorf("walls that are none: %v", err)
	}
	err := Config{Mode: "off", Backend: "docker", Memory: 1, Processes: -1, FileSize: -1, Scratch: 1, UID: -1}.Validate()
	for _, path := range []string{"mode: ", "backend: ", "memory: ", "processes: ", "file_size: ", "scratch: ", "uid: "} {
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("nothing of %q in %v", path, err)
		}
	}
}

func TestMapsOfOnlyRoot(t *testing.T) {
	t.Parallel()
	for maps, want := range map[string]bool{"0 0 4294967295\n": false, "0 1000 1\n": true, "0 0 1\n": true, "0 100000 65536\n": false, "0 1000 1\n1 100000 65536\n": false, "": false} {
		if outside, got := mapsOnlyRoot(maps); got != want || got && outside != 0 && outside != 1000 {
			t.Errorf("%q: %d, %t", maps, outside, got)
		}
	}
}

// H01, H02, H03: what is set, what is declared, and nothing else; the last of a name holds.
func TestEnvironmentOfPrograms(t *testing.T) {
	t.Parallel()
	set := map[string]string{"PATH": "/bin:.:bin::/workspace/x:/workspace", "HOME": "/root", "SECRET": "canary", "LC_ALL": ""}
	got := environment(func(name string) (string, bool) { v, ok := set[name]; return v, ok }, map[string]string{"HOME": "/tmp/home", "USER": "agent"}, []string{"A=1", "HOME=/x", "A=2=3"})
	if want := []string{"PATH=/bin", "HOME=/x", "LC_ALL=", "A=2=3"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}
