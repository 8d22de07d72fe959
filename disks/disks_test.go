package disks_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"parley/disks"
	"parley/disks/diskstest"
)

func TestADiskIsFullAndThenIsNot(t *testing.T) {
	t.Parallel()
	diskstest.Run(t, func(t *testing.T, mount func(int) *diskstest.Disk) {
		d := mount(8 << 20)
		for _, look := range []func(string) error{disks.Check, disks.CheckWrite} {
			if err := look(d.Dir); err != nil {
				t.Errorf("with room: %v", err)
			}
			d.Fill()
			if err := look(d.Dir); !errors.Is(err, disks.ErrFull) || !disks.IsFull(err) {
				t.Errorf("without room: %v", err)
			}
			d.Free()
			if err := look(d.Dir); err != nil {
				t.Errorf("with room again: %v", err)
			}
		}
		left, err := filepath.Glob(filepath.Join(d.Dir, "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

func TestAFolderThatIsNotThereIsNotAFullDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gone")
	for _, look := range []func(string) error{disks.Check, disks.CheckWrite} {
		if err := look(dir); !errors.Is(err, fs.ErrNotExist) || disks.IsFull(err) {
			t.Errorf("got %v", err)
		}
	}
	for _, err := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if !disks.IsFull(fmt.Errorf("write: %w", err)) {
			t.Errorf("%v is a full disk", err)
		}
	}
}

func TestADiskIsLowWhenLittleAndASmallPartIsLeft(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for s, want := range map[disks.Space]bool{
		{Free: gib / 2, Size: 100 * gib}: true,
		{Free: 2 * gib, Size: 100 * gib}: false, // enough for a long time
		{Free: gib / 2, Size: gib}:       false, // half of a small one
		{Free: 0, Size: gib}:             true,
		{}:                               false, // not known
	} {
		if got := s.IsLow(); got != want {
			t.Errorf("%+v: %v", s, got)
		}
	}
	s, err := disks.SpaceAt(t.TempDir())
	if err != nil || s.Free <= 0 || s.Size < s.Free {
		t.Errorf("%+v, %v", s, err)
	}
}
