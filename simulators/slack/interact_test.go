package slack_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	sim "parley/simulators/slack"
)

func TestACommandIsDelivered(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	if _, err := w.Command("", general, ann, "/parley", "status"); err != nil {
		t.Fatal(err)
	}
	f := s.read()
	var c map[string]string
	if err := json.Unmarshal(f.Payload, &c); err != nil || f.Type != "slash_commands" || !f.Accepts || f.Attempt != nil {
		t.Fatalf("frame %+v %v", f, err)
	}
	if c["command"] != "/parley" || c["text"] != "status" || c["response_url"] == "" || c["channel_id"] != general.ID {
		t.Errorf("command %v", c)
	}
	s.ack(f)
	w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == 1 })
}

func TestACommandIsNotDeliveredAgain(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	if _, err := w.Command("", general, ann, "/parley", ""); err != nil {
		t.Fatal(err)
	}
	s.read()
	w.Lapse()
	b := w.until(func(b sim.Book) bool { return b.Totals.GivenUp == 1 })
	if len(b.Events[0].Attempts) != 1 {
		t.Errorf("attempts %+v", b.Events[0].Attempts)
	}
}

func TestAPressedButtonIsDelivered(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.say(general, ann, "hello")
	a := w.call("chat.postMessage", map[string]any{"channel": general.ID, "text": "sure?", "blocks": []any{button}})
	s := w.connect()
	if _, err := w.Press(ann, general.ID, a.TS, "stop", "now"); err != nil {
		t.Fatal(err)
	}
	f := s.read()
	for f.Type != "interactive" {
		f = s.read()
	}
	var p struct {
		Type    string `json:"type"`
		Trigger string `json:"trigger_id"`
		Actions []struct {
			ActionID string `json:"action_id"`
			BlockID  string `json:"block_id"`
			Value    string `json:"value"`
		} `json:"actions"`
		Container struct {
			TS string `json:"message_ts"`
		} `json:"container"`
	}
	if err := json.Unmarshal(f.Payload, &p); err != nil || p.Type != "block_actions" || len(p.Actions) != 1 || p.Actions[0].ActionID != "stop" ||
		p.Actions[0].BlockID != "b" || p.Actions[0].Value != "now" || p.Container.TS != a.TS {
		t.Errorf("payload %s %v", f.Payload, err)
	}
	s.ack(f)
	w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == 1 })
}

// What one person sees is in no history and in no call's reach: who sees it presses its buttons, and
// what the app then posts to the URL of that press is all that changes it.
func TestAnEphemeralMessageIsChangedByItsResponseURLAlone(t *testing.T) {
	t.Parallel()
	w := start(t)
	root := w.say(general, ann, "hello")
	quiet := w.say(general, ann, "nobody has replied to this")
	w.call("chat.postMessage", map[string]any{"channel": general.ID, "text": "hi", "thread_ts": root.TS})
	bob := sim.Person{ID: "U0BOB", Name: "bob"}
	w.say(sim.Channel{ID: "C0OTHER", Kind: sim.Public}, bob, "I am elsewhere")
	ask := map[string]any{"channel": general.ID, "text": "sure?", "blocks": []any{button}, "thread_ts": root.TS}
	for user, want := range map[string]string{bob.ID: "user_not_in_channel", "U0NOBODY": "user_not_found"} {
		ask["user"] = user
		if a := w.call("chat.postEphemeral", ask); a.Error != want {
			t.Errorf("to %s: %+v", user, a)
		}
	}
	ask["user"] = ann.ID
	w.call("chat.postEphemeral", ask)
	ask["thread_ts"] = quiet.TS
	w.call("chat.postEphemeral", ask)
	all := w.Books().Messages
	seen, unseen := all[len(all)-2], all[len(all)-1]
	if seen.Ephemeral != ann.ID || seen.Unseen || !unseen.Unseen {
		t.Fatalf("posted %+v, %+v", seen, unseen)
	}
	if a := w.call("chat.update", map[string]any{"channel": general.ID, "ts": seen.TS, "text": "x"}); a.Error != "message_not_found" {
		t.Errorf("chat.update gives %+v", a)
	}
	for who, ts := range map[sim.Person]string{bob: seen.TS, ann: unseen.TS} {
		if _, err := w.Press(who, general.ID, ts, "stop", "now"); err == nil {
			t.Errorf("%s has pressed %s", who.ID, ts)
		}
	}
	s := w.connect()
	if _, err := w.Press(ann, general.ID, seen.TS, "stop", "now"); err != nil {
		t.Fatal(err)
	}
	f := s.read()
	for f.Type != "interactive" {
		f = s.read()
	}
	var p struct {
		URL       string          `json:"response_url"`
		Message   json.RawMessage `json:"message"`
		Container struct {
			TS        string `json:"message_ts"`
			Thread    string `json:"thread_ts"`
			Ephemeral bool   `json:"is_ephemeral"`
		} `json:"container"`
	}
	if err := json.Unmarshal(f.Payload, &p); err != nil || !p.Container.Ephemeral || p.Container.TS != seen.TS || p.Container.Thread != root.TS || p.Message != nil {
		t.Fatalf("payload %s %v", f.Payload, err)
	}
	respond := func(body string) (int, string) {
		t.Helper()
		res, err := w.client.Post(p.URL, "application/json", strings.NewReader(body)) //nolint:noctx // the client of the test
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	for _, wrong := range []string{`{"text":"x"}`, `{"replace_original":true}`, `{"nonsense":1}`} {
		if status, text := respond(wrong); status < 400 {
			t.Errorf("%s: %d %s", wrong, status, text)
		}
	}
	for range 5 {
		if status, text := respond(`{"replace_original":true,"text":"pressed"}`); status != http.StatusOK || text != "ok" {
			t.Fatalf("replaced: %d %s", status, text)
		}
	}
	if status, text := respond(`{"delete_original":true}`); status != http.StatusNotFound || !strings.Contains(text, "used_url") {
		t.Errorf("a sixth time: %d %s", status, text)
	}
	all = w.Books().Messages
	if m := all[len(all)-2]; m.Text() != "pressed" || len(m.Versions[len(m.Versions)-1].Blocks) > 0 {
		t.Errorf("it shows %+v", m)
	}
}

// page is what a browser without a session is shown.
const page = "Sign in"

func TestFilesNeedTheToken(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	w.say(general, ann, "see", sim.SayOptions{Files: []sim.File{{Name: "a.txt", Mimetype: "text/plain", Data: []byte("secret")}}})
	m, raw := s.message()
	if m.SubType != "file_share" || len(m.Message.Files) != 1 || m.Message.Files[0].Size != 6 {
		t.Fatalf("event %s", raw)
	}
	for token, want := range map[string]string{botToken: "secret", "": page, "xoxb-9": page} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.Message.Files[0].URLPrivateDownload, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+token)
		res, err := w.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(text), want) || want == page && !strings.HasPrefix(string(text), "<!DOCTYPE") {
			t.Errorf("with %q: %d %s %v", token, res.StatusCode, text, err)
		}
	}
}

