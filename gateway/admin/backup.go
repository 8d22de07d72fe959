package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	backupPath    = "/v1/backup"
	backupContent = "application/zip"
	backupBegins  = time.Hour // at most, from the question to the first byte
)

// errBackupCut means that the gateway ended before the backup did.
var errBackupCut = errors.New("backup interrupted: the gateway ended, or its log says why")

// backup answers with the state of the gateway as one file. One that fails half-way is cut off.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) {
	ask := r.URL.Query()
	for name := range ask {
		if name != "workspaces" {
			s.respond(w, r, nil, newError(Invalid, "unknown parameter %q for this gateway", name))
			return
		}
	}
	if s.o.Backup == nil {
		s.respond(w, r, nil, newError(Refused, "this gateway cannot be backed up"))
		return
	}
	out := &untimedWriter{w: w, control: http.NewResponseController(w), kind: backupContent}
	err := out.readOn()
	if err == nil {
		err = out.control.SetWriteDeadline(time.Now().Add(backupBegins))
	}
	if err != nil {
		s.respond(w, r, nil, fmt.Errorf("give the backup time: %w", err))
		return
	}
	began := s.o.Now()
	err = s.o.Backup(r.Context(), out, ask.Get("workspaces") != "")
	switch {
	case err != nil && !out.begun:
		s.respond(w, r, nil, err)
	case err != nil:
		if r.Context().Err() == nil {
			s.o.Logger.Warn("backup failed", "error", err)
		}
		panic(http.ErrAbortHandler) // so that nobody takes it for the whole
	default:
		s.o.Logger.Info("backup written", "took", s.o.Now().Sub(began), "workspaces", ask.Get("workspaces") != "", "uid", r.Context().Value(uidKey{}))
	}
}

// Backup writes the state of the gateway to a file's writer, with the workspaces if they are
// wanted; see go doc parley/gateway/backup. After an error what was written is no backup. It
// takes as long as ctx allows.
func (c *Client) Backup(ctx context.Context, workspaces bool, to io.Writer) error {
	return c.copyAnswer(ctx, backupPath, flagQuery("workspaces", workspaces), to, "backup", errBackupCut)
}
