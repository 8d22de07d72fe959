package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"parley/tools"
)

// maxKeptNames is how many names Keep tries.
const maxKeptNames = 50

var errNoName = tools.Errorf(tools.Permanent, "too many other files have that name")

// Save stores what r gives, until io.EOF, as a file of the workspace, and returns its
// path in it: the given one, below which missing folders are made, or, where another
// file has that name, the same with -2, -3 and so on before the ending. A file with
// the same bytes is the file: storing it again makes no second one, and nothing that
// is there is ever changed. It reaches what the tools reach and no more. The file
// appears whole or not at all. An error of r is in the chain; ctx ends it between two
// reads.
func Save(ctx context.Context, c Config, workspace, path string, r io.Reader) (string, error) {
	b, err := c.boundary()
	if err != nil {
		return "", err
	}
	b.extra = nil
	w := &writer{boundary: b}
	if strings.HasSuffix(path, "/") || filepath.IsAbs(path) {
		return "", fmt.Errorf("keep a file: %w", errNotAllowed)
	}
	t, err := w.openTarget(workspace, path, true)
	if err != nil {
		return "", fmt.Errorf("keep a file: %w", err)
	}
	defer func() { _ = t.Close() }()
	temp := ".parley-" + rand.Text() + ".tmp"
	name, err := w.keep(ctx, t, temp, r)
	if err != nil {
		_ = t.Remove(temp) // it may not be there
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			err = errDiskFull
		}
		return "", fmt.Errorf("keep a file: %w", err)
	}
	return filepath.Join(filepath.Dir(t.rel), name), nil
}

// keep stores r as temp and finds it a name.
func (w *writer) keep(ctx context.Context, t target, temp string, r io.Reader) (string, error) {
	f, err := t.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // said by Sync
	if _, err := io.Copy(f, contextReader{ctx, r}); err != nil {
		return "", err
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	given := t.name
	for n := 1; n <= maxKeptNames; n++ {
		t.name = numberedName(given, n)
		err := t.claim(temp)
		if err == nil {
			return t.name, t.sync()
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if t.info, err = t.lstat(); err != nil {
			return "", err
		}
		if t.info != nil && w.hasContentOf(t, f) {
			return t.name, t.Remove(temp)
		}
	}
	return "", errNoName
}

// hasContentOf reports whether what has the name is a plain file with the bytes of f.
func (w *writer) hasContentOf(t target, f *os.File) bool {
	mine, err := f.Stat()
	if err != nil || !t.info.Mode().IsRegular() || t.info.Size() != mine.Size() {
		return false
	}
	other, err := t.OpenFile(t.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = other.Close() }()
	info, err := other.Stat()
	if err != nil || !os.SameFile(info, t.info) || !w.isRegular(other, info) {
		return false
	}
	return sameBytes(io.NewSectionReader(f, 0, mine.Size()), other)
}

func sameBytes(a, b io.Reader) bool {
	var p, q [32 << 10]byte
	for {
		n, err1 := io.ReadFull(a, p[:])
		m, err2 := io.ReadFull(b, q[:])
		if n != m || !bytes.Equal(p[:n], q[:m]) || !errors.Is(err2, err1) {
			return false
		}
		if err1 != nil {
			return errors.Is(err1, io.EOF) || errors.Is(err1, io.ErrUnexpectedEOF)
		}
	}
}

// numberedName returns the name for the n-th try.
func numberedName(name string, n int) string {
	if n == 1 {
		return name
	}
	ending := filepath.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ending), n, ending)
}

// contextReader is a reader that ends with a context.
type contextReader struct {
	ctx context.Context // a Read has none
	r   io.Reader
}

func (u contextReader) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}
