package page_test

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/simulators/telegram"
)

// A dead letter is given to the bot again, once, and another is forgotten.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	gw := open(t, gatewaytest.Options{})
	gw.Ask(gatewaytest.Ann, "what is 6*7")
	key := sessionOf(t, gw).Key
	gw.Stop()
	log, err := broker.Open(t.Context(), broker.Options{Dir: filepath.Join(gw.Env.Config().StateDir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	var said broker.Envelope
	err = log.Envelopes(t.Context(), time.Now().Add(-time.Hour), func(e broker.Envelope) bool { said = e; return false })
	if err != nil || said.Key != key {
		t.Fatalf("%+v, %v", said, err)
	}
	for _, l := range []broker.DeadLetter{
		{ID: "letterone", Reason: "attempts", Channel: "tg", Key: said.Key, Problem: "taken up 3 times", Body: said.Body, At: time.Now()},
		{ID: "lettertwo", Reason: "unreadable", Channel: "tg", Problem: "no <b>JSON</b>\u202e", Body: []byte("{<script>"), At: time.Now()},
	} {
		if err := log.DeadLetter(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	gw = gw.Env.Start()
	b := newBrowser(t, gw).logIn()
	trouble := b.see("/trouble")
	if !strings.Contains(trouble, `href="/dead-letters/letterone"`) || !strings.Contains(trouble, `href="/dead-letters/lettertwo"`) || !strings.Contains(trouble, "messages were given up") {
		t.Errorf("the letters are not in\n%s", trouble)
	}
	page := b.see("/dead-letters/letterone")
	if strings.Contains(page, "6*7") || !strings.Contains(b.see("/dead-letters/letterone?words=1"), "6*7") {
		t.Error("what it says is shown unasked, or not when asked for")
	}
	form := func(page, do string) url.Values {
		return url.Values{"token": {hidden(t, page, "token")}, "once": {hidden(t, page, "once")}, "place": {hidden(t, page, "place")}, "do": {do}}
	}
	again := form(page, "redeliver")
	if _, body := b.send("/dead-letters/letterone", again); !strings.Contains(body, "Given to the bot again.") {
		t.Errorf("redelivered:\n%s", body)
	}
	if got := gw.Env.DeliveredText(telegram.PrivateChat(gatewaytest.Ann), gw.NextDelivered()); !strings.Contains(got, "42") {
		t.Errorf("it is answered with %q", got)
	}
	if _, body := b.send("/dead-letters/letterone", again); !strings.Contains(body, "that was done already, by ann") {
		t.Errorf("redelivered twice:\n%s", body)
	}
	page = b.see("/dead-letters/lettertwo?words=1")
	if !strings.Contains(page, "It cannot be given to the bot again") || strings.Contains(page, "<script>{") || strings.Contains(page, "<b>") {
		t.Errorf("what cannot be read is shown as\n%s", page)
	}
	if _, body := b.send("/dead-letters/lettertwo", form(page, "drop")); !strings.Contains(body, "Forgotten.") || !strings.Contains(body, "There is none.") {
		t.Errorf("dropped:\n%s", body)
	}
}

// sessionOf returns the only session that there is.
func sessionOf(t *testing.T, gw *gatewaytest.Running) admin.Session {
	t.Helper()
	list, err := client(gw).Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list.Sessions[0]
}
