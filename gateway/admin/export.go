package admin

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"parley/sessionkeys"
)

// exportContent is the type of an export, so that it is not taken for an answer
// in one piece.
const exportContent = "application/x-ndjson"

// errExportCut means that the gateway ended before the export did.
var errExportCut = fmt.Errorf("export interrupted: the gateway ended, or its log says why")

// export answers with the recording of a session's tree, line by line. One that
// fails half-way has no last line.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	for name := range r.URL.Query() {
		s.respond(w, r, nil, newError(Invalid, "unknown parameter %q for this gateway", name))
		return
	}
	id, err := treeDesk{s.o}.resolve(r.Context(), r.PathValue("id"))
	if err != nil {
		s.respond(w, r, nil, err)
		return
	}
	if err := (treeDesk{s.o}).checkNotDeleted(r.Context(), id); err != nil {
		s.respond(w, r, nil, err)
		return
	}
	out := &untimedWriter{w: w, control: http.NewResponseController(w)}
	if err := out.readOn(); err != nil {
		s.respond(w, r, nil, err)
		return
	}
	err = s.o.Record(r.Context(), out, id)
	switch {
	case err != nil && !out.begun:
		s.respond(w, r, nil, err)
	case err != nil:
		if r.Context().Err() == nil {
			s.o.Logger.Warn("session export failed", "session", id, "error", err)
		}
		panic(http.ErrAbortHandler) // so that nobody takes it for the whole
	}
}

// checkNotDeleted says of a session whose content was deleted that there is nothing to export.
func (desk treeDesk) checkNotDeleted(ctx context.Context, id sessionkeys.SessionID) error {
	found, err := desk.o.Store.Session(ctx, id)
	if err != nil {
		return err
	}
	gone, err := desk.deletion(ctx, found.Root)
	if err == nil && gone != nil {
		err = newError(Refused, "the content of session %s was deleted on %s: there is nothing to export", found.Root, gone)
	}
	return err
}

// untimedWriter is an answer that may take as long as it is read.
type untimedWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	kind    string // of its content; empty: lines of JSON
	begun   bool
}

// readOn takes the end off the time in which the question is to be read. The server reads on
// behind it to see whether the asker has gone, and would take that end for it.
func (e *untimedWriter) readOn() error {
	if err := e.control.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("give the answer time: %w", err)
	}
	return nil
}

func (e *untimedWriter) Write(b []byte) (int, error) {
	if !e.begun {
		e.begun = true
		e.w.Header().Set("Content-Type", cmp.Or(e.kind, exportContent))
		e.w.Header().Set("Cache-Control", "no-store")
	}
	if err := e.control.SetWriteDeadline(time.Now().Add(answerWithin)); err != nil {
		return 0, fmt.Errorf("give the answer time: %w", err)
	}
	return e.w.Write(b) // the recording says what it wrote
}

// Export writes the recording of the tree that a session stands in, whose id
// begins with id, as go doc parley/gateway/recording describes it. After an
// error what was written is not the whole. It takes as long as ctx allows.
func (c *Client) Export(ctx context.Context, id string, to io.Writer) error {
	if err := checkID(id); err != nil {
		return err
	}
	last := &lastLineWriter{to: to}
	if err := c.copyAnswer(ctx, "/v1/sessions/"+id+"/export", nil, last, "export", errExportCut); err != nil {
		return err
	}
	if !bytes.HasPrefix(last.line, []byte(`{"type":"end"`)) {
		return errExportCut
	}
	return nil
}

// lastLineWriter hands on what is written and remembers how the last line begins.
type lastLineWriter struct {
	to   io.Writer
	line []byte
	over bool // the line has ended
}

func (l *lastLineWriter) Write(b []byte) (int, error) {
	n, err := l.to.Write(b)
	if err != nil {
		return n, err // the caller says what failed
	}
	for part := range bytes.Lines(b) {
		if l.over {
			l.line, l.over = l.line[:0], false
		}
		if room := 64 - len(l.line); room > 0 {
			l.line = append(l.line, part[:min(room, len(part))]...)
		}
		l.over = part[len(part)-1] == '\n'
	}
	return n, nil
}
