package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// realPath returns where f really is: as the kernel names the descriptor, or, where
// there is no /proc, as the path resolves now, if that is still the same file.
// ok is false when neither can be told.
func realPath(f *os.File, info fs.FileInfo, abs string) (path string, ok bool) {
	if path, ok := kernelPath(f); ok {
		return path, true
	}
	return resolvedPath(info, abs)
}

func resolvedPath(info fs.FileInfo, abs string) (path string, ok bool) {
	path, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", false
	}
	now, err := os.Stat(path)
	return path, err == nil && os.SameFile(now, info)
}

// isLinked reports whether the name by which f was opened is still there. The kernel
// marks one that is gone; a file that really ends so is taken for one, too.
//
// What takes a name's place counts the names of the file that had it first, and
// marks the name a moment later, all with the folder locked. So the folder is read
// in between, which waits for the lock.
func isLinked(f *os.File) bool {
	path, ok := kernelPath(f)
	if !ok {
		return true
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return false
	}
	_, err = dir.Readdirnames(1)
	_ = dir.Close()
	now, _ := kernelPath(f)
	return err == nil && now == path && !strings.HasSuffix(now, " (deleted)")
}

// kernelPath asks /proc for the name of the descriptor.
func kernelPath(f *os.File) (path string, ok bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return "", false
	}
	err = raw.Control(func(fd uintptr) {
		path, err = os.Readlink("/proc/self/fd/" + strconv.FormatUint(uint64(fd), 10))
		ok = err == nil && filepath.IsAbs(path)
	})
	return path, ok && err == nil
}
