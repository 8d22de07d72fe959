package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"parley/folders"
	"parley/gateway/conversations"
	"parley/gateway/settings"
	"parley/sessionkeys"
	"parley/sessions"
)

// workspaces are the folders of conversations. Its methods may be called concurrently.
type workspaces struct {
	dir    string // in which they lie
	keep   time.Duration
	made   func(folder string) // nil: nobody asks
	logger *slog.Logger
	now    func() time.Time
}

func newWorkspaces(cfg settings.Config, o Options) *workspaces {
	return &workspaces{
		dir: filepath.Join(cfg.StateDir, "workspaces"), keep: cfg.Workspaces.Keep, made: o.NewWorkspace, logger: o.Logger, now: o.Now,
	}
}

func (w *workspaces) path(id sessionkeys.SessionID) string {
	return filepath.Join(w.dir, string(id))
}

// make makes a session's own folder.
func (w *workspaces) make(id sessionkeys.SessionID) (string, error) {
	dir := w.path(id)
	_, missing := os.Stat(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a workspace: %w", err)
	}
	if errors.Is(missing, fs.ErrNotExist) && w.made != nil {
		w.made(dir)
	}
	return dir, nil
}

// remove deletes the folders of sessions that this process has.
func (w *workspaces) remove(ids ...sessionkeys.SessionID) error {
	var errs []error
	for _, id := range ids {
		if err := folders.Remove(w.path(id)); err != nil {
			errs = append(errs, fmt.Errorf("delete workspace %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// sweep deletes, at once and then every hour until ctx ends, the workspaces
// of this process whose conversations were ended long ago, or whose content was deleted.
func (w *workspaces) sweep(ctx context.Context, store sessions.Store) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		n, err := w.sweepEnded(ctx, store)
		if err != nil && ctx.Err() == nil {
			w.logger.Warn("workspace cleanup failed", "error", err)
		}
		if n > 0 {
			w.logger.Info("workspaces of ended conversations deleted", "deleted", n, "kept_for", w.keep)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sweepEnded looks at every workspace once.
func (w *workspaces) sweepEnded(ctx context.Context, store sessions.Store) (deleted int, err error) {
	all, err := os.ReadDir(w.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var errs []error
	for _, e := range all {
		if ctx.Err() != nil {
			break
		}
		id := sessionkeys.SessionID(e.Name())
		over, err := w.isEnded(ctx, store, id)
		if err == nil && over {
			if err = folders.Remove(w.path(id)); err == nil {
				deleted++
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("workspace %s: %w", id, err))
		}
	}
	return deleted, errors.Join(append(errs, err)...)
}

// isEnded reports whether the conversation id was ended so long ago that its files may
// go, or its content was deleted, perhaps by another process. One that the store does not know is
// not: the store may be the wrong one.
func (w *workspaces) isEnded(ctx context.Context, store sessions.Store, id sessionkeys.SessionID) (bool, error) {
	s, err := store.Session(ctx, id)
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if erased, err := conversations.IsErased(ctx, store, s.Root, w.now()); erased || err != nil {
		return erased, err // it names the session
	}
	if w.keep < 0 || w.now().Sub(s.UpdatedAt) < w.keep {
		return false, nil
	}
	m, err := store.Mailbox(ctx, s.Key.Token())
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return false, err
	}
	return err == nil && m.Session != id && s.Parent == "", nil
}
