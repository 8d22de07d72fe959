package admin

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

// socket is a Unix socket that only this user and root may use.
type socket struct {
	*net.UnixListener
	path string
	self os.FileInfo
	log  *slog.Logger
	peer func(*net.UnixConn) (uid int, err error)

	closing sync.Once
	closed  error
}

// listen makes the socket, and its folder where that is missing.
func listen(ctx context.Context, path string, log *slog.Logger) (*socket, error) {
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
	s := &socket{UnixListener: l, path: path, log: log, peer: peer}
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
	c, err := dial(ctx, path)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("another gateway answers on %s: end it, or name another path", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("a socket is at %s, and whether somebody answers on it is not known: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket that an earlier gateway left: %w", err)
	}
	return nil
}

// Accept gives connections of this user and of root; others are closed.
func (s *socket) Accept() (net.Conn, error) {
	for {
		c, err := s.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := s.peer(c)
		if err == nil && (uid == 0 || uid == os.Geteuid()) {
			return c, nil
		}
		s.log.Warn("somebody else was refused on the operator's socket", "uid", uid, "error", err)
		_ = c.Close()
	}
}

// Close stops listening and removes the socket, unless another one is there by
// now.
func (s *socket) Close() error {
	s.closing.Do(func() {
		s.closed = s.UnixListener.Close()
		if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.self) {
			s.closed = errors.Join(s.closed, os.Remove(s.path))
		}
	})
	return s.closed
}

type uidKey struct{}

// remember notes who asks, for the log.
func (s *socket) remember(ctx context.Context, c net.Conn) context.Context {
	if u, ok := c.(*net.UnixConn); ok {
		if uid, err := s.peer(u); err == nil {
			return context.WithValue(ctx, uidKey{}, uid)
		}
	}
	return ctx
}

// dial connects to the socket at path.
func dial(ctx context.Context, path string) (c net.Conn, err error) {
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
		return err //nolint:wrapcheck // it names the folder
	}
	defer func() { _ = dir.Close() }()
	name, err := shorten(path, dir.Fd())
	if err != nil {
		return err
	}
	return f(name)
}

// shorten is the socket's name by way of its open folder, where path itself is
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
