package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/tools"
)

var errReadOnly = tools.Errorf(tools.Permanent, "the file is marked read-only")

type writeInput struct {
	Path          string `json:"path"`
	Content       string `json:"content"`
	CreateParents bool   `json:"create_parents,omitempty" jsonschema:"make missing folders"`
}

func (w *writer) write(ctx context.Context, in writeInput, c tools.Call) (tools.Result, error) {
	if strings.HasSuffix(in.Path, "/") {
		return tools.Result{}, errNotAllowed
	}
	if int64(len(in.Content)) > w.max {
		return tools.Result{}, w.tooLarge(int64(len(in.Content)))
	}
	t, err := w.openTarget(c.Workspace, in.Path, in.CreateParents)
	if errors.Is(err, errNotFound) {
		err = errNoFolder
	}
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = t.Close() }()
	did := "wrote a new file"
	if t.info != nil {
		did = "replaced"
		if err := t.checkWritable(); err != nil {
			return tools.Result{}, err
		}
	}
	if err := t.put(ctx, []byte(in.Content)); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Content: fmt.Sprintf("%s %s, %d bytes", did, quoteName(t.rel), len(in.Content))}, nil
}

func (w *writer) tooLarge(n int64) error {
	return tools.Errorf(tools.Permanent, "the file would have %d bytes; the most is %d", n, w.max)
}
