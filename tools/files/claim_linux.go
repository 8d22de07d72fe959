package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// claim renames temp to the target's name, unless something has that name already,
// which somebody else may give in this very moment: then it is fs.ErrExist, and
// nothing has changed.
func (t target) claim(temp string) error {
	dir, err := t.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	fd := int(dir.Fd()) // small
	err = unix.Renameat2(fd, temp, fd, t.name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // this file system cannot
		return t.claimByLink(temp)
	}
	return os.NewSyscallError("renameat2", err)
}
