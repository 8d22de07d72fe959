package slack_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	sim "parley/simulators/slack"
)

func TestAMentionIsTwoEventsWithOneTimestamp(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	said := w.say(general, ann, "@parley what is 2+2")
	var ids []string
	for _, want := range []string{"message", "app_mention"} {
		f := s.read()
		o, e := f.event(t)
		if f.Type != "events_api" || f.Accepts || f.Attempt == nil || *f.Attempt != 0 || *f.Why != "" {
			t.Errorf("envelope: %+v", f)
		}
		if e.Type != want || e.TS != said.TS || e.Text != "<@U0PARLEY> what is 2+2" || e.User != ann.ID || e.Channel != general.ID {
			t.Errorf("event: %+v", e)
		}
		ids = append(ids, o.EventID)
		s.ack(f)
	}
	if ids[0] == ids[1] {
		t.Errorf("one event id for both: %v", ids)
	}
	b := w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == 2 })
	if b.Pending["parley"] != 0 || b.Events[0].Attempts[0].By != "1" {
		t.Errorf("books: %+v", b.Events)
	}
}

func TestADirectMessageIsOneEvent(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	w.say(sim.DM(ann), ann, "hi <@U0PARLEY>", sim.SayOptions{Raw: true})
	w.say(sim.DM(ann), ann, "again")
	for _, want := range []string{"hi <@U0PARLEY>", "again"} {
		f := s.read()
		if _, e := f.event(t); e.Type != "message" || e.Text != want || e.ChannelType != "im" {
			t.Errorf("event: %+v", e)
		}
		s.ack(f)
	}
}

func TestWhatIsNotAcknowledgedComesAgainUntilItIsGivenUp(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	w.say(general, ann, "hello")
	var seen []string
	var first string
	for attempt := range 4 {
		f := s.read()
		o, _ := f.event(t)
		if *f.Attempt != attempt || (*f.Why == "timeout") != (attempt > 0) {
			t.Errorf("attempt %d: %d %q", attempt, *f.Attempt, *f.Why)
		}
		if first == "" {
			first = o.EventID
		}
		if o.EventID != first || slices.Contains(seen, f.EnvelopeID) {
			t.Errorf("attempt %d: event %s in envelope %s", attempt, o.EventID, f.EnvelopeID)
		}
		seen = append(seen, f.EnvelopeID)
		if n := w.Lapse(); n != 1 {
			t.Errorf("%d lapsed", n)
		}
	}
	b := w.until(func(b sim.Book) bool { return b.Totals.GivenUp == 1 })
	if b.Totals.Retried != 3 || len(b.Events[0].Attempts) != 4 || !b.Events[0].GivenUp || b.Pending["parley"] != 0 {
		t.Errorf("books: %+v", b.Events[0])
	}
}

func TestTimeItselfBringsAnEventAgain(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sim.Options) { o.AckTimeout = time.Millisecond })
	s := w.connect()
	w.say(general, ann, "hello")
	f, g := s.read(), s.read()
	a, _ := f.event(t)
	b, _ := g.event(t)
	if a.EventID != b.EventID || *g.Attempt != 1 {
		t.Errorf("%s, then %s attempt %d", a.EventID, b.EventID, *g.Attempt)
	}
}

func TestALateAcknowledgementIsBookedAndDoesNotUndoTheRetry(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	w.say(general, ann, "hello")
	f := s.read()
	w.Lapse()
	again := s.read()
	s.ack(f)
	w.until(func(b sim.Book) bool {
		return !b.Events[0].Attempts[0].Acknowledged.IsZero() && b.Pending["parley"] == 1
	})
	s.ack(again)
	w.until(func(b sim.Book) bool { return !b.Events[0].Acknowledged.IsZero() && b.Pending["parley"] == 0 })
}

func TestAnEventThatFoundNoConnectionComesAfterReconnecting(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sim.Options) { o.Retries = slices.Repeat([]time.Duration{time.Millisecond}, 100_000) })
	w.say(general, ann, "anybody?")
	s := w.connect()
	f := s.read()
	if _, e := f.event(t); e.Text != "anybody?" || *f.Attempt == 0 {
		t.Errorf("event %+v, attempt %d", e, *f.Attempt)
	}
	s.ack(f)
	b := w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == 1 })
	if b.Events[0].Attempts[0].Problem != "no connection" {
		t.Errorf("attempts: %+v", b.Events[0].Attempts[:1])
	}
}

