package intake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/intake"
	"parley/gateway/policy"
)

// logOf gives an intake a log, and returns its lines of refused messages as they stand.
func logOf(t *testing.T, log *bytes.Buffer) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if v["msg"] == "message refused" {
			lines = append(lines, v)
		}
	}
	return lines
}

// The log names a refused person as the network shows them, once a minute, and says how many of
// their messages it passed over in silence.
func TestTheLogSaysOnceAMinuteThatAPersonIsRefused(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(policy.Access{People: []string{ann}})
	var log bytes.Buffer
	in.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	now := time.Unix(1700000000, 0).UTC()
	in.Now = func() time.Time { return now }
	n := 0
	write := func(id string) {
		n++
		m := dm(id, "let me in")
		m.Event, m.MessageID, m.Sender.Name = fmt.Sprint("e", n), fmt.Sprint("m", n), "Ben B."
		noError(t, in.Accept(t.Context(), m))
	}
	write(ben)
	write(ben)
	now = now.Add(59 * time.Second)
	write(ben)
	write("1003") // another person has a line of their own
	if got := logOf(t, &log); len(got) != 2 || got[0]["sender"] != ben || got[0]["name"] != "Ben B." || got[0]["message"] != "m1" ||
		got[0]["reason"] != "the sender is not in access.people" || got[0]["more"] != nil || got[1]["sender"] != "1003" {
		t.Fatalf("within a minute: %v", got)
	}
	now = now.Add(time.Second)
	write(ben)
	if got := logOf(t, &log); len(got) != 3 || got[2]["more"] != 2.0 || got[2]["message"] != "m5" {
		t.Errorf("after a minute: %v", got)
	}
	in.Sources["tg"] = intake.Source{Bound: policy.Bound{Agent: "main"}, Network: "telegram", Access: policy.Access{People: []string{ben}}}
	m := group(ben, "now here") // who is let in now, and not there: another rule
	m.Event, m.MessageID = "other", "other"
	noError(t, in.Accept(t.Context(), m))
	n++
	if got := logOf(t, &log); len(got) != 4 || got[3]["reason"] != "the group is not in access.groups" {
		t.Errorf("by another rule: %v", got)
	}
	if w.counts["ignored tg not_allowed"] != n {
		t.Errorf("counted %v, want each of %d", w.counts, n)
	}
}

// What is too much is refused in the log too, and what only does not speak to the bot is not.
func TestTheLogSaysWhoWritesTooMuchAndNotWhoWritesToOthers(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}})
	var log bytes.Buffer
	in.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	in.Limits = policy.Limits{PersonPerMinute: 1, PersonBurst: 1}
	for i := range 3 {
		m := dm(ann, "again")
		m.Event, m.MessageID = fmt.Sprint("e", i), fmt.Sprint("m", i)
		noError(t, in.Accept(t.Context(), m))
	}
	aside := group(ann, "lunch?")
	aside.Event, aside.Mentioned = "aside", false
	noError(t, in.Accept(t.Context(), aside))
	noError(t, in.Accept(t.Context(), channels.Message{Event: "r", Kind: channels.Pressed, Channel: "tg", Address: aside.Address, Sender: aside.Sender}))
	got := logOf(t, &log)
	if len(got) != 1 || !strings.HasPrefix(fmt.Sprint(got[0]["reason"]), "more than 1 messages a minute from one person") {
		t.Errorf("logged %v", got)
	}
}
