package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/admin"
	"parley/gateway/fates"
	"parley/gateway/listeners"
	"parley/gateway/page"
	"parley/sessions/sqlite"
)

// deafLog is a log that holds dead letters and does not say which.
type deafLog struct{ noLog }

func (deafLog) Stats(context.Context) (broker.Stats, error) {
	return broker.Stats{Bytes: 7, DeadLetters: 3}, nil
}

func (deafLog) DeadLetters(context.Context, uint64, int) ([]broker.DeadLetter, error) {
	return nil, broker.ErrUnavailable
}

// Just when the store is away, the operator needs what the process knows by itself.
func TestAStatusWithoutTheStoreSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "parley.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := admin.New(t.Context(), admin.Options{
		Socket: listeners.Off, Store: store, Log: deafLog{},
		Ready:    func(context.Context) (bool, map[string]string) { return false, map[string]string{"store": "gone"} },
		Channels: admin.NewChannels(channels.NopObserver{}, []string{"tg"}, time.Now),
		Recent: func() admin.Recent {
			return admin.Recent{Minutes: 10, Models: []admin.RecentModel{{Provider: "maker", Model: "model-1", Calls: 4}}}
		},
		Circuits:  func() []admin.Circuit { return nil },
		Reloaded:  func() admin.ReloadStatus { return admin.ReloadStatus{} },
		StoreSize: func() (int64, error) { return 0, errors.New("no file") },
		Refused:   func(context.Context) ([]fates.Passed, error) { return nil, errors.New("no refusals") },
		Now:       func() time.Time { return noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/status", nil))
	var st admin.Status
	if err := json.Unmarshal(w.Body.Bytes(), &st); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d: %s (%v)", w.Code, w.Body, err)
	}
	if st.Fine || !st.Uncounted || len(st.Channels) != 1 || len(st.Recent.Models) != 1 || st.Log.Bytes != 7 || st.DeadLetters != 3 {
		t.Errorf("%+v", st)
	}
	for _, want := range []string{
		"what waits, is scheduled and is spent is not known, because the store does not say it: ",
		"the dead letters cannot be read: ", "the size of the store is not known: no file", "store: gone", "the channel tg is not connected",
	} {
		if !slices.ContainsFunc(st.Problems, func(p string) bool { return strings.HasPrefix(p, want) }) {
			t.Errorf("%q is not among %q", want, st.Problems)
		}
	}
	for path, parts := range map[string][]string{"/": {"model-1", "tg"}, "/waiting": nil, "/trouble": {"the dead letters are not shown", "Turns that ended early"}} {
		pattern := "GET " + path
		if path == "/" {
			pattern += "{$}"
		}
		p, err := s.Pages().Views[pattern](httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil), "ann")
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		html := page.Frame{Now: noon}.Around(p)
		for _, want := range append(parts, "is not known, because the store does not say it", "store: gone") {
			if !strings.Contains(html, want) {
				t.Errorf("%s does not show %q:\n%s", path, want, html)
			}
		}
		for _, wrong := range []string{"Nothing waits for a permission", "turns run", "There is none of the last days", "Nobody has written yet"} {
			if strings.Contains(html, wrong) {
				t.Errorf("%s says %q, which nobody knows:\n%s", path, wrong, html)
			}
		}
	}
}

// fullLog is a message log that is nearly full and holds one dead letter, from a person who may talk
// to the bot.
type fullLog struct{ noLog }

func (fullLog) Stats(context.Context) (broker.Stats, error) {
	return broker.Stats{Bytes: 99, MaxBytes: 100, DeadLetters: 1}, nil
}

func (fullLog) DeadLetters(context.Context, uint64, int) ([]broker.DeadLetter, error) {
	return []broker.DeadLetter{{Reason: "attempts", At: noon.Add(-time.Hour)}}, nil
}

func TestNotes(t *testing.T) {
	t.Parallel()
	s, err := admin.New(t.Context(), admin.Options{
		Socket: listeners.Off, Log: fullLog{}, StoreSize: func() (int64, error) { return 0, nil },
		PricesOf: func() time.Time { return noon.AddDate(-1, 0, 0) }, Now: func() time.Time { return noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	notes := s.Notes(t.Context())
	for part, words := range map[string][]string{
		"given up":        {"1 message was given up, the oldest 1h0m0s ago"},
		"room and prices": {"the message log is nearly full", "the newest price of models is of 2025-03-14"},
	} {
		for _, want := range words {
			if !strings.Contains(notes[part], want) {
				t.Errorf("%s: %q does not say %q", part, notes[part], want)
			}
		}
	}
}
