// Package disks says whether there is room on the disk of a folder.
package disks

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"
)

// ErrFull means that a disk has no room left, or that a quota is used up.
var ErrFull = errors.New("no space left on the disk")

// Spare is how many bytes a disk must have free to be worth writing to: with
// less, the next write fails if this one did not.
const Spare = 1 << 20

// IsFull reports whether err means that a disk has no room: ErrFull, or what the
// system says.
func IsFull(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// FreeBytes returns how many bytes of the disk of dir are free for this process. A quota
// is not seen.
func FreeBytes(dir string) (int64, error) {
	s, err := SpaceAt(dir)
	return s.Free, err
}

// Space is how large a disk is.
type Space struct {
	Free int64 // bytes that this process may still use; a quota is not seen
	Size int64
}

// low is how much is left of a disk that is nearly full, in bytes, if it is less than a tenth.
const low = 1 << 30

// IsLow reports whether little room is left: less than a tenth of the disk, and less than a GiB.
func (s Space) IsLow() bool { return s.Free < s.Size/10 && s.Free < low }

// SpaceAt returns how large the disk of dir is.
func SpaceAt(dir string) (Space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return Space{}, fmt.Errorf("ask for the free space at %s: %w", dir, err)
	}
	blocks := s.Bavail
	if os.Geteuid() == 0 { // may use what is kept for root
		blocks = s.Bfree
	}
	bytes := func(blocks uint64) int64 { return int64(min(blocks*uint64(s.Bsize), math.MaxInt64)) } // of different types elsewhere
	return Space{Free: bytes(uint64(blocks)), Size: bytes(uint64(s.Blocks))}, nil                   //nolint:unconvert // as above
}

// Check returns ErrFull when the disk of dir has less than Spare bytes free for
// this process. A quota is not seen: only writing tells. It costs no write.
func Check(dir string) error {
	free, err := FreeBytes(dir)
	if err == nil && free < Spare {
		err = fmt.Errorf("%w: %d bytes are free at %s, %d are needed", ErrFull, free, dir, Spare)
	}
	return err
}

// CheckWrite tries what Check only asks: it writes and syncs a file of Spare bytes in
// dir, and removes it. A disk without room is ErrFull.
func CheckWrite(dir string) error {
	f, err := os.CreateTemp(dir, "probe-*")
	if err == nil {
		piece := make([]byte, Spare/16)
		for n := 0; n < Spare && err == nil; n += len(piece) {
			_, err = f.Write(piece)
		}
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	switch {
	case err == nil:
		return nil
	case IsFull(err):
		return fmt.Errorf("write to %s: %w: %w", dir, ErrFull, err)
	}
	return fmt.Errorf("write to %s: %w", dir, err)
}
