//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// system is what Open has found out about the machine.
type system struct {
	walls walls
	uid   int // outside, of programs
	gid   int
	idmap *os.File // as root: the user namespace that makes root's files the programs' own

	bubblewrap string  // the path of bwrap, with walls.Built
	groups     *groups // nil: runs have no control groups
}

func (sys system) close() error {
	if sys.idmap == nil {
		return nil
	}
	return sys.idmap.Close()
}

// identify decides who programs are outside. A gateway of an ordinary user runs them as
// that user. Root is bound by no limit of processes and may write much of /proc, so a
// gateway of root runs them as the user uid.
func identify(uid int) (sys system, err error) {
	sys = system{uid: os.Geteuid(), gid: os.Getegid()}
	if sys.uid != 0 {
		return sys, nil
	}
	maps, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return sys, err
	}
	if outside, ok := mapsOnlyRoot(string(maps)); ok {
		if outside == 0 {
			return sys, errors.New("the only user here is the machine's root, as whom no program may run; run the gateway as another user")
		}
		return sys, nil // an ordinary user who is called root here
	}
	sys.uid, sys.gid = uid, uid
	return sys, nil
}

// mapsOnlyRoot reports whether user 0 is the only one there is, and who that is outside.
func mapsOnlyRoot(maps string) (int, bool) {
	f := strings.Fields(maps)
	if len(f) != 3 || f[0] != "0" || f[2] != "1" {
		return 0, false
	}
	outside, err := strconv.Atoi(f[1])
	return outside, err == nil
}

// asRoot reports whether programs run as somebody else than the gateway.
func (sys system) asRoot() bool { return sys.uid != os.Geteuid() }

// openIDMap returns a user namespace in which root is the user of programs. A folder
// mounted by way of it is theirs if it is root's, and what they make in it is root's.
func (sys system) openIDMap() (*os.File, error) {
	cmd := exec.Command("/proc/self/exe", idleArg) //nolint:noctx // it ends with its input
	cmd.Env = []string{}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: sys.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: sys.gid, Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("make a user namespace: %w", err)
	}
	f, err := os.Open("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/ns/user")
	return f, errors.Join(err, in.Close(), ignoreExit(cmd.Wait()))
}

// ignoreExit leaves out how a process ended that was to do nothing.
func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

// mapped returns a mount of path that belongs to programs. It is in no folder yet, and
// has nothing that is mounted below, nor gets what the machine mounts there later. What is for reading only may be on a file system that
// cannot do this: programs then read of it what everybody may.
func (sys *system) mapped(path string, attrs uint64) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.O_CLOEXEC)
	if err != nil {
		return nil, &os.PathError{Op: "open_tree", Path: path, Err: err}
	}
	attr := unix.MountAttr{Attr_set: attrs | unix.MOUNT_ATTR_IDMAP, Propagation: unix.MS_PRIVATE, Userns_fd: uint64(sys.idmap.Fd())}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr)
	if errors.Is(err, unix.EINVAL) && attrs&unix.MOUNT_ATTR_RDONLY != 0 {
		err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: attrs, Propagation: unix.MS_PRIVATE})
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("give %s to user %d, for which its file system must know ID-mapped mounts: %w", path, sys.uid, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// countTasks returns how many processes and threads the user has.
func countTasks(uid int) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		status, err := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		if err != nil {
			continue // it has ended
		}
		var owner, threads int
		for line := range bytes.Lines(status) {
			f := strings.Fields(string(line))
			switch {
			case len(f) > 1 && f[0] == "Uid:":
				owner, _ = strconv.Atoi(f[1])
			case len(f) > 1 && f[0] == "Threads:":
				threads, _ = strconv.Atoi(f[1])
			}
		}
		if owner == uid {
			n += threads
		}
	}
	return n, nil
}
