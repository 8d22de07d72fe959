package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/broker"
	"parley/sessionkeys"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

func TestDeadLettersAreListedRedeliveredAndDropped(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	p := start(t, environment, "run", "--config", config)
	say(t, tg, "a canary of a text")
	await(t, tg, "the answer", answer("a canary of a text"))
	settled(t, config)
	if out := saidOf(t, "dead-letters", "ls", "-c", config); out != "There are no dead letters.\n" {
		t.Errorf("at first: %q", out)
	}
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Fatalf("it ended with %d", status)
	}
	id := buried(t, config)
	start(t, environment, "run", "--config", config)
	for {
		// A message of somebody's was given up, which is not fine.
		if status, _, said := asked(t, "status", "-c", config); status == exitFailed && strings.HasPrefix(said, "parley: something is wrong: 2 messages were given up, the oldest ") {
			break
		}
	}

	golden(t, "ls", saidOf(t, "dead-letters", "ls", "-c", config), strings.ReplaceAll(`
LETTER                            GIVEN UP                 REASON      CHANNEL   SIZE  CONVERSATION
ID  TIME  attempts    tg       SIZE  main:4200000001:telegram:dm:1001
b000000000000000000000000000000b  TIME  unreadable  tg        SIZE
`, "ID", id))
	golden(t, "show", saidOf(t, "dead-letters", "show", "b0", "-c", config), `
letter        b000000000000000000000000000000b
given up      TIME
reason        unreadable
problem       not an update
channel       tg
size          SIZE
redeliver     no: message unreadable when it arrived, so parley cannot give it to the bot: look at it with dead-letters show --body, ask its sender to write again, and drop it
`)
	if out := saidOf(t, "dead-letters", "show", id, "-c", config); !strings.Contains(out, "redeliver     yes, with parley dead-letters redeliver "+id) || strings.Contains(out, "canary") {
		t.Errorf("show: %s", out)
	}
	if out := saidOf(t, "dead-letters", "show", id, "--body", "-c", config); !strings.Contains(out, "canary of a text") {
		t.Errorf("show --body: %s", out)
	}

	status, out, said := asked(t, "dead-letters", "redeliver", "--all", "-c", config)
	if status != exitFailed || out != "redelivered "+id+"\n" || !strings.HasPrefix(said, "parley: dead letter b000000000000000000000000000000b is not redelivered: message unreadable when it arrived") {
		t.Errorf("redeliver --all ended with %d: %q %q", status, out, said)
	}
	await(t, tg, "the second answer", func(b telegram.Book) bool {
		n := 0
		for _, m := range b.Messages {
			if m.Text() == "a canary of a text" {
				n++
			}
		}
		return n == 2
	})
	if out := saidOf(t, "dead-letters", "redeliver", "--all", "--reason", "attempts", "-c", config); out != "There are no such dead letters.\n" {
		t.Errorf("redeliver again: %q", out)
	}
	if out := saidOf(t, "status", "-c", config); !strings.Contains(out, "\ndead letters   1, the oldest since ") {
		t.Errorf("with nothing but a letter that any stranger can cause: %s", out)
	}
	if out := saidOf(t, "dead-letters", "drop", "b0", "--json", "-c", config); !strings.Contains(out, `"reason": "unreadable"`) {
		t.Errorf("drop: %s", out)
	}
	if out := saidOf(t, "dead-letters", "ls", "--json", "-c", config); out != "{\n  \"letters\": []\n}\n" {
		t.Errorf("at last: %q", out)
	}
	if got, _, said := asked(t, "dead-letters", "drop", "b0", "-c", config); got != exitFailed || said != "parley: no dead letter b0\n" {
		t.Errorf("drop again ended with %d: %s", got, said)
	}
	for _, args := range [][]string{{"redeliver", id, "--all"}, {"redeliver", id, "--reason", "attempts"}, {"redeliver", "../x"}, {"redeliver"}, {"drop"}, {"show", "%"}, {"ls", "--reason", "attempt"}, {"redeliver", "--all", "--reason", "attempt"}} {
		if got, _, said := asked(t, append(append([]string{"dead-letters"}, args...), "-c", config)...); got != exitUsage {
			t.Errorf("%q ended with %d: %s", args, got, said)
		}
	}
}

// buried gives the first message of the log, and one that is none, to the dead
// letters of a gateway that does not run.
func buried(t *testing.T, config string) (id string) {
	t.Helper()
	b, err := broker.Open(t.Context(), broker.Options{Dir: filepath.Join(filepath.Dir(config), "state", "log")})
	if err != nil {
		t.Fatal(err)
	}
	key, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "4200000001", Kind: sessionkeys.DM, Peer: "1001"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Next(t.Context(), key.Token(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []broker.DeadLetter{
		{ID: e.ID, Reason: "attempts", Channel: "tg", Key: e.Key, Problem: "taken up 3 times without an end", Body: e.Body, At: time.Now()},
		{ID: "b000000000000000000000000000000b", Reason: "unreadable", Channel: "tg", Problem: "not an update", Body: json.RawMessage(`{"update_id": 7}`), At: time.Now()},
	} {
		if err := b.DeadLetter(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return e.ID
}
