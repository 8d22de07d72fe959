// Package diskstest gives tests a disk that is really small.
package diskstest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// inside says to the test binary that it runs in a namespace of its own.
const inside = "PARLEY_TEST_NAMESPACE"

// Disk is a file system of its own, in memory.
type Disk struct {
	Dir string
	t   testing.TB
}

// Run calls f with a function that mounts disks of so many bytes, which go with
// the test. It needs the right to mount: as root, or else in a user and mount
// namespace, in which the test binary then runs this one test again. Where both
// are refused the test fails and says what is missing.
func Run(t *testing.T, f func(t *testing.T, mount func(bytes int) *Disk)) {
	t.Helper()
	first := t.TempDir()
	err := syscall.Mount("tmpfs", first, "tmpfs", 0, "size=64k")
	if err == nil {
		if err := syscall.Unmount(first, 0); err != nil {
			t.Fatal(err)
		}
		f(t, func(bytes int) *Disk { return mount(t, bytes) })
		return
	}
	if os.Getenv(inside) != "" {
		t.Fatalf("mount a tmpfs in a user namespace: %v", err)
	}
	self, serr := os.Executable()
	if serr != nil {
		t.Fatal(serr)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if serr = cmd.Start(); serr != nil {
		t.Fatalf("a small disk is needed: mounting a tmpfs was refused (%v), and so was a user and mount namespace (%v); "+
			"run the tests as root with CAP_SYS_ADMIN, or allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0)", err, serr)
	}
	if serr = cmd.Wait(); serr != nil {
		t.Fatalf("in a namespace of its own: %v\n%s", serr, out.Bytes())
	}
}

func mount(t *testing.T, bytes int) *Disk {
	t.Helper()
	d := &Disk{Dir: t.TempDir(), t: t}
	if err := syscall.Mount("tmpfs", d.Dir, "tmpfs", 0, "mode=700,size="+strconv.Itoa(bytes)); err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.Dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount a small disk: %v", err)
		}
	})
	return d
}

// Fill leaves no room.
func (d *Disk) Fill() {
	d.t.Helper()
	f, err := os.Create(filepath.Join(d.Dir, "fill"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // nobody reads it
	for piece := make([]byte, 1<<20); len(piece) > 0; piece = piece[:len(piece)/2] {
		for err = nil; err == nil; {
			_, err = f.Write(piece)
		}
	}
}

// Free gives back what Fill took. It empties the file before it removes it: a process
// that another test is just starting may hold it open until its program runs, and a
// file that is only removed takes its room until then.
func (d *Disk) Free() {
	d.t.Helper()
	name := filepath.Join(d.Dir, "fill")
	if err := errors.Join(os.Truncate(name, 0), os.Remove(name)); err != nil {
		d.t.Fatal(err)
	}
}
