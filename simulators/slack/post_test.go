package slack_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/slack-go/slack"

	sim "parley/simulators/slack"
)

// hook is an app's request URL.
type hook struct {
	*httptest.Server
	got chan delivered
}

type delivered struct {
	header http.Header
	body   []byte
	reply  chan int
}

// listen runs an app that answers with the statuses that the test gives it, after
// holding the signature to what the client library makes of it.
func listen(t *testing.T) *hook {
	t.Helper()
	h := &hook{got: make(chan delivered)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("body: %v", err)
		}
		v, err := slack.NewSecretsVerifier(r.Header, secret)
		if err != nil {
			t.Errorf("verifier: %v", err)
		} else if _, err := v.Write(body); err != nil || v.Ensure() != nil {
			t.Errorf("signature: %v %v", err, v.Ensure())
		}
		d := delivered{header: r.Header.Clone(), body: body, reply: make(chan int)}
		select {
		case h.got <- d:
		case <-t.Context().Done():
			return
		}
		status := <-d.reply
		if status < 0 {
			w.Header().Set("X-Slack-No-Retry", "1")
			status = -status
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) app(o *sim.Options) { o.Apps[0].RequestURL = h.URL }

func TestEventsByHTTPAreSignedAndComeAgainUntilTheyAreTaken(t *testing.T) {
	t.Parallel()
	h := listen(t)
	w := start(t, h.app)
	w.say(general, ann, "hello")
	for attempt, status := range []int{500, 302, 200} {
		d := <-h.got
		num, why := d.header.Get("X-Slack-Retry-Num"), d.header.Get("X-Slack-Retry-Reason")
		if want := []string{"", "1", "2"}[attempt]; num != want || (why == "http_error") != (attempt > 0) {
			t.Errorf("attempt %d: %q %q", attempt, num, why)
		}
		d.reply <- status
	}
	b := w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == 1 })
	if as := b.Events[0].Attempts; len(as) != 3 || as[0].Status != 500 || as[1].Problem != "http_error" || as[2].Problem != "" {
		t.Errorf("attempts %+v", as)
	}
}

func TestAnAppCanForbidRetries(t *testing.T) {
	t.Parallel()
	h := listen(t)
	w := start(t, h.app)
	w.say(general, ann, "hello")
	(<-h.got).reply <- -500
	w.until(func(b sim.Book) bool { return b.Totals.GivenUp == 1 && b.Totals.Retried == 0 })
}

func TestCommandsAndActionsComeAsForms(t *testing.T) {
	t.Parallel()
	h := listen(t)
	w := start(t, h.app)
	if _, err := w.Command("", general, ann, "/parley", "help me"); err != nil {
		t.Fatal(err)
	}
	d := <-h.got
	form, err := url.ParseQuery(string(d.body))
	if err != nil || form.Get("command") != "/parley" || form.Get("text") != "help me" || form.Get("user_id") != ann.ID || form.Get("response_url") == "" {
		t.Errorf("command %v %v", form, err)
	}
	d.reply <- 200
	a := w.call("chat.postMessage", map[string]any{"channel": general.ID, "text": "sure?", "blocks": []any{button}})
	if !a.OK {
		t.Fatalf("post: %s", a.raw)
	}
	(<-h.got).reply <- 200 // its own message
	if _, err := w.Press(ann, general.ID, a.TS, "stop", "now"); err != nil {
		t.Fatal(err)
	}
	d = <-h.got
	if form, err := url.ParseQuery(string(d.body)); err != nil || form.Get("payload") == "" {
		t.Errorf("action %v %v", form, err)
	}
	d.reply <- 200
	w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == 3 })
}

var button = map[string]any{"type": "actions", "block_id": "b", "elements": []any{
	map[string]any{"type": "button", "action_id": "stop", "value": "now", "text": map[string]any{"type": "plain_text", "text": "Stop"}},
}}
