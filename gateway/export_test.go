package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/recording"
	"parley/sessionkeys"
	"parley/simulators/model"
)

// A conversation with everything in it, exported from a gateway that runs, has
// every kind of line, and all of them are of its own tree.
func TestAnExportHasEveryKindOfLineAndOnlyOfItsTree(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Demo(0)})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "before all this")
	gw.Ask(gatewaytest.Ann, "/new")
	gw.Ask(gatewaytest.Ann, "hello")
	noError(t, os.WriteFile(filepath.Join(gw.Folder(gatewaytest.Ann), "notes.txt"), []byte("buy milk"), 0o600))
	gw.Ask(gatewaytest.Ann, "read notes.txt")
	gw.Ask(gatewaytest.Ann, "research whales")
	gw.Ask(gatewaytest.Ben, "something private")

	client := admin.NewClient(gw.AdminSocket())
	list, err := client.Sessions(t.Context(), admin.SessionQuery{ByCost: true})
	if err != nil || len(list.Sessions) != 3 {
		t.Fatalf("%+v, %v", list.Sessions, err)
	}
	file := recordingOf(t, gw, string(list.Sessions[0].ID))
	r, err := recording.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	tree := map[sessionkeys.SessionID]bool{}
	for _, s := range r.Sessions {
		tree[s.ID] = true
	}
	kinds := map[string]int{}
	for line := range bytes.Lines(file) {
		var l struct {
			Type    string
			Session sessionkeys.SessionID
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kinds[l.Type]++
		if l.Session != "" && !tree[l.Session] {
			t.Errorf("a line is of session %s: %s", l.Session, line)
		}
	}
	// Three questions; the root and three sub-agents.
	for kind, want := range map[string]int{
		recording.TypeHeader: 1, recording.TypeSession: 4, recording.TypeEnvelope: 3, recording.TypeTurn: 6, recording.TypeDelivery: 3, recording.TypeEnd: 1,
	} {
		if kinds[kind] != want {
			t.Errorf("%d lines of kind %s, not %d", kinds[kind], kind, want)
		}
	}
	for _, kind := range []string{recording.TypeMessage, recording.TypeFrame, recording.TypeRequest, recording.TypeCost} {
		if kinds[kind] == 0 {
			t.Errorf("no line of kind %s", kind)
		}
	}
	for _, other := range []string{"before all this", "something private"} {
		if bytes.Contains(file, []byte(other)) {
			t.Errorf("%q, of another session, is in the export", other)
		}
	}
	// Without any one of its lines it is no recording.
	lines := strings.SplitAfter(strings.TrimSuffix(string(file), "\n"), "\n")
	for i, line := range lines {
		rest := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
		if _, err := recording.Read(strings.NewReader(rest)); !errors.Is(err, recording.ErrUnreadable) {
			t.Errorf("without line %d, %.60s: %v", i+1, line, err)
		}
	}
}

func TestAnExportOfNoSessionWritesNothing(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "hello")
	gw.Ask(gatewaytest.Ben, "hello")
	client := admin.NewClient(gw.AdminSocket())
	for id, want := range map[string]admin.Kind{
		"01ARZ3NDEKTSV4RRFFQ69G5FAV": admin.NotFound, "c-nobody": admin.NotFound, "0": admin.Ambiguous, "": admin.Invalid, "../x": admin.Invalid,
	} {
		var b bytes.Buffer
		err := client.Export(t.Context(), id, &b)
		if e, ok := errors.AsType[*admin.Error](err); !ok || e.Kind != want || b.Len() != 0 {
			t.Errorf("%q: %v, and %d bytes; want %s", id, err, b.Len(), want)
		}
	}
}
