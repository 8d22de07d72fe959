package gateway_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/recording"
	"parley/replay"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// requirements T04, TX07: what was said in a session that was exported is gone on with, in
// another gateway too, with its counters; and what it has cost stays where it was.
func TestAnExportedSessionIsGoneOnWith(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Demo(0)})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "my cat is called Tom")
	gw.Ask(gatewaytest.Ann, "research whales")
	gw.Ask(gatewaytest.Ann, "/title Whales and cats")
	gw.Ask(gatewaytest.Ben, "hello")
	client := admin.NewClient(gw.AdminSocket())
	before := gw.Ask(gatewaytest.Ann, "/status")
	old := present(t, client, gatewaytest.Ann)
	file := recordingOf(t, gw, string(old.ID))

	gw.Ask(gatewaytest.Ann, "/new") // reset: it is empty
	if s := present(t, client, gatewaytest.Ann); s.Messages != 0 || s.ID == old.ID {
		t.Fatalf("after /new: %+v", s)
	}
	empty := recordingOf(t, gw, string(present(t, client, gatewaytest.Ann).ID))
	made, err := client.Import(t.Context(), bytes.NewReader(file), "")
	noError(t, err)
	if made.Messages != old.Messages || made.Title != "Whales and cats" || made.Key != old.Key {
		t.Fatalf("%+v of %+v", made, old)
	}
	if answer := gw.Ask(gatewaytest.Ann, "/resume "+string(made.Session)); !strings.Contains(answer, "Whales and cats") {
		t.Errorf("it is resumed with %q", answer)
	}
	if after := gw.Ask(gatewaytest.Ann, "/status"); contextLine(after) != contextLine(before) || contextLine(after) == "" {
		t.Errorf("the context is %q, and was %q", contextLine(after), contextLine(before))
	}
	gw.Ask(gatewaytest.Ann, "and what is it called?")
	requests := env.Model.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "my cat is called Tom") {
		t.Errorf("the model does not know what was said: %s", last)
	}
	now := present(t, client, gatewaytest.Ann)
	if now.ID != made.Session || now.Messages != old.Messages+2 || now.Subtree >= old.Subtree {
		t.Errorf("%+v after %+v", now, old)
	}
	detail, err := client.Session(t.Context(), string(old.ID), false)
	noError(t, err)
	if kept := detail.Tree[0]; kept.Subtree != old.Subtree || kept.Messages != old.Messages {
		t.Errorf("the old session was %+v and is %+v", old, kept)
	}
	again, err := recording.Read(bytes.NewReader(recordingOf(t, gw, string(made.Session))))
	noError(t, err)
	if n := len(again.Messages[made.Session]); n != now.Messages {
		t.Errorf("its own export has %d messages, not %d", n, now.Messages)
	}

	report, err := replay.Run(t.Context(), again, replay.Options{})
	noError(t, err)
	if !report.Same() {
		var b bytes.Buffer
		noError(t, report.Print(&b))
		t.Errorf("its replay differs: %s", b.String())
	}

	// An import with into makes a session of another person's conversation.
	ben := present(t, client, gatewaytest.Ben)
	other, err := client.Import(t.Context(), bytes.NewReader(file), string(ben.ID))
	noError(t, err)
	if other.Key != ben.Key {
		t.Errorf("%+v is not of %+v", other, ben)
	}
	if answer := gw.Ask(gatewaytest.Ann, "/resume "+string(other.Session)); strings.Contains(answer, "Whales") {
		t.Errorf("Ann is let into Ben's: %q", answer)
	}
	if answer := gw.Ask(gatewaytest.Ben, "/resume "+string(other.Session)); !strings.Contains(answer, "Whales and cats") {
		t.Errorf("Ben is told %q", answer)
	}

	fresh := gatewaytest.Open(t, gatewaytest.Options{})
	elsewhere := fresh.Start()
	elsewhere.Ask(gatewaytest.Ben, "hello")
	far := admin.NewClient(elsewhere.AdminSocket())
	for name, row := range map[string]struct {
		file []byte
		into string
		kind admin.Kind
	}{
		"nobody wrote there":     {file, "", admin.NotFound},
		"into no session":        {file, "01ARZ3NDEKTSV4RRFFQ69G5FAV", admin.NotFound},
		"large, into no session": {bytes.Repeat(file, 5<<20/len(file)), "01ARZ3NDEKTSV4RRFFQ69G5FAV", admin.NotFound},
		"into what is no id":     {file, "../x", admin.Invalid},
		"cut off":                {file[:len(file)/2], string(present(t, far, gatewaytest.Ben).ID), admin.Invalid},
		"no recording":           {[]byte("hello\n"), "", admin.Invalid},
		"nothing was said in it": {empty, "", admin.Invalid},
	} {
		_, err := far.Import(t.Context(), bytes.NewReader(row.file), row.into)
		if e, ok := errors.AsType[*admin.Error](err); !ok || e.Kind != row.kind {
			t.Errorf("%s: %v, want %s", name, err, row.kind)
		}
	}
	moved, err := far.Import(t.Context(), bytes.NewReader(file), string(present(t, far, gatewaytest.Ben).ID))
	noError(t, err)
	if answer := elsewhere.Ask(gatewaytest.Ben, "/resume "+string(moved.Session)); !strings.Contains(answer, "Whales and cats") {
		t.Errorf("elsewhere Ben is told %q", answer)
	}
}

// present returns the session that the mailbox of p feeds.
func present(t *testing.T, client *admin.Client, p telegram.Person) admin.Session {
	t.Helper()
	list, err := client.Sessions(t.Context(), admin.SessionQuery{})
	noError(t, err)
	for _, s := range list.Sessions {
		if s.State != admin.Ended && strings.Contains(s.Key, fmt.Sprint(p.ID)) {
			return s
		}
	}
	t.Fatalf("%s talks to none of %+v", p.FirstName, list.Sessions)
	return admin.Session{}
}

// contextLine returns what /status says of the context.
func contextLine(status string) string {
	for line := range strings.Lines(status) {
		if strings.HasPrefix(line, "Context:") {
			return line
		}
	}
	return ""
}
