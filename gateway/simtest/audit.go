package simtest

import (
	"fmt"
	"strings"

	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/sessions"
	"parley/transcript"
)

// auditor compares what people read with what they said, when a world has come to rest.
type auditor struct{ *world }

// audit is what must hold when nothing is owed to anybody any more: whatever
// was said was answered, put aside and told, or dropped by a stop that says so.
func (w auditor) audit() {
	told := map[string]int{} // by answer, how often a part of it arrived
	for _, a := range w.arrived {
		id, _, _ := strings.Cut(a.part, "/")
		told[id]++
	}
	for _, p := range w.people {
		turns := w.turnsOf(p)
		stopped := false
		for id := range w.checks.stops {
			stopped = stopped || strings.HasPrefix(id, "stop-"+p.name)
		}
		for n := 1; n <= p.said; n++ {
			w.auditEvent(p, fmt.Sprintf("%s%d", p.name, n), turns, stopped, told)
		}
	}
	for id := range w.checks.stops {
		wasTold := func(kind messages.IDKind) bool {
			note := messages.ID{Kind: kind, About: id}.String()
			return told[note] > 0 || w.wasRefused(note)
		}
		if !wasTold(messages.Stopped) && !wasTold(messages.Note) {
			w.fail("I5: nobody was told what became of %s", id)
		}
	}
}

// turnsOf are a person's turns by the events that opened or joined them.
func (w auditor) turnsOf(p *person) map[string]sessions.Turn {
	turns := map[string]sessions.Turn{}
	for _, id := range w.checks.sessions[p.token] {
		ms, _ := w.store.Messages(nowhere, id)
		var at sessions.Turn // which is running where the history has come to
		for _, m := range ms {
			if m.Role != transcript.User {
				continue
			}
			if id, ok := transcript.ParseMessageID(m.ID); ok && id.Kind == transcript.Opening {
				if t, err := w.store.Turn(nowhere, id.Turn); err == nil {
					at = t
				}
			}
			for _, event := range eventsOf(m) {
				turns[event] = at
			}
		}
	}
	return turns
}

// wasRefused reports whether a part of the answer failed for good.
func (w auditor) wasRefused(id string) bool {
	d, err := w.store.Delivery(nowhere, id)
	return err == nil && hasFailedPart(d)
}

func (w auditor) auditEvent(p *person, event string, turns map[string]sessions.Turn, stopped bool, told map[string]int) {
	t, opened := turns[event]
	known, _ := w.store.Known(nowhere, inboxID(p, event))
	switch {
	case opened && t.State != sessions.Done:
		w.fail("I5: the turn of %s is still open", event)
	case opened && t.Outcome == transcript.Canceled:
		if !stopped {
			w.fail("I5: the turn of %s was cancelled, and nobody said stop", event)
		}
	case opened:
		if told[t.ID] == 0 && !w.wasRefused(t.ID) {
			w.fail("I5: %s was answered and the answer never arrived", event)
		}
		w.auditText(event, t, turns)
	case known[0]: // a command, or given up before a turn
		if !w.log.isDeadLettered(event) && !strings.HasPrefix(w.checks.texts[event], "/") {
			w.fail("I5: %s is known, and has no turn", event)
		}
	case w.checks.discarded[event], w.log.isDeadLettered(event):
	default:
		w.fail("I5: nothing became of %s", event)
	}
}

// auditText holds an answer to its question.
func (w auditor) auditText(event string, t sessions.Turn, turns map[string]sessions.Turn) {
	d, err := w.store.Delivery(nowhere, t.ID)
	switch {
	case err != nil:
		w.fail("I5: the turn of %s ended without an answer", event)
	case t.Outcome == transcript.EndTurn && turns[answeredEvent(d.Text)].ID != t.ID:
		w.fail("I1: %s was answered with %q", event, d.Text)
	case w.log.isDeadLettered(event) && t.Outcome != transcript.Failed && w.busy != policy.Collect && !w.checks.discarded[event]:
		// What is collected is buried together before the end is committed, and
		// by an owner whom somebody followed the rest of it may be answered yet. So may
		// a message that is brought once more after a stop has passed over it: its end
		// was not committed by whoever buried it.
		w.fail("I5: %s was answered and put aside", event)
	}
	w.counts["turn "+string(t.Outcome)]++
}

// answeredEvent returns the message that an answer names.
func answeredEvent(text string) string {
	line, _, _ := strings.Cut(strings.TrimPrefix(text, "re: "), "\n")
	return line
}
