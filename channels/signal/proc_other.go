//go:build !linux

package signal

import (
	"errors"
	"os/exec"
	"syscall"
)

// apart gives a program a group of its own. A parley that is killed leaves it
// running here; the next one finds it by its lock.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

var errElsewhere = errors.New("not possible on this system")

// awaitEnd cannot look at a child without taking its number away.
func awaitEnd(int) error { return errElsewhere }

// holders cannot be found here.
func holders(string) ([]int, error) { return nil, errElsewhere }

// punch is not possible everywhere.
func punch(string, int64) error { return errElsewhere }
