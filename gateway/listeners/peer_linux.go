package listeners

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// peer returns the user at the other end.
func peer(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("look at the connection: %w", err)
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err := errors.Join(err, failed); err != nil {
		return -1, fmt.Errorf("ask who connects: %w", err)
	}
	return int(cred.Uid), nil
}