func TestSeveralConnectionsShareTheEvents(t *testing.T) {
	t.Parallel()
	w := start(t)
	conns := []*socket{w.connect(), w.connect(), w.connect()}
	for range 60 {
		w.say(sim.DM(ann), ann, "hello")
	}
	b := w.until(func(b sim.Book) bool { return b.Totals.Delivered == 60 })
	n := 0
	for i, c := range b.Connections {
		if c.Envelopes == 0 || c.Envelopes == 60 || c.Beside != i+1 {
			t.Errorf("connection %+v", c)
		}
		for range c.Envelopes {
			f := conns[i].read()
			// Slack takes an acknowledgement on any connection of the app.
			conns[(i+1)%3].ack(f)
			n++
		}
	}
	b = w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == n })
	if a := b.Events[0].Attempts[0]; a.By == a.Connection {
		t.Errorf("attempt %+v", a)
	}
}

func TestADisconnectMessageComesBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested", "link_disabled", "too_many_websockets"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := start(t, func(o *sim.Options) { o.WarningGrace = time.Millisecond })
			s := w.connect()
			if n, err := w.Disconnect("", reason); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			if f := s.read(); f.Type != "disconnect" || f.Reason != reason {
				t.Errorf("frame %+v", f)
			}
			var closed *websocket.CloseError
			if f, err := s.next(); !errors.As(err, &closed) {
				t.Errorf("after that %+v, %v", f, err)
			}
			w.until(func(b sim.Book) bool { return b.Connected["parley"] == 0 })
			a, err := w.callAs(appToken, "apps.connections.open", nil)
			if want := map[bool]string{true: "link_disabled"}[reason == "link_disabled"]; err != nil || a.Error != want {
				t.Errorf("open: %s %v", a.raw, err)
			}
			if err := w.EnableSocketMode(""); err != nil {
				t.Fatal(err)
			}
			w.connect()
		})
	}
}

func TestAWarnedConnectionStillBringsEvents(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sim.Options) { o.WarningGrace = time.Hour })
	s := w.connect()
	if _, err := w.Disconnect("", "warning"); err != nil {
		t.Fatal(err)
	}
	w.say(general, ann, "still there?")
	if f := s.read(); f.Type != "disconnect" {
		t.Errorf("frame %+v", f)
	}
	f := s.read()
	s.ack(f)
	w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == 1 })
}

func TestTheEleventhConnectionIsOneTooMany(t *testing.T) {
	t.Parallel()
	w := start(t)
	for range 10 {
		w.connect()
	}
	if f := w.dial().read(); f.Type != "disconnect" || f.Reason != "too_many_websockets" {
		t.Errorf("frame %+v", f)
	}
}

func TestATicketIsGoodForOneConnection(t *testing.T) {
	t.Parallel()
	w := start(t)
	if status, text := w.fetch(http.MethodGet, w.URL()+"/link/?ticket=none&app_id=A0PARLEY", ""); status != http.StatusForbidden {
		t.Errorf("status %d: %s", status, text)
	}
	a, err := w.callAs(appToken, "apps.connections.open", nil)
	var u struct{ URL string }
	if err != nil || json.Unmarshal(a.raw, &u) != nil {
		t.Fatalf("open: %s %v", a.raw, err)
	}
	for i, want := range []bool{true, false} {
		c, _, err := websocket.DefaultDialer.DialContext(t.Context(), u.URL, nil)
		if (err == nil) != want {
			t.Errorf("dial %d: %v", i, err)
		}
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
		}
	}
}

func TestAConnectionThatAnswersNoPingIsClosed(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sim.Options) { o.PingEvery = time.Millisecond })
	s := w.connect()
	s.SetPingHandler(func(string) error { return nil })
	if f, err := s.next(); err == nil {
		t.Errorf("frame %+v", f)
	}
	w.until(func(b sim.Book) bool { return b.Connected["parley"] == 0 })
}

func TestAStrangeAcknowledgementIsCounted(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.connect().ack(frame{EnvelopeID: "unknown"})
	w.until(func(b sim.Book) bool { return b.Totals.Unsolicited == 1 })
}

func TestAnythingCanBeInjected(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	if _, err := w.Inject("", []byte(`{"type":"holo_called","user":"U0ANN"}`)); err != nil {
		t.Fatal(err)
	}
	f := s.read()
	if o, e := f.event(t); e.Type != "holo_called" || o.EventID == "" {
		t.Errorf("event %+v", e)
	}
	if _, err := w.Inject("", []byte(`{`)); err == nil {
		t.Error("half an event was taken")
	}
	if err := w.InjectFrame("", `{"type":"new_kind","envelope_id":"e"}`); err != nil {
		t.Fatal(err)
	}
	if f := s.read(); f.Type != "new_kind" {
		t.Errorf("frame %+v", f)
	}
}
