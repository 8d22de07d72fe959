package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"parley/tools"
)

type editInput struct {
	Path       string `json:"path"`
	OldText    string `json:"old_text" jsonschema:"exactly as in the file" minLength:"1"`
	NewText    string `json:"new_text" jsonschema:"empty: take it out"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

// Validate checks what the schema cannot.
func (in *editInput) Validate() error {
	if in.OldText == in.NewText {
		return errors.New("old_text and new_text are the same: nothing would change")
	}
	return nil
}

func (w *writer) edit(ctx context.Context, in editInput, c tools.Call) (tools.Result, error) {
	if strings.HasSuffix(in.Path, "/") {
		return tools.Result{}, errNotAllowed
	}
	t, err := w.openTarget(c.Workspace, in.Path, false)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = t.Close() }()
	if t.info == nil {
		return tools.Result{}, errNotFound
	}
	if err := t.checkWritable(); err != nil {
		return tools.Result{}, err
	}
	text, err := w.readText(t)
	if err != nil {
		return tools.Result{}, err
	}
	changed, lines, err := replace(string(text), in, w.max)
	if err != nil {
		return tools.Result{}, err
	}
	if err := t.put(ctx, []byte(changed)); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Content: fmt.Sprintf("replaced %s in %s", describeMatches(lines), quoteName(t.rel))}, nil
}

// readText reads a target that is a text.
func (w *writer) readText(t target) ([]byte, error) {
	f, err := t.OpenFile(t.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, errUnreadable
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, errUnreadable
	case !os.SameFile(info, t.info):
		return nil, errChanged
	case !w.isRegular(f, info):
		return nil, errNotAllowed
	case info.Size() > w.max:
		return nil, tools.Errorf(tools.Permanent, "the file has %d bytes; files of up to %d can be edited", info.Size(), w.max)
	}
	text, err := io.ReadAll(io.LimitReader(f, w.max+1))
	switch {
	case err != nil:
		return nil, errUnreadable
	case int64(len(text)) > w.max:
		return nil, errChanged // it grows
	case bytes.IndexByte(text, 0) >= 0:
		return nil, tools.Errorf(tools.Permanent, "the file is binary and cannot be edited")
	}
	return text, nil
}

func describeMatches(lines []int) string {
	if len(lines) == 1 {
		return fmt.Sprintf("the text on line %d", lines[0])
	}
	return fmt.Sprintf("%d occurrences, the first on line %d", len(lines), lines[0])
}
