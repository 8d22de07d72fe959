package signal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"parley/channels/internal/backoff"
)

// Two locks keep an account one process's. Both are the kernel's, which lets go of
// them when the last process ends that has the file open, however it ends:
//
//	parley.lock  who reads the journal and stores the position in it: one parley
//	daemon.lock  who writes the journal: the signal-cli that inherits it. Another
//	             parley may find it held when the one before was killed
const (
	parleyLock = "parley.lock"
	daemonLock = "daemon.lock"
)

// lockFD is the number by which the daemon has its lock open: the first after
// the standard three.
const lockFD = 3

var (
	errFolderTaken  = errors.New("another parley has the folder of this account")
	errOrphanDaemon = errors.New("a signal-cli that an earlier parley started still runs and does not end; end it")
)

// claimDir makes the account's folder this process's. The file says whose it is.
func claimDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the account: %w", err)
	}
	path := filepath.Join(dir, parleyLock)
	f, err := lockFile(path)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%w: process %s, in %s", errFolderTaken, lockOwner(path), dir)
	}
	if err != nil {
		return nil, err
	}
	// Only words for the other one depend on it, and a full disk refuses it.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

// lockOwner returns the number of the process that wrote itself into a lock.
func lockOwner(path string) string {
	text, _ := os.ReadFile(path)
	if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		return strconv.Itoa(n)
	}
	return "unknown"
}

// lockAlone takes the lock of the daemon, and ends one that is left of a parley that
// was killed. That receives no more, but may be busy with a message that it has
// confirmed: it has Outlive for that. Then it is asked to end, made to after
// StopWithin, and given up after twice that.
func (d *daemon) lockAlone(ctx context.Context) (*os.File, error) {
	path := filepath.Join(d.o.Dir, daemonLock)
	looks := backoff.Pauses{Min: 20 * time.Millisecond, Max: 500 * time.Millisecond, Jitter: d.o.Jitter}
	began, asked := time.Now(), false
	for {
		lock, err := lockFile(path)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return lock, err
		}
		pids, err := lockHolders(path)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errOrphanDaemon, err)
		}
		switch took := time.Since(began) - d.o.Outlive; {
		case took > 2*d.o.StopWithin:
			return nil, fmt.Errorf("%w: processes %v", errOrphanDaemon, pids)
		case took > d.o.StopWithin:
			killAll(pids, syscall.SIGKILL)
		case took >= 0 && !asked && len(pids) > 0:
			asked = true
			d.o.Log.Warn("signal-cli of an earlier parley still running, ending it", "processes", pids)
			killAll(pids, syscall.SIGTERM)
		}
		if looks.Wait(ctx); ctx.Err() != nil {
			return nil, ctx.Err() // the caller asks it too
		}
	}
}

func killAll(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
}

// lockFile opens a file and locks it for as long as somebody has it open.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err // it names the file
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}
