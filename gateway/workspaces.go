package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
)

// workspaces is the folder of all of them, in the state folder.
const workspaces = "workspaces"

func (g *Gateway) workspacePath(id sessionkeys.SessionID) string {
	return filepath.Join(g.cfg.StateDir, workspaces, string(id))
}

// workspace makes a session's own folder.
func (g *Gateway) workspace(id sessionkeys.SessionID) (string, error) {
	dir := g.workspacePath(id)
	_, missing := os.Stat(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a workspace: %w", err)
	}
	if errors.Is(missing, fs.ErrNotExist) && g.o.NewWorkspace != nil {
		g.o.NewWorkspace(dir)
	}
	return dir, nil
}

// sweepWorkspaces deletes, at once and then every hour until ctx ends, the workspaces
// of this process whose conversations were ended long ago.
func (g *Gateway) sweepWorkspaces(ctx context.Context, store sessions.Store) error {
	if g.cfg.Workspaces.Keep < 0 {
		return nil
	}
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		n, err := g.sweepEnded(ctx, store)
		if err != nil && ctx.Err() == nil {
			g.o.Logger.Warn("deleting the workspaces of ended conversations", "error", err)
		}
		if n > 0 {
			g.o.Logger.Info("deleted the workspaces of conversations that were ended", "deleted", n, "kept_for", g.cfg.Workspaces.Keep)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sweepEnded looks at every workspace once.
func (g *Gateway) sweepEnded(ctx context.Context, store sessions.Store) (deleted int, err error) {
	all, err := os.ReadDir(filepath.Join(g.cfg.StateDir, workspaces))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var errs []error
	for _, e := range all {
		if ctx.Err() != nil {
			break
		}
		id := sessionkeys.SessionID(e.Name())
		over, err := g.isEnded(ctx, store, id)
		if err == nil && over {
			err = os.RemoveAll(g.workspacePath(id))
			deleted++
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("workspace %s: %w", id, err))
		}
	}
	return deleted, errors.Join(append(errs, err)...)
}

// isEnded reports whether the conversation id was ended so long ago that its files may
// go. One that the store does not know is not: the store may be the wrong one.
func (g *Gateway) isEnded(ctx context.Context, store sessions.Store, id sessionkeys.SessionID) (bool, error) {
	s, err := store.Session(ctx, id)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && g.o.Now().Sub(s.UpdatedAt) < g.cfg.Workspaces.Keep {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	m, err := store.Mailbox(ctx, s.Key.Token())
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return false, err
	}
	return err == nil && m.Session != id && s.Parent == "", nil
}
