package commands_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"parley/gateway/preferences"
	"parley/sessions"
)

// What is kept in a damaged record is missing from an answer, which comes all the same, and the
// log says so.
func TestARecordThatCannotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	d, s, k := desk(t)
	d.Goals, d.Log = true, slog.New(slog.NewTextHandler(&logged, nil))
	d.Menu = func(string) preferences.Menu {
		return preferences.Menu{Own: "a/one", Models: []string{"a/one", "b/two"}}
	}
	m, _, err := s.Touch(t.Context(), sessions.Touch{Token: k.Token(), Key: k, Seq: 1, By: sessions.Worker{Name: "w", Nonce: "n"}, Take: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	for kind, key := range map[string]string{"goal": string(m.Session), "title": string(m.Session), "conversation": k.Token(), "model_choice": k.Token()} {
		r := sessions.Record{ID: sessions.RecordID{Kind: kind, Key: key}, Owner: "worker", Body: []byte("{"), At: now}
		if _, err := s.WriteRecord(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"goal": "There is no goal.", "sessions": "no earlier conversations", "model": "Here `a/one` answers, by default.", "status": "Model: a/one",
	} {
		logged.Reset()
		contains(t, ask(t, d, k, name), want)
		if !strings.Contains(logged.String(), "record unreadable") {
			t.Errorf("/%s: the log says %q", name, logged.String())
		}
	}
}
