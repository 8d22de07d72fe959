package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"parley/tools"
)

type listInput struct {
	Path string `json:"path,omitempty" jsonschema:"default: the workspace"`
}

func (b *boundary) list(ctx context.Context, in listInput, workspace string) (tools.Result, error) {
	p, dir, err := b.openFolder(workspace, in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = dir.Close() }()
	f, err := dir.OpenFile(".", os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return tools.Result{}, errNotAllowed
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return tools.Result{}, tools.Errorf(tools.Transient, "the folder could not be read")
	}
	names = slices.DeleteFunc(names, func(name string) bool { return p.hides(dir, name) })
	slices.Sort(names)
	left := len(names) - maxEntries
	if names, err = describeEntries(ctx, dir, names); err != nil {
		return tools.Result{}, err
	}
	if len(names) == 0 {
		return tools.Result{Content: "[empty folder]"}, nil
	}
	note := ""
	if left > 0 {
		note = fmt.Sprintf("[%d more]", left)
	}
	return untrustedResult(theFolder, strings.Join(names, "\n"), note), nil
}

// hides reports whether an entry is denied, by the path that the text names or by the
// real one.
func (p place) hides(dir folder, entry string) bool {
	return p.denied.contains(filepath.Join(dir.abs, entry)) || p.denied.contains(filepath.Join(dir.real, entry))
}

// describeEntries describes the first entries. An entry is looked at through the folder that
// is held open, so that a folder exchanged for a link meanwhile shows nothing from
// outside.
func describeEntries(ctx context.Context, dir folder, names []string) ([]string, error) {
	var out []string
	for _, name := range names[:min(len(names), maxEntries)] {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		info, err := dir.Lstat(name)
		if err != nil {
			continue // gone meanwhile
		}
		out = append(out, describe(info, name))
	}
	return out, nil
}

func describe(info fs.FileInfo, name string) string {
	kind, size := "other", "-"
	switch {
	case info.Mode().IsRegular():
		kind, size = "file", strconv.FormatInt(info.Size(), 10)
	case info.IsDir():
		kind = "dir"
	case info.Mode()&fs.ModeSymlink != 0:
		kind = "link"
	}
	return fmt.Sprintf("%-5s %10s  %s", kind, size, quoteName(name))
}

// quoteName returns a name on one line, whatever it is made of.
func quoteName(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
