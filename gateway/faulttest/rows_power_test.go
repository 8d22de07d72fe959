package faulttest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"parley/gateway/faulttest"
)

// disk is an ext4 file system of its own, from which the power can be taken:
// what was not synced is then gone.
type disk struct {
	t            *testing.T
	image, mount string
}

// newDisk makes and mounts one. It needs root, mkfs.ext4 and loop devices; the
// error says what is missing.
func newDisk(t *testing.T) (*disk, error) {
	t.Helper()
	dir := t.TempDir()
	d := &disk{t: t, image: filepath.Join(dir, "image"), mount: filepath.Join(dir, "disk")}
	if err := os.Mkdir(d.mount, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Truncate(d.image, 1<<30); err != nil {
		return nil, err
	}
	if err := run("mkfs.ext4", "-q", "-F", d.image); err != nil {
		return nil, err
	}
	if err := run("mount", "-o", "loop", d.image, d.mount); err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = run("umount", d.mount) })
	return d, nil
}

func run(name string, args ...string) error {
	if out, err := exec.CommandContext(context.Background(), name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// FS_IOC_SHUTDOWN and its flag NOLOGFLUSH, of the kernel's ext4: nothing more is
// written, not even the journal.
const (
	shutdown   = 0x8004587d
	noLogFlush = 2
)

// cut takes the power. No process may run that has files there, as none does when the power is
// gone: an fsync that is under way while the kernel shuts a file system down may return without an
// error although nothing was kept (Linux 6.18; a program of six goroutines that write and sync
// shows it in some ten tries).
func (d *disk) cut() {
	f, err := os.Open(d.mount)
	if err != nil {
		d.t.Error(err)
		return
	}
	defer func() { _ = f.Close() }()
	flag := uint32(noLogFlush)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), shutdown, uintptr(unsafe.Pointer(&flag))); errno != 0 {
		d.t.Errorf("take the power from the disk: %v", errno)
	}
}

// restore is what a machine does when it starts again: the journal is replayed.
func (d *disk) restore() {
	if err := run("umount", d.mount); err != nil {
		d.t.Error(err)
	}
	d.awaitDetached()
	if err := run("mount", "-o", "loop", d.image, d.mount); err != nil {
		d.t.Error(err)
	}
}

// awaitDetached waits until no loop device has the image. A sandbox that just begins, of any test
// on this machine, has a copy of all mounts for a moment, which keeps the file system without power
// alive; mount would show that one again.
func (d *disk) awaitDetached() {
	for end := time.Now().Add(faulttest.Patience); ; {
		out, err := exec.CommandContext(context.Background(), "losetup", "-j", d.image).Output()
		switch {
		case err != nil:
			d.t.Errorf("look for the disk's loop device: %v", err)
			return
		case len(out) == 0:
			return
		case time.Now().After(end):
			d.t.Errorf("the disk is not let go of: %s", out)
			return
		}
	}
}

// The power is cut while the load goes on: the disk keeps what was synced and
// nothing else. Nothing that was accepted is lost. With broker.sync relaxed the
// same cuts lose messages, which is how we know that they cut something. (F6)
func TestThePowerIsCutAndNothingAcceptedIsLost(t *testing.T) {
	if !faulttest.IsLong() {
		return // it needs root, and a disk of its own
	}
	d, err := newDisk(t)
	if err != nil {
		t.Logf("NOT RUN: a disk that drops what was not synced needs root, mkfs.ext4 and loop devices: %v", err)
		return
	}
	cuts := 10
	for _, sync := range []string{"strict", "relaxed"} {
		t.Run(sync, func(t *testing.T) {
			d.t = t
			e := faulttest.Embedded()
			open := e.Open
			e.Open = func(t testing.TB, _ string) *faulttest.Base { return open(t, filepath.Join(d.mount, sync)) }
			books := faulttest.Options{
				Engine: e, Shape: faulttest.Shape{Conversations: 60, Messages: 15, Tools: 0.4},
				Config: map[string]string{"broker": "{sync: " + sync + "}"},
			}
			if sync == "relaxed" {
				books.Expect = faulttest.Lost
			}
			run := faulttest.Open(t, books)
			run.Pace.SetRounds(cuts)
			run.Start()
			run.Drive(func(ctx context.Context) {
				for i := range cuts {
					if !run.AwaitSent(ctx, 5+run.Rand.IntN(60)) {
						t.Errorf("the load was over after %d cuts", i)
						return
					}
					run.NoteFault(0, "power cut")
					run.KillAnd(0, func() {
						d.cut()
						d.restore()
					})
				}
			})
			run.Finish()
		})
	}
}
