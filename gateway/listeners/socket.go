package listeners

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// mostPath is how many bytes the path of a Unix socket may have, on all the
// systems that parley runs on.
const mostPath = 103

// Off stands where an address or a path could stand, for no listener.
const Off = "off"

// Socket is a Unix socket that only this user and root may use.
type Socket struct {
	*net.UnixListener
	Path string
	Log  *slog.Logger
	// Peer returns the user at the other end of a connection.
	Peer func(*net.UnixConn) (uid int, err error)

	self os.FileInfo

	closing sync.Once
	closed  error
}

// OpenSocket makes the socket at path, and its folder where that is missing. One that a
// dead process left is replaced, one that somebody answers on is an error.
func OpenSocket(ctx context.Context, path string, log *slog.Logger) (*Socket, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make its folder: %w", err)
	}
	if err := clearAway(ctx, path); err != nil {
		return nil, err
	}
	var l *net.UnixListener
	err := through(path, func(name string) error {
		lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
			// From its first moment on nobody else may connect.
			var failed error
			return errors.Join(c.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), 0o600) }), failed)
		}}
		got, err := lc.Listen(ctx, "unix", name)
		if err == nil {
			l = got.(*net.UnixListener)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // it knows the socket by another name
	s := &Socket{UnixListener: l, Path: path, Log: log, Peer: peer}
	err = os.Chmod(path, 0o600)
	if err == nil {
		s.self, err = os.Lstat(path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take the socket away from others: %w", err), l.Close())
	}
	return s, nil
}

// clearAway removes a socket that nobody answers on.
func clearAway(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at it: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there, and is no socket: move it away or name another path", path)
	}
	c, err := DialSocket(ctx, path)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("another gateway answers on %s: end it, or name another path", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("socket %s exists, and a probe of its listener failed: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket that an earlier gateway left: %w", err)
	}
	return nil
}

// Accept returns connections of this user and of root; others are closed.
func (s *Socket) Accept() (net.Conn, error) {
	for {
		c, err := s.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := s.Peer(c)
		if err == nil && (uid == 0 || uid == os.Geteuid()) {
			return c, nil
		}
		s.Log.Warn("operator socket connection refused", "uid", uid, "error", err)
		_ = c.Close()
	}
}

// Close stops listening and removes the socket, unless another one is there by
// now.
func (s *Socket) Close() error {
	s.closing.Do(func() {
		s.closed = s.UnixListener.Close()
		if now, err := os.Lstat(s.Path); err == nil && os.SameFile(now, s.self) {
			s.closed = errors.Join(s.closed, os.Remove(s.Path))
		}
	})
	return s.closed
}

// CheckSocket refuses what cannot be the path of a socket.
func CheckSocket(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s is not an absolute path", path)
	}
	_, err := shorten(path, 0)
	return err
}

// DialSocket connects to the socket at path.
func DialSocket(ctx context.Context, path string) (c net.Conn, err error) {
	err = through(path, func(name string) error {
		var d net.Dialer
		c, err = d.DialContext(ctx, "unix", name)
		return err
	})
	return c, err
}

// through calls f with a name for the socket at path that is short enough: the
// system takes no longer ones, wherever the socket may be.
func through(path string, f func(name string) error) error {
	if len(path) <= mostPath {
		return f(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err // it names the folder
	}
	defer func() { _ = dir.Close() }()
	name, err := shorten(path, dir.Fd())
	if err != nil {
		return err
	}
	return f(name)
}

// shorten returns the socket's name by way of its open folder, where path itself is
// too long.
func shorten(path string, dir uintptr) (string, error) {
	if len(path) <= mostPath {
		return path, nil
	}
	name := filepath.Join("/proc/self/fd", strconv.Itoa(int(dir)), filepath.Base(path))
	_, err := os.Stat("/proc/self/fd")
	if len(name)+8 > mostPath || err != nil {
		return "", fmt.Errorf("the path has %d bytes, and that of a Unix socket has at most %d: name a shorter one, or %s: %s", len(path), mostPath, Off, path)
	}
	return name, nil
}
