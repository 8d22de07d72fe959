package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Program is the file that a tool runs, as it was when somebody looked. Two looks that found
// the same are equal; only Sum tells whether the content is.
type Program struct {
	Path    string    `json:"path"` // absolute, as it is called
	Real    string    `json:"-"`    // behind all links; "": it is not known here, and does not run
	Size    int64     `json:"-"`
	Changed time.Time `json:"-"`
}

// Sum returns the SHA-256 of the program's content as it is now, in hex.
func (p Program) Sum() (string, error) {
	f, err := os.Open(p.Path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// FindProgram finds a program: an absolute path, or a name that is looked up in the absolute
// folders of path, as in PATH. The error says what to do.
func FindProgram(cmd, path string) (Program, error) {
	switch {
	case filepath.IsAbs(cmd):
		return readProgram(filepath.Clean(cmd))
	case strings.Contains(cmd, "/"):
		return Program{}, fmt.Errorf("%s is not an absolute path", cmd)
	}
	var last error
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // it would depend on where parley was started
		}
		p, err := readProgram(filepath.Join(dir, cmd))
		if err == nil {
			return p, nil
		}
		if _, missing := errors.AsType[missingError](err); !missing {
			last = err
		}
	}
	switch {
	case last != nil:
		return Program{}, last
	case strings.ContainsAny(cmd, " \t"):
		return Program{}, fmt.Errorf("%q is not a program: cmd is one program, and what follows it belongs under args, each argument by itself", cmd)
	case path == "":
		return Program{}, fmt.Errorf("%s not found: there is no PATH; write the absolute path of the program", cmd)
	}
	return Program{}, fmt.Errorf("%s not found on PATH (%s): install it, or write its absolute path", cmd, path)
}

// missingError is the path of a file that is not there.
type missingError string

func (m missingError) Error() string { return string(m) + " does not exist" }

func readProgram(path string) (Program, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Program{}, missingError(path)
	case err != nil:
		return Program{}, err
	case info.IsDir():
		return Program{}, fmt.Errorf("%s is a folder, not a program", path)
	case !info.Mode().IsRegular():
		return Program{}, fmt.Errorf("%s is no regular file", path)
	case info.Mode()&0o111 == 0:
		return Program{}, fmt.Errorf("%s is not executable (its mode is %04o): chmod +x it", path, info.Mode().Perm())
	case info.Mode()&0o002 != 0:
		return Program{}, fmt.Errorf("%s may be changed by every user of the machine (its mode is %04o): chmod o-w it", path, info.Mode().Perm())
	}
	leads, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Program{}, err
	}
	f, err := os.Open(path) // the operator names it; its content is hashed later
	if err != nil {
		return Program{}, err
	}
	return Program{path, leads, info.Size(), info.ModTime()}, f.Close()
}

// Paths returns the paths that a sandbox has to show for the program to run.
func (p Program) Paths() []string {
	if p.Real == p.Path {
		return []string{p.Path}
	}
	return []string{p.Path, p.Real}
}
