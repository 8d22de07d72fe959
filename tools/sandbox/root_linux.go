//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What a program finds besides its workspace. None of it says anything about the
// machine's users or holds a secret.
var (
	systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"}
	settingFiles  = []string{
		"alternatives", "ca-certificates", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types",
		"os-release", "pki/ca-trust/extracted", "pki/tls/certs", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "terminfo",
	}
	devices = []string{"full", "null", "random", "urandom", "zero"}
)

// Files that are written for a program.
var writtenFiles = map[string]string{
	"etc/passwd":        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n" + insideUser + ":x:1000:1000::" + insideHome + ":/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
	"etc/group":         "root:x:0:\n" + insideUser + ":x:1000:\nnogroup:x:65534:\n",
	"etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	"etc/hosts":         "127.0.0.1 localhost\n::1 localhost\n",
}

// Files by which a program finds what has a name in the network.
const (
	hostsFile    = "/etc/hosts"
	resolverFile = "/etc/resolv.conf"
)

// systemFiles returns the files that are written for the program: with the machine's
// network, its own hosts and resolver too, which must be in sight.
func (r *run) systemFiles() (map[string]string, error) {
	files := maps.Clone(writtenFiles)
	if !r.Network {
		return files, nil
	}
	for _, name := range []string{hostsFile, resolverFile} {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[strings.TrimPrefix(name, "/")] = string(text)
	}
	files["etc/nsswitch.conf"] = "passwd: files\ngroup: files\nhosts: files dns\n"
	return files, nil
}

// Flags of mounts.
const (
	readable = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	writable = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	device   = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
)

// mounted is a mount that is in no folder yet, and the folder it is for.
type mounted struct {
	fd     int
	target string // relative to the new root
	file   bool
}

// buildRoot replaces what this process sees of files: a new root folder in memory with
// system programs, a few settings and devices, a /proc of its own, and the workspace.
// Sources are opened first, while they are in sight.
func (r *run) buildRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	mounts, links, err := r.gather()
	if err != nil {
		return err
	}
	files, err := r.systemFiles()
	if err != nil {
		return err
	}
	if err := enterMemory(); err != nil {
		return err
	}
	for _, l := range links {
		if err := os.Symlink(l.to, l.from); err != nil {
			return err
		}
	}
	for _, m := range mounts {
		if err := m.attach(); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := writeFile(name, text); err != nil {
			return err
		}
	}
	if err := os.Mkdir("tmp/home", 0o700); err != nil {
		return err
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, "dev/"+name); err != nil {
			return err
		}
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	// Of the root alone: what is mounted in it has its own flags.
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: readable}); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	return nil
}

type link struct{ from, to string }

