package admin_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"parley/gateway/admin"
	"parley/gateway/listeners"
)

// timedAnswer is an answer that notes how long its question may be read.
type timedAnswer struct {
	*httptest.ResponseRecorder
	readUntil time.Time
}

func (a *timedAnswer) SetReadDeadline(t time.Time) error { a.readUntil = t; return nil }
func (a *timedAnswer) SetWriteDeadline(time.Time) error  { return nil }

// A backup may take longer than a question may: the server must not take that for an asker who
// has gone. What fails before the first byte is an answer, what fails later is cut off.
func TestABackupTakesItsTime(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is on fire")
	for name, c := range map[string]struct {
		text   string
		err    error
		status int
		cut    bool
	}{
		"whole":           {"PK", nil, http.StatusOK, false},
		"failed":          {"", broken, http.StatusInternalServerError, false},
		"failed half-way": {"PK", broken, http.StatusOK, true},
		"refused":         {"", &admin.Error{Kind: admin.Refused, Message: "no"}, http.StatusUnprocessableEntity, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := &timedAnswer{httptest.NewRecorder(), time.Unix(1, 0)}
			s, err := admin.New(t.Context(), admin.Options{
				Socket: listeners.Off, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
				Backup: func(_ context.Context, w io.Writer, workspaces bool) error {
					if !answer.readUntil.IsZero() || !workspaces {
						t.Errorf("the question is read until %v; with workspaces: %v", answer.readUntil, workspaces)
					}
					if c.text != "" {
						_, _ = io.WriteString(w, c.text)
					}
					return c.err
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			cut := func() (cut bool) {
				defer func() { cut = recover() == http.ErrAbortHandler }() //nolint:errorlint // it is panicked with itself
				s.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/backup?workspaces=1", nil))
				return false
			}()
			if answer.Code != c.status || cut != c.cut || c.status == http.StatusOK && answer.Header().Get("Content-Type") != "application/zip" {
				t.Errorf("answered %d with %v, cut off: %v", answer.Code, answer.Header(), cut)
			}
		})
	}
}
