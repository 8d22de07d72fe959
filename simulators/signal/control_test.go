package signal_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	sim "parley/simulators/signal"
)

func (w *world) control(method, path, body string) string {
	w.t.Helper()
	q, err := http.NewRequestWithContext(w.t.Context(), method, w.URL()+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := c.Do(q)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

func TestAnotherProcessCanDriveTheWorld(t *testing.T) {
	t.Parallel()
	w := start(t)
	from := fmt.Sprintf(`"from":{"aci":%q,"name":"Ann"}`, ann.ACI)
	group := fmt.Sprintf(`"chat":{"group":%q,"name":"Team"}`, team.Group)
	said := decode[sim.ActionResult](t, []byte(w.control("POST", "/sim/say", `{`+from+`,"text":"hi @Bob","mentions":[{"name":"@Bob","aci":"`+bob.ACI+`"}]}`)))
	if said.Author != ann.ACI || len(said.Envelopes) != 1 {
		t.Errorf("say: %+v", said)
	}
	for _, c := range []struct{ path, body string }{
		{"edit", fmt.Sprintf(`{%s,"target":%d,"text":"hello"}`, from, said.Timestamp)},
		{"delete", fmt.Sprintf(`{%s,"target":%d}`, from, said.Timestamp)},
		{"say", `{` + group + `,` + from + `,"text":"hi all"}`},
		{"react", `{` + from + `,"target":{"timestamp":5,"author":"` + ann.ACI + `"},"emoji":"👍"}`},
		{"type", `{` + group + `,` + from + `}`},
		{"receipt", `{` + from + `,"kind":"viewed","of":[1]}`},
		{"timer", `{` + group + `,` + from + `,"seconds":5}`},
		{"rename", `{"chat":{"group":"` + team.Group + `","name":"Crew"},` + from + `}`},
		{"invite", `{` + group + `,` + from + `,"who":"` + bob.ACI + `"}`},
		{"remove", `{` + group + `,` + from + `,"who":"` + bob.ACI + `"}`},
		{"story", `{` + from + `,"text":"my day"}`},
		{"call", `{` + from + `}`},
		{"sync", `{"sync":{"text":"x"}}`},
		{"echo", `{"text":"own"}`},
		{"unreadable", `{` + from + `,"kind":"X","text":"y"}`},
	} {
		if r := w.control("POST", "/sim/"+c.path, c.body); !strings.Contains(r, `"envelopes":[{`) {
			t.Errorf("%s: %s", c.path, r)
		}
	}
	for _, c := range []struct{ path, body, want string }{
		{"inject", `{"entry":{"odd":true}}`, `"id":`},
		{"meet", `{"from":{"aci":"` + bob.ACI + `"}}`, `true`},
		{"reinstall", `{` + from + `}`, `true`},
		{"registered", `{` + from + `}`, `true`},
		{"limit", `{"seconds":9}`, `"challenge-`},
		{"kill", `{}`, `0`},
		{"hang", `{"account":"+4900000000"}`, `"error"`},
		{"resume", `{}`, `0`},
		{"faults", `[{"trouble":"dropped"}]`, `true`},
		{"faults", `[{"trouble":"x"}]`, `"error"`},
		{"say", `{"nonsense":1}`, `"error"`},
		{"meet", `{"from":{}}`, `"error"`},
	} {
		if r := w.control("POST", "/sim/"+c.path, c.body); !strings.Contains(r, c.want) {
			t.Errorf("%s: %s", c.path, r)
		}
	}
	w.control("DELETE", "/sim/faults", "")
	b := decode[sim.Book](t, []byte(w.control("GET", "/sim/books", "")))
	if len(b.Envelopes) != 17 || b.Pending[number] != 17 || b.Envelopes[0].Text != "hi \uFFFC" {
		t.Errorf("books: %d %+v", len(b.Envelopes), b.Pending)
	}
	w.control("POST", "/sim/reset", "")
	if r := w.control("GET", "/sim/totals", ""); !strings.Contains(r, `"envelopes":0`) {
		t.Errorf("after reset: %s", r)
	}
}

func TestBooksStayWithinTheirBound(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sim.Options) { o.Keep, o.History = 5, 5 })
	d := w.daemon()
	for range 50 {
		w.say(sim.Chat{}, ann, "x")
		d.send(args{"recipient": ann.ACI, "message": "y"})
	}
	w.await("handled", func(b sim.Book) bool { return b.Totals.Handled == 50 })
	b := w.Books()
	if len(b.Envelopes) != 5 || len(b.Messages) != 5 || len(b.Calls) != 5 || b.Totals.Sent != 50 || b.Totals.Forgotten != 135 {
		t.Errorf("%d envelopes, %d messages, %d calls: %+v", len(b.Envelopes), len(b.Messages), len(b.Calls), b.Totals)
	}
}

func TestAWatcherSeesWhatPeopleSee(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon()
	w.meet(ann)
	seen := w.Watch(t.Context())
	r := d.send(args{"recipient": ann.ACI, "message": "one"})
	d.send(args{"recipient": ann.ACI, "message": "two", "editTimestamp": r.Timestamp})
	d.call("sendTyping", args{"recipient": ann.ACI})
	d.call("remoteDelete", args{"recipient": ann.ACI, "targetTimestamp": r.Timestamp})
	for _, want := range []sim.Happening{{Kind: "sent", Text: "one"}, {Kind: "edited", Text: "two", Target: r.Timestamp}, {Kind: "typing"}, {Kind: "deleted", Target: r.Timestamp}} {
		h := <-seen
		if h.Kind != want.Kind || h.Text != want.Text || h.Target != want.Target || h.Chat != ann.ACI {
			t.Errorf("%+v, not %+v", h, want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sim.Options{
		"no account":   {},
		"a number":     {Accounts: []sim.Account{{Number: "12"}}},
		"an ACI":       {Accounts: []sim.Account{{ACI: "x"}}},
		"two accounts": {Accounts: []sim.Account{{Number: number}, {Number: number}}},
		"a version":    {Accounts: []sim.Account{{Number: number}}, Version: "0.1"},
	} {
		if _, err := sim.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, o := range map[string]sim.DaemonOptions{
		"no channel": {}, "a mode": {TCP: "x", ReceiveMode: "never"}, "a trust": {TCP: "x", Trust: "blind"},
	} {
		if _, err := sim.NewDaemon(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