// gather opens all that is to be seen.
func (r *run) gather() (mounts []mounted, links []link, err error) {
	bind := func(path string, attrs uint64) error {
		m, err := bindMount(path, attrs)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // not every system has it
		}
		mounts = append(mounts, m)
		return err
	}
	for _, dir := range systemFolders {
		if to, err := os.Readlink(dir); err == nil { // to a folder in /usr
			links = append(links, link{strings.TrimPrefix(dir, "/"), to})
			continue
		}
		if err := bind(dir, readable); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range settingFiles {
		if err := bind(filepath.Join("/etc", name), readable); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range devices {
		if err := bind(filepath.Join("/dev", name), device); err != nil {
			return nil, nil, err
		}
	}
	size := strconv.FormatInt(r.Scratch, 10)
	for _, m := range []struct{ target, kind, size, mode string }{{"tmp", "tmpfs", size, "1777"}, {"dev/shm", "tmpfs", size, "1777"}, {"proc", "proc", "", ""}} {
		if m.kind == "proc" && !r.Walls.Proc {
			continue
		}
		fd, err := newMount(m.kind, m.size, m.mode)
		if err != nil {
			return nil, nil, err
		}
		mounts = append(mounts, mounted{fd: fd, target: m.target})
	}
	ws, err := r.Workspace.open(writable)
	if err != nil {
		return nil, nil, fmt.Errorf("workspace: %w", err)
	}
	ws.target = strings.TrimPrefix(Workspace, "/")
	mounts = append(mounts, ws)
	return r.gatherReadOnly(mounts, links)
}

// gatherReadOnly adds what the caller wants to be readable, the outermost first.
func (r *run) gatherReadOnly(mounts []mounted, links []link) ([]mounted, []link, error) {
	for _, src := range wanted(r.ReadOnly) {
		m, err := src.open(readable)
		if err != nil {
			return nil, nil, fmt.Errorf("read-only path: %w", err)
		}
		mounts = append(mounts, m)
	}
	return mounts, links, nil
}

// wanted returns those of sources that are not there anyway, the outermost first.
func wanted(sources []source) (missing []source) {
	sources = slices.SortedFunc(slices.Values(sources), func(a, b source) int { return len(a.Path) - len(b.Path) })
	for _, src := range sources {
		path := filepath.Clean(src.Path)
		if underSystem(path) || slices.ContainsFunc(missing, func(s source) bool { return below(path, filepath.Clean(s.Path)) }) {
			continue // it is there
		}
		missing = append(missing, src)
	}
	return missing
}

// open makes the mount of a source.
func (s source) open(attrs uint64) (mounted, error) {
	if s.FD == 0 {
		return bindMount(s.Path, attrs)
	}
	file, err := isFile(s.FD)
	return mounted{s.FD, strings.TrimPrefix(filepath.Clean(s.Path), "/"), file}, err
}

// bindMount makes a mount of a path with everything below it.
func bindMount(path string, attrs uint64) (mounted, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.O_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return mounted{}, &os.PathError{Op: "open_tree", Path: path, Err: err}
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attrs}); err != nil {
		return mounted{}, &os.PathError{Op: "mount_setattr", Path: path, Err: err}
	}
	file, err := isFile(fd)
	return mounted{fd, strings.TrimPrefix(filepath.Clean(path), "/"), file}, err
}

func isFile(fd int) (bool, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Mode&unix.S_IFMT != unix.S_IFDIR, err
}

// newMount makes a new file system of a kind.
func newMount(kind, size, mode string) (int, error) {
	wrap := func(err error) error { return fmt.Errorf("mount %s: %w", kind, err) }
	ctx, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, wrap(err)
	}
	defer func() { _ = unix.Close(ctx) }()
	attrs := unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	if kind == "proc" {
		// Links to a program's own descriptors can be written through all the same.
		attrs |= unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY
	} else {
		for key, value := range map[string]string{"size": size, "mode": mode, "nr_inodes": "65536"} {
			if err := unix.FsconfigSetString(ctx, key, value); err != nil {
				return -1, wrap(err)
			}
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return -1, wrap(err)
	}
	fd, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, attrs)
	if err != nil {
		return -1, wrap(err)
	}
	return fd, nil
}

// enterMemory makes an empty folder in memory the working directory. It lies over one
// that every system has, and which nothing of this process needs any more.
func enterMemory() error {
	root, err := newMount("tmpfs", "1048576", "0755")
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(root) }()
	for _, over := range []string{"/usr", "/tmp", "/dev", "/etc", "/proc"} {
		err = unix.MoveMount(root, "", unix.AT_FDCWD, over, unix.MOVE_MOUNT_F_EMPTY_PATH)
		if err == nil {
			return os.Chdir(over)
		}
	}
	return fmt.Errorf("mount a new root: %w", err)
}

// attach puts a mount into its folder below the working directory.
func (m mounted) attach() error {
	defer func() { _ = unix.Close(m.fd) }()
	if err := os.MkdirAll(filepath.Dir(m.target), 0o755); err != nil { // of a program's root
		return err
	}
	if m.file {
		if err := writeFile(m.target, ""); err != nil {
			return err
		}
	} else if err := os.MkdirAll(m.target, 0o755); err != nil { // of a program's root
		return err
	}
	if err := unix.MoveMount(m.fd, "", unix.AT_FDCWD, m.target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return &os.PathError{Op: "move_mount", Path: m.target, Err: err}
	}
	return nil
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { // of a program's root
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644) // of a program's root
}
