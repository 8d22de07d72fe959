//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package terminal

import (
	"errors"
	"os"
)

// Begin has a terminal give each key at once, where parley knows how.
func Begin(*os.File) (restore func() error, err error) { return nil, errors.ErrUnsupported }

// Size returns how large a terminal is, or zeros.
func Size(*os.File) (columns, rows int) { return 0, 0 }
