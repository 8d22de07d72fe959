package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	if in.Path == "" {
		in.Path = "."
	}
	p, err := b.locate(workspace, in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = p.root.Close() }()
	dir, info, err := b.open(p, syscall.O_DIRECTORY)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = dir.Close() }()
	if !info.IsDir() {
		return tools.Result{}, errNotAllowed
	}
	names, err := dir.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return tools.Result{}, tools.Errorf(tools.Transient, "the folder could not be read")
	}
	total := len(names)
	slices.Sort(names)
	if names, err = p.visible(ctx, names); err != nil {
		return tools.Result{}, err
	}
	left := total - maxEntries
	if len(names) == 0 {
		return tools.Result{Content: "[empty folder]"}, nil
	}
	text := strings.Join(names, "\n")
	if left > 0 {
		text += fmt.Sprintf("\n[%d more]", left)
	}
	return tools.Result{Content: text}, nil
}

// visible describes the first entries. What is denied is left out. An entry is
// looked at through the root, so that a folder exchanged for a link meanwhile
// shows nothing from outside.
func (p place) visible(ctx context.Context, names []string) ([]string, error) {
	var out []string
	for _, name := range names[:min(len(names), maxEntries)] {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if p.denied.holds(filepath.Join(p.abs, name)) {
			continue
		}
		info, err := p.root.Lstat(filepath.Join(p.rel, name))
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
	return fmt.Sprintf("%-5s %10s  %s", kind, size, shown(name))
}

// shown is a name on one line, whatever it is made of.
func shown(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