func TestAnotherProcessCanDriveTheWorkspace(t *testing.T) {
	t.Parallel()
	w := start(t)
	post := func(path, body string) (int, string) { return w.fetch(http.MethodPost, w.URL()+path, body) }
	status, text := post("/sim/say", `{"channel":{"id":"C0GENERAL","kind":"channel"},"from":{"id":"U0ANN","name":"ann"},"text":"@parley hi"}`)
	var said sim.ActionResult
	if err := json.Unmarshal([]byte(text), &said); err != nil || status != 200 || len(said.Events) != 2 {
		t.Fatalf("say: %d %s %v", status, text, err)
	}
	ts := `"channel":"C0GENERAL","ts":"` + said.TS + `"`
	for path, body := range map[string]string{
		"/sim/edit":       `{` + ts + `,"text":"@parley hello"}`,
		"/sim/unfurl":     `{` + ts + `,"text":"https://example.com"}`,
		"/sim/react":      `{` + ts + `,"text":"eyes","from":{"id":"U0ANN"}}`,
		"/sim/command":    `{"channel":{"id":"C0GENERAL","kind":"channel"},"from":{"id":"U0ANN"},"command":"/parley"}`,
		"/sim/join":       `{"channel":{"id":"C0GENERAL","kind":"channel"},"from":{"id":"U0BOB"}}`,
		"/sim/assistant":  `{"from":{"id":"U0ANN"}}`,
		"/sim/stop":       `{"from":{"id":"U0ANN"},"channel":"C0GENERAL","thread":"1.2"}`,
		"/sim/disconnect": `{"reason":"warning"}`,
		"/sim/cut":        `{}`,
		"/sim/lapse":      `{}`,
		"/sim/inject":     `{"event":{"type":"new"}}`,
		"/sim/faults":     `[{"trouble":"lost_ack"}]`,
		"/sim/enable":     `{}`,
		"/sim/revoke":     `{}`,
		"/sim/member":     `{"channel":{"id":"C0GENERAL","kind":"channel"},"member":true}`,
	} {
		if status, text := post(path, body); status != 200 {
			t.Errorf("%s: %d %s", path, status, text)
		}
		if status, _ := post(path, `{"nonsense":1}`); status != 400 && path != "/sim/lapse" {
			t.Errorf("%s took nonsense", path)
		}
	}
	if status, _ := post("/sim/reset", `{}`); status != 200 || len(w.Books().Events) != 0 {
		t.Errorf("reset: %d, %d events", status, len(w.Books().Events))
	}
}
