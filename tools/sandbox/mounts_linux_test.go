package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// Who may write decides too, but a program may find a way to be somebody else.
func TestOnlyThreeMountsCanBeWritten(t *testing.T) {
	s := walled(t)
	if !s.system.walls.Proc {
		t.Logf("level %s: programs have no /proc in which to see mounts", s.Level())
		return
	}
	res, out, err := sh(t, s, "cat /proc/self/mountinfo", func(c *Command) { c.ReadOnly = []string{"/usr/bin"} })
	if err != nil || res.Code != 0 {
		t.Fatalf("%+v %q %v", res, out, err)
	}
	var written []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		point, flags := fields[4], strings.Split(fields[5], ",")
		if !slices.Contains(flags, "ro") {
			written = append(written, point)
		}
		if !slices.Contains(flags, "nosuid") {
			t.Errorf("programs of other people's rights work in it: %s", line)
		}
	}
	slices.Sort(written)
	want := []string{"/dev/shm", "/tmp", Workspace}
	if s.Backend() == BackendBubblewrap { // which gives no device for reading only
		for _, name := range devices {
			want = append(want, "/dev/"+name)
		}
		slices.Sort(want)
	}
	if !slices.Equal(written, want) {
		t.Errorf("%q can be written, want %q", written, want)
	}
}
