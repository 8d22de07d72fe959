//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Begin has a terminal give each key at once, and show none itself; interrupting and
// suspending keys go on working. The caller runs restore at the end.
func Begin(f *os.File) (restore func() error, err error) {
	fd := int(f.Fd()) // a file descriptor is small
	before, err := unix.IoctlGetTermios(fd, getMode)
	if err != nil {
		return nil, fmt.Errorf("read the mode of the terminal: %w", err)
	}
	mode := *before
	mode.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL | unix.IEXTEN
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setMode, &mode); err != nil {
		return nil, fmt.Errorf("set the mode of the terminal: %w", err)
	}
	return func() error {
		if err := unix.IoctlSetTermios(fd, setMode, before); err != nil {
			return fmt.Errorf("set the mode of the terminal back: %w", err)
		}
		return nil
	}, nil
}

// Size returns how large a terminal is, or zeros.
func Size(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd())) // a file descriptor is small
	if err != nil {
		return 0, 0
	}
	return columns, rows
}
