package files

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// put gives the name to a new file with this text, in one step. What is there
// must still be what was looked at. A new file gets the mode 0644 less the
// process's mask; one that takes the place of another gets its permissions.
func (t target) put(ctx context.Context, text []byte) error {
	temp := ".parley-" + rand.Text() + ".tmp"
	if err := t.writeTemp(temp, text); err != nil {
		_ = t.Remove(temp) // it may not be there
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return errDiskFull
		}
		return errUnwritten
	}
	err := context.Cause(ctx)
	if err == nil {
		err = t.checkUnchanged()
	}
	if err == nil && t.Rename(temp, t.name) != nil {
		err = errUnwritten
	}
	if err != nil {
		_ = t.Remove(temp)
		return err
	}
	if t.sync() != nil {
		return errUnwritten
	}
	return nil
}

// writeTemp makes the file temp and brings it to the disk.
func (t target) writeTemp(temp string, text []byte) error {
	var mode fs.FileMode = 0o644
	if t.info != nil {
		mode = 0o600 // nobody else reads it before its permissions are set
	}
	f, err := t.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && t.info != nil {
		err = f.Chmod(t.info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// checkUnchanged reports that what has the name is what was looked at.
func (t target) checkUnchanged() error {
	now, err := t.lstat()
	if err != nil {
		return err
	}
	if now == nil || t.info == nil {
		if now != nil || t.info != nil {
			return errChanged
		}
		return nil
	}
	if !os.SameFile(now, t.info) || now.Size() != t.info.Size() || !now.ModTime().Equal(t.info.ModTime()) {
		return errChanged
	}
	return nil
}

// checkWritable reports that what has the name is a plain file that its owner may write.
func (t target) checkWritable() error {
	switch {
	case !t.info.Mode().IsRegular():
		return errNotAllowed
	case t.info.Mode().Perm()&0o200 == 0:
		return errReadOnly
	}
	return nil
}
