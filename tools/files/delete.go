package files

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"parley/tools"
)

type deleteInput struct {
	Path string `json:"path"`
}

func (w *writer) remove(ctx context.Context, in deleteInput, c tools.Call) (tools.Result, error) {
	t, err := w.openTarget(c.Workspace, in.Path, false)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = t.Close() }()
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, context.Cause(ctx)
	case t.info == nil:
		return tools.Result{}, errNotFound
	case t.info.IsDir():
	case !t.info.Mode().IsRegular(), strings.HasSuffix(in.Path, "/"):
		return tools.Result{}, errNotAllowed
	}
	err = t.Remove(t.name)
	switch {
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, fs.ErrExist):
		return tools.Result{}, tools.Errorf(tools.Permanent, "the folder is not empty; delete what is in it first")
	case errors.Is(err, fs.ErrNotExist):
		return tools.Result{}, errNotFound
	case err != nil, t.sync() != nil:
		return tools.Result{}, tools.Errorf(tools.Transient, "it could not be deleted")
	}
	return tools.Result{Content: "deleted " + quoteName(t.rel)}, nil
}
