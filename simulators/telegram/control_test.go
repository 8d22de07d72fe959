package telegram_test

import (
	"net/http"
	"strings"
	"testing"

	sim "parley/simulators/telegram"
)

func TestAnotherProcessCanDriveTheServer(t *testing.T) {
	t.Parallel()
	p := start(t)
	send := func(method, path, body string) string {
		q, err := http.NewRequestWithContext(t.Context(), method, p.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return p.do(q)
	}
	said := send("POST", "/sim/say", `{"chat":{"id":1001,"kind":"private"},"from":{"id":1001,"first_name":"Ann"},"text":"hi","bot":"parley_bot"}`)
	if !strings.Contains(said, `"update_id":1000`) {
		t.Errorf("say: %s", said)
	}
	if r := send("POST", "/sim/inject", `{"update":{"odd":true}}`); !strings.Contains(r, `"update_id":1001`) {
		t.Errorf("inject: %s", r)
	}
	if r := send("POST", "/sim/faults", `[{"trouble":"internal_error","next":1}]`); !strings.Contains(r, "true") {
		t.Errorf("faults: %s", r)
	}
	if r := p.call("getMe", nil); r.ErrorCode != 500 {
		t.Errorf("the fault did not fall: %+v", r)
	}
	send("POST", "/sim/faults", `[{"trouble":"internal_error"}]`)
	send("DELETE", "/sim/faults", "")
	var b sim.Book
	p.decode([]byte(send("GET", "/sim/books", "")), &b)
	if len(b.Updates) != 2 || b.Updates[0].Text != "hi" || b.Pending["parley_bot"] != 2 || b.Totals.Faults != 1 {
		t.Errorf("books: %+v", b)
	}
	for path, body := range map[string]string{
		"/sim/paste":    `{"chat":{"id":1001,"kind":"private"},"from":{"id":1001},"text":"long"}`,
		"/sim/album":    `{"chat":{"id":1001,"kind":"private"},"from":{"id":1001},"text":"caption","count":2}`,
		"/sim/edit":     `{"chat_id":1001,"message_id":1,"text":"hello"}`,
		"/sim/press":    `{"from":{"id":1001},"chat_id":1001,"message_id":1,"data":"go"}`,
		"/sim/standing": `{"chat":{"id":-500,"kind":"group"},"from":{"id":1001},"bot":"parley_bot","status":"administrator"}`,
	} {
		if r := send("POST", path, body); !strings.Contains(r, `"update_id":`) {
			t.Errorf("%s: %s", path, r)
		}
	}
	if r := send("POST", "/sim/migrate", `{"chat":{"id":-500,"kind":"group"},"from":{"id":1001}}`); !strings.Contains(r, `"kind":"supergroup"`) {
		t.Errorf("migrate: %s", r)
	}
	for _, bad := range []string{`{"chat":{}}`, `{"nonsense":1}`, `[`} {
		if r := send("POST", "/sim/say", bad); !strings.Contains(r, `"error"`) {
			t.Errorf("say %s: %s", bad, r)
		}
	}
	send("POST", "/sim/reset", "")
	if r := send("GET", "/sim/totals", ""); !strings.Contains(r, `"updates":0`) {
		t.Errorf("after reset: %s", r)
	}
	if us := p.poll(nil); len(us) != 0 {
		t.Errorf("after reset: %v", us)
	}
	if r := send("GET", "/elsewhere", ""); !strings.Contains(r, `"error_code":404`) {
		t.Errorf("elsewhere: %s", r)
	}
}

func TestBooksStayWithinTheirBound(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *sim.Options) { o.Keep, o.History = 5, 5 })
	for range 50 {
		p.say(sim.PrivateChat(ann), ann, "x")
		p.send(ann.ID, "y")
	}
	b := p.Books()
	if len(b.Updates) != 5 || len(b.Messages) != 5 || len(b.Calls) != 5 || b.Updates[4].UpdateID != 1049 {
		t.Errorf("%d updates, %d messages, %d calls", len(b.Updates), len(b.Messages), len(b.Calls))
	}
	if b.Totals.Sent != 50 || b.Totals.Forgotten != 135 || b.Pending["parley_bot"] != 50 {
		t.Errorf("%+v", b.Totals)
	}
	r := p.call("editMessageText", args{"chat_id": ann.ID, "message_id": 2, "text": "z"})
	if r.Description != "Bad Request: message can't be edited" {
		t.Errorf("edit of a forgotten message: %+v", r)
	}
}
