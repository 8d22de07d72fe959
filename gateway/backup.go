package gateway

import (
	"context"
	"fmt"
	"io"
	"sync"

	"parley/gateway/admin"
	"parley/gateway/backup"
	"parley/sessions/sqlite"
)

// backupOf returns what writes the state of this gateway into one file: its database and its
// message log must both be its own, since no other process changes them then.
func backupOf(s *setup, opened resources) func(ctx context.Context, w io.Writer, workspaces bool) error {
	var alone sync.Mutex
	return func(ctx context.Context, w io.Writer, workspaces bool) error {
		store, local := opened.store.(*sqlite.Store)
		switch {
		case !local && s.cfg.Broker.URL != "":
			return refusedBackup("conversations in Redis and messages in NATS")
		case !local:
			return refusedBackup("conversations in Redis")
		case s.cfg.Broker.URL != "":
			return refusedBackup("messages in NATS")
		case !alone.TryLock():
			return &admin.Error{Kind: admin.Refused, Message: "another backup of this gateway is being written: wait until it has ended"}
		}
		defer alone.Unlock()
		source := backup.Source{StateDir: s.cfg.StateDir, Version: s.o.Version, Store: store, Log: opened.log, Now: s.o.Now}
		if err := source.Write(ctx, w, workspaces); err != nil {
			return fmt.Errorf("back up %s: %w", s.cfg.StateDir, err)
		}
		return nil
	}
}

func refusedBackup(kept string) error {
	return &admin.Error{Kind: admin.Refused, Message: "this gateway keeps " + kept + ", and parley backup copies only the files of one that keeps both itself: " +
		"use the tools of Redis and NATS, as docs/backup.md says (Back up NATS and Redis)"}
}
