package faulttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tg "parley/channels/telegram"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// Two lives; the second comes after the first, or beside it.
const lifeA, lifeB = "127.1.0.1", "127.1.0.2"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// clean are the books of a run in which nothing went wrong, of two conversations
// of three questions, the first of which has one call of a tool, and an audit.
func clean(t *testing.T) (*Workload, Evidence) {
	t.Helper()
	l := NewWorkload(Shape{Conversations: 2, Groups: 1, Messages: 3, Tools: -1, Spawns: -1}, 7)
	for c := range l.Conversations {
		qs := l.Conversations[c].Questions
		qs[0].Tools, qs[0].First, qs[2].Audit = 1, true, true
	}
	var b Evidence
	at := noon
	for c, conv := range l.Conversations {
		for n, q := range conv.Questions {
			at = at.Add(time.Minute)
			b.Telegram.Updates = append(b.Telegram.Updates, telegram.UpdateEntry{ChatID: conv.Chat.ID, MessageID: int64(10 * n), Text: q.words(conv)})
			b.ask(t, c, conv.Questions[:n+1], conv.Canary, at, q.Tools > 0)
			text := fmt.Sprintf("answer %s %s alpha %s", q.Tag(), conv.Canary, end)
			if q.Audit {
				text = fmt.Sprintf("answer %s %s effects m%dx0c0 alpha %s", q.Tag(), conv.Canary, c, end)
			}
			b.Telegram.Messages = append(b.Telegram.Messages, telegram.MessageEntry{
				ChatID: conv.Chat.ID, MessageID: int64(10*n + 5), Versions: []telegram.Version{{Text: text, At: at.Add(2 * time.Second), Client: lifeA}},
			})
		}
	}
	return l, b
}

// ask adds a request to the books, its row and its place on the bill; with a tool
// also the one after its result.
func (b *Evidence) ask(t *testing.T, c int, qs []Question, canary string, at time.Time, tool bool) {
	t.Helper()
	var ms []map[string]any
	for i, q := range qs {
		ms = append(ms, map[string]any{"role": "user", "content": fmt.Sprintf("question %s %s", q.Tag(), canary)})
		if q.Tools > 0 && (i < len(qs)-1 || !tool) {
			ms = append(ms, called(c), result(c))
		}
		if i < len(qs)-1 {
			ms = append(ms, map[string]any{"role": "assistant", "content": "answer " + q.Tag()})
		}
	}
	id := fmt.Sprintf("req-%d", len(b.Requests))
	body, err := json.Marshal(map[string]any{"messages": ms})
	if err != nil {
		t.Fatal(err)
	}
	b.Requests = append(b.Requests, model.Recorded{ID: id, At: at, Body: body})
	b.Bill.Entries = append(b.Bill.Entries, model.Entry{ID: id, At: at, Client: lifeA, Outcome: model.Complete, Status: 200, Pico: 1000, Priced: true})
	b.Bill.Pico += 1000
	b.Ledger = append(b.Ledger, costs.Entry{ID: "row-" + id, RequestID: id, Amount: 1000, Priced: true, State: costs.Settled})
	if tool {
		b.ask(t, c, qs, canary, at.Add(time.Second), false)
	}
}

func called(c int) map[string]any {
	return map[string]any{"role": "assistant", "content": []any{map[string]any{
		"type": "tool_use", "id": fmt.Sprintf("call-%d", c), "name": "write_file", "input": map[string]any{"content": fmt.Sprintf("m%dx0c0\nEND\n", c)},
	}}}
}

func result(c int) map[string]any {
	return map[string]any{"role": "user", "content": []any{map[string]any{
		"type": "tool_result", "tool_use_id": fmt.Sprintf("call-%d", c), "content": "written",
	}}}
}

func TestTheCheckerFindsNothingInCleanBooks(t *testing.T) {
	t.Parallel()
	l, b := clean(t)
	if r := Check(l, b); len(r.Violations) > 0 || r.Answered != 6 || r.Calls != 8 || r.Settled != 8 {
		t.Errorf("%s\n%s", r, r.lines())
	}
}

// replaced is the body of request i with old replaced by another text.
func (b *Evidence) replaced(t *testing.T, i int, old, by string) {
	t.Helper()
	q := &b.Requests[i]
	if !strings.Contains(string(q.Body), old) {
		t.Fatalf("request %d holds no %q: %s", i, old, q.Body)
	}
	q.Body = []byte(strings.Replace(string(q.Body), old, by, 1))
}

// repeat adds the first message once more, with mark before its text, a while
// later and by another life.
func (b *Evidence) repeat(mark string, later time.Duration) {
	m := b.Telegram.Messages[0]
	m.MessageID++
	m.Versions = []telegram.Version{{Text: mark + m.Text(), At: m.Versions[0].At.Add(later), Client: lifeB}}
	b.Telegram.Messages = append(b.Telegram.Messages, m)
}

// reportJob lets a job report its runs at times of the day, of which those at 12:01, 12:02 and 12:03
// must be there.
func (b *Evidence) reportJob(l *Workload, slots ...string) {
	l.Shape.Jobs = 1
	b.JobsFrom, b.JobsThrough = noon.Add(30*time.Second), noon.Add(3*time.Minute)
	for i, slot := range slots {
		b.Telegram.Messages = append(b.Telegram.Messages, telegram.MessageEntry{
			ChatID: firstJobChat, MessageID: int64(i), Versions: []telegram.Version{{Text: answerJob("2026-11-21 " + slot + " UTC"), At: noon, Client: lifeA}},
		})
	}
}

// nextSent lets the messages from number n on be sent by the other life.
func (b *Evidence) nextSent(n int) {
	for i := range b.Telegram.Messages[n:] {
		b.Telegram.Messages[n+i].Versions[0].Client = lifeB
	}
}

// nextAsked lets all requests to the model but the first be the other life's.
func (b *Evidence) nextAsked() {
	for i := range b.Bill.Entries[1:] {
		b.Bill.Entries[1+i].Client = lifeB
	}
}

func TestTheCheckerSaysWhatIsWrongInBooks(t *testing.T) {
	t.Parallel()
	first := func(b *Evidence) time.Time { return b.Telegram.Messages[0].Versions[0].At }
	for name, c := range map[string]struct {
		spoil func(t *testing.T, l *Workload, b *Evidence)
		want  Kind // empty: nothing is wrong
	}{
		"a run of a job is missing": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.reportJob(l, "12:01", "12:03")
		}, Lost},
		"a run of a job is there twice": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.reportJob(l, "12:01", "12:02", "12:02", "12:03")
		}, Duplicated},
		"a run of a job is repeated with the mark": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.reportJob(l, "12:01", "12:02", "12:03", "12:03")
			v := &b.Telegram.Messages[len(b.Telegram.Messages)-1].Versions[0]
			v.Text = repeatMark + v.Text
		}, ""},
		"an answer is missing": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Telegram.Messages = b.Telegram.Messages[1:]
		}, Lost},
		"an answer was deleted": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Telegram.Messages[0].Deleted = noon
		}, Lost},
		"words stand for an answer": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Telegram.Messages[0].Versions[0].Text = "I could not do that."
		}, ""},
		"words in another chat": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.Telegram.Messages[0].Versions[0].Text = "I could not do that."
			b.Telegram.Messages[0].ChatID = l.Conversations[1].Chat.ID
		}, Lost},
		"an answer without its end": {func(_ *testing.T, _ *Workload, b *Evidence) {
			v := &b.Telegram.Messages[0].Versions[0]
			v.Text = strings.TrimSuffix(v.Text, " "+end)
		}, Half},
		"an answer without its end, and with the reason": {func(_ *testing.T, _ *Workload, b *Evidence) {
			v := &b.Telegram.Messages[0].Versions[0]
			v.Text = strings.TrimSuffix(v.Text, " "+end) + "\n\n(The answer broke off. I could not reach the model. Please try again later.)"
		}, ""},
		"a preview beside the answer": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat("", time.Second)
			b.Telegram.Messages[6].Versions[0].Text = "answer"
		}, Half},
		"a second answer": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat("", time.Second)
		}, Duplicated},
		"a second answer that is marked, without a reason": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat(repeatMark, time.Second)
		}, Duplicated},
		"a second answer that a kill explains": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat(repeatMark, 2*time.Second)
			b.nextSent(1)
			b.Faults = []Fault{{At: first(b).Add(time.Second), Incarnation: lifeA, Killed: true}}
		}, ""},
		"a second answer that a kill explains, without its mark": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat("", 2*time.Second)
			b.nextSent(1)
			b.Faults = []Fault{{At: first(b).Add(time.Second), Incarnation: lifeA, Killed: true}}
		}, Duplicated},
		"a second answer after a kill of its first sender, which had sent the next answer there": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat(repeatMark, 2*time.Minute)
			b.nextSent(2)
			b.Faults = []Fault{{At: first(b).Add(time.Second), Incarnation: lifeA, Killed: true}}
		}, Duplicated},
		"a second answer before its first sender was killed": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat(repeatMark, 2*time.Second)
			b.nextSent(1)
			b.Faults = []Fault{{At: first(b).Add(time.Minute), Incarnation: lifeA, Killed: true}}
		}, Duplicated},
		"a second answer after a kill of another": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat(repeatMark, 2*time.Second)
			b.nextSent(1)
			b.Faults = []Fault{{At: first(b).Add(time.Second), Incarnation: "127.2.0.1", Killed: true}}
		}, Duplicated},
		"a second answer, of which the first was on its way long after its sender was killed": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat(repeatMark, 2*time.Second)
			b.nextSent(1)
			b.Faults = []Fault{{At: first(b).Add(-time.Minute), Incarnation: lifeA, Killed: true}}
		}, ""},
		"a second answer after the first sender was parted": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat(repeatMark, 2*time.Second)
			b.Faults = []Fault{{At: first(b).Add(time.Second), Incarnation: lifeA}}
		}, ""},
		"a second answer after something was done to all": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat(repeatMark, 2*time.Second)
			b.Faults = []Fault{{At: first(b).Add(time.Second)}}
		}, ""},
		"a second answer after its first sender was parted, which had sent the next answer there": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repeat(repeatMark, 2*time.Second)
			b.Faults = []Fault{{At: first(b).Add(90 * time.Second), Incarnation: lifeA}}
		}, Duplicated},
		"a second answer of what was sent by who was parted before its answer before": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Telegram.Messages[1].Versions[0].Text = repeatMark + b.Telegram.Messages[1].Text()
			m := b.Telegram.Messages[1]
			m.MessageID++
			m.Versions = []telegram.Version{{Text: m.Text(), At: m.Versions[0].At.Add(time.Second), Client: lifeB}}
			b.Telegram.Messages = append(b.Telegram.Messages, m)
			b.Faults = []Fault{{At: first(b).Add(-time.Second), Incarnation: lifeA}}
		}, Duplicated},
		"a preview that was left, and the answer marked": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.leave(repeatMark)
			b.Faults = []Fault{{At: first(b).Add(-500 * time.Millisecond), Incarnation: lifeA, Killed: true}}
		}, ""},
		"a preview that was left, and the answer not marked": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.leave("")
			b.Faults = []Fault{{At: first(b).Add(-500 * time.Millisecond), Incarnation: lifeA, Killed: true}}
		}, Half},
		"a preview that was left by who was not killed": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.leave(repeatMark)
		}, Half},
		"a preview that was left by who knew it": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.leave(repeatMark)
			m := &b.Telegram.Messages[6]
			m.Versions = append(m.Versions, m.Versions[0])
			b.Faults = []Fault{{At: first(b).Add(-500 * time.Millisecond), Incarnation: lifeA, Killed: true}}
		}, Half},
		"a second answer because Telegram's answer was lost": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Telegram.Messages[0].Unconfirmed = true
			b.repeat(repeatMark, 2*time.Second)
		}, ""},
		"people are asked about a call, refuse it, and are told": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.refuse(l)
			b.asked("", "ABCDE")
		}, ""},
		"people are asked about a call again, which is marked": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.refuse(l)
			b.asked("", "ABCDE")
			b.asked(repeatMark, "ABCDE")
		}, ""},
		"people are asked about a call again, which is not marked": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.refuse(l)
			b.asked("", "ABCDE")
			b.asked("", "ABCDE")
		}, Duplicated},
		"people are asked about a call under two codes": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.refuse(l)
			b.asked("", "ABCDE")
			b.asked(repeatMark, "ABCDF")
		}, Duplicated},
		"people are asked for permission without a code": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.asked("", "")
		}, Half},
		"what was refused was answered": {func(_ *testing.T, l *Workload, _ *Evidence) {
			q := &l.Conversations[0].Questions[1]
			q.Asks, q.Refused = true, true
		}, Effect},
		"what was refused ran": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.refuse(l)
			v := &b.Telegram.Messages[2].Versions[0]
			v.Text = strings.Replace(v.Text, "effects", "effects m0x1c0", 1)
		}, Effect},
		"what was refused was not told": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.refuse(l)
			b.Telegram.Messages = slices.Delete(b.Telegram.Messages, 1, 2)
		}, Lost},
		"what was refused was told again, which is marked": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.refuse(l)
			b.tell(repeatMark)
		}, ""},
		"what was refused was told again, which is not marked": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.refuse(l)
			b.tell("")
		}, Duplicated},
		"people are told of goals": {func(_ *testing.T, l *Workload, b *Evidence) { b.reach(l, "", 0, 1) }, ""},
		"people are told of a goal again, which is marked": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.reach(l, "", 0, 1)
			b.reach(l, repeatMark, 0)
		}, ""},
		"people are told of a goal again, which is not marked": {func(_ *testing.T, l *Workload, b *Evidence) { b.reach(l, "", 0, 1, 0) }, Duplicated},
		"people are not told of a goal":                        {func(_ *testing.T, l *Workload, b *Evidence) { b.reach(l, "", 1) }, Lost},
		"people are told of a goal that is not reached": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.reach(l, "", 0, 1)
			l.Conversations[0].Questions[1].Spawns = true
		}, Effect},
		"a message shows what a turn does after it was answered": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.leave(repeatMark)
			b.Telegram.Messages[6].Versions[0].Text = "• ✓ Writing effects.txt\n• … Asking a sub-agent\n\nThinking …"
			b.Telegram.Messages[6].Versions = append(b.Telegram.Messages[6].Versions, b.Telegram.Messages[6].Versions[0])
			b.Faults = []Fault{{At: noon.Add(time.Minute + time.Second), Incarnation: lifeA, Killed: true}}
		}, Half},
		"a message shows what a turn did whose sender died": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.leave(repeatMark)
			b.Telegram.Messages[6].Versions[0].Text = "Compacting: 3k to 2k tokens"
			b.Faults = []Fault{{At: noon.Add(time.Minute + time.Second), Incarnation: lifeA, Killed: true}}
		}, ""},
		"a message shows what a turn did whose sender lived": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.leave(repeatMark)
			b.Telegram.Messages[6].Versions[0].Text = "Writing effects.txt ✓ · thinking …"
		}, Half},
		"the model reads that a call waits": {func(t *testing.T, _ *Workload, b *Evidence) {
			v := &b.Telegram.Messages[2].Versions[0]
			v.Text = strings.Replace(v.Text, " m0x0c0", "", 1)
			for i := range b.Requests[1:4] {
				b.replaced(t, i+1, `"written"`, `"This call needs a person's permission, and waits for it."`)
			}
		}, ""},
		"answers in the wrong order": {func(_ *testing.T, _ *Workload, b *Evidence) {
			m := b.Telegram.Messages
			m[0].MessageID, m[1].MessageID = m[1].MessageID, m[0].MessageID
		}, Disordered},
		"an answer in another's chat": {func(_ *testing.T, l *Workload, b *Evidence) {
			b.repeat("", time.Second)
			b.Telegram.Messages[6].ChatID = l.Conversations[1].Chat.ID
		}, Stray},
		"another's word in a preview that was replaced": {func(_ *testing.T, l *Workload, b *Evidence) {
			m := &b.Telegram.Messages[0]
			m.Versions = append([]telegram.Version{{Text: "answer " + l.Conversations[1].Canary, At: noon}}, m.Versions...)
		}, Stray},
		"another's word in a request": {func(t *testing.T, l *Workload, b *Evidence) {
			b.replaced(t, 3, "answer", l.Conversations[1].Canary)
		}, Stray},
		"another's call in the file": {func(_ *testing.T, _ *Workload, b *Evidence) {
			v := &b.Telegram.Messages[2].Versions[0]
			v.Text = strings.Replace(v.Text, "effects", "effects m1x0c0", 1)
		}, Stray},
		"a call without a result": {func(t *testing.T, _ *Workload, b *Evidence) {
			b.replaced(t, 1, `"tool_result"`, `"text"`)
		}, History},
		"a result without a call": {func(t *testing.T, _ *Workload, b *Evidence) {
			b.replaced(t, 1, `"tool_use"`, `"text"`)
		}, History},
		"two results of one call": {func(t *testing.T, _ *Workload, b *Evidence) {
			r := `{"content":"written","tool_use_id":"call-0","type":"tool_result"}`
			b.replaced(t, 1, r, r+","+r)
		}, History},
		"the model refused": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Bill.Entries[0].Outcome, b.Bill.Entries[0].Error = model.Refused, "messages: bad"
		}, History},
		"the model was told to refuse": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Bill.Entries[0].Outcome, b.Bill.Entries[0].Fault = model.Refused, model.FaultStatus
		}, ""},
		"a request that is no JSON": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Requests[0].Body = b.Requests[0].Body[1:]
		}, History},
		"a question twice in a history": {func(t *testing.T, _ *Workload, b *Evidence) {
			b.replaced(t, 3, "question m0x1", "question m0x0")
		}, Doubled},
		"questions out of order in a history": {func(t *testing.T, _ *Workload, b *Evidence) {
			b.replaced(t, 3, "question m0x0", "question m0x2")
		}, Doubled},
		"a call of the model made again": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.again(model.Complete, costs.Settled)
		}, Repaid},
		"a call of the model made again after a kill": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.nextAsked()
			b.again(model.Complete, costs.Settled)
			b.Faults = []Fault{{At: b.Requests[0].At.Add(500 * time.Millisecond), Incarnation: lifeA, Killed: true}}
		}, ""},
		"a call of the model made again before its asker was killed": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.nextAsked()
			b.again(model.Complete, costs.Settled)
			b.Faults = []Fault{{At: b.Requests[0].At.Add(time.Minute), Incarnation: lifeA, Killed: true}}
		}, Repaid},
		"a summary made again after its maker was killed": {func(t *testing.T, _ *Workload, b *Evidence) {
			b.summarise(t, costs.Interrupted)
		}, ""},
		"a summary made again after it was stored": {func(t *testing.T, _ *Workload, b *Evidence) {
			b.summarise(t, costs.Settled)
		}, Repaid},
		"a call of the model made again after a kill of another": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.nextAsked()
			b.again(model.Complete, costs.Settled)
			b.Faults = []Fault{{At: b.Requests[0].At.Add(time.Second), Incarnation: "127.2.0.1", Killed: true}}
		}, Repaid},
		"a call of the model made again by who made it": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.again(model.Complete, costs.Settled)
			b.Bill.Entries[len(b.Bill.Entries)-1].Client = lifeA
			b.Faults = []Fault{{At: b.Requests[0].At.Add(time.Hour), Incarnation: lifeA, Killed: true}}
		}, Repaid},
		"a call of the model made again that was on its way long after its asker was killed": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.nextAsked()
			b.again(model.Complete, costs.Settled)
			b.Faults = []Fault{{At: b.Requests[0].At.Add(-time.Minute), Incarnation: lifeA, Killed: true}}
		}, ""},
		"a call of the model made again after its asker was killed, when another had gone on from it": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.nextAsked()
			b.again(model.Complete, costs.Settled)
			b.later(time.Second)
			b.Faults = []Fault{{At: b.Requests[0].At, Incarnation: lifeA, Killed: true}}
		}, Repaid},
		"the last call for an answer made again after it was sent": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repaid(3)
			b.Faults = []Fault{{At: b.Requests[0].At, Incarnation: lifeA, Killed: true}}
		}, Repaid},
		"the last call for an answer made again after its preview was whole, when nobody could store its end": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repaid(3)
			b.edited(noon.Add(2 * time.Hour))
			b.Faults = []Fault{{At: b.Requests[3].At.Add(time.Millisecond), Incarnation: lifeA}}
		}, ""},
		"the last call for an answer made again after its preview had become the answer": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.repaid(3)
			b.edited(noon.Add(30 * time.Minute))
			b.Faults = []Fault{{At: b.Requests[3].At.Add(time.Millisecond), Incarnation: lifeA}}
		}, Repaid},
		"the last call for an answer made again before its preview, which was whole, became the answer": {func(t *testing.T, _ *Workload, b *Evidence) {
			b.repaid(3)
			b.unasked(t, noon.Add(2*time.Hour))
			b.Faults = []Fault{{At: b.Requests[3].At.Add(time.Millisecond), Incarnation: lifeA}}
		}, ""},
		"the last call for an answer made again after its preview, which was whole, had become the answer": {func(t *testing.T, _ *Workload, b *Evidence) {
			b.repaid(3)
			b.unasked(t, noon.Add(30*time.Minute))
			b.Faults = []Fault{{At: b.Requests[3].At.Add(time.Millisecond), Incarnation: lifeA}}
		}, Repaid},
		"the last call for an answer made again, and another message became an answer later": {func(t *testing.T, _ *Workload, b *Evidence) {
			b.repaid(3)
			b.unasked(t, noon.Add(2*time.Hour))
			for m, at := range b.Unasked {
				delete(b.Unasked, m)
				b.Unasked[Message{m.Chat, m.ID + 1000}] = at
			}
			b.Faults = []Fault{{At: b.Requests[3].At.Add(time.Millisecond), Incarnation: lifeA}}
		}, Repaid},
		"the last call for an answer made again after a preview whose id was lost showed it whole": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.lost(costs.Interrupted)
		}, ""},
		"the last call for an answer made again after it was stored and sent, and its receipt was lost": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.lost(costs.Settled)
		}, Repaid},
		"a call of the model made again after its asker was parted": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.again(model.Complete, costs.Settled)
			b.Faults = []Fault{{At: b.Requests[0].At.Add(500 * time.Millisecond), Incarnation: lifeA}}
		}, ""},
		"a call of the model made again late by who was parted": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.again(model.Complete, costs.Settled)
			b.later(time.Second)
			b.Faults = []Fault{{At: b.Requests[0].At.Add(500 * time.Millisecond), Incarnation: lifeB}}
		}, ""},
		"a call that was cut off, made again": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.again(model.Aborted, costs.Interrupted)
		}, ""},
		"a tool that ran twice": {func(_ *testing.T, _ *Workload, b *Evidence) {
			v := &b.Telegram.Messages[2].Versions[0]
			v.Text = strings.Replace(v.Text, "effects", "effects m0x0c0", 1)
		}, Effect},
		"a tool that did nothing and said it did": {func(_ *testing.T, _ *Workload, b *Evidence) {
			v := &b.Telegram.Messages[2].Versions[0]
			v.Text = strings.Replace(v.Text, "m0x0c0", "", 1)
		}, Effect},
		"a tool of which nobody knows": {func(t *testing.T, _ *Workload, b *Evidence) {
			v := &b.Telegram.Messages[2].Versions[0]
			v.Text = strings.Replace(v.Text, "m0x0c0", "", 1)
			for _, i := range []int{1, 2, 3} {
				b.replaced(t, i, `"type":"tool_result"`, `"is_error":true,"type":"tool_result"`)
			}
		}, ""},
		"a row of a pico-dollar too much": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger[0].Amount++
		}, Money},
		"a row that is missing": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger = b.Ledger[1:]
		}, Money},
		"a row twice": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger = append(b.Ledger, b.Ledger[0])
		}, Money},
		"a row of no call": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger = append(b.Ledger, costs.Entry{RequestID: "req-x", Amount: 5, Priced: true, State: costs.Settled})
		}, Money},
		"a row without a price": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger[0].Priced = false
		}, Money},
		"a doubt that bounds its call": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger[0] = costs.Entry{RequestID: "req-0", Amount: 10, Upper: 2000, Priced: true, State: costs.Interrupted}
		}, ""},
		"a doubt that is too small": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger[0] = costs.Entry{RequestID: "req-0", Amount: 10, Upper: 999, Priced: true, State: costs.Interrupted}
		}, Money},
		"a doubt that is too large": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger[0] = costs.Entry{RequestID: "req-0", Lower: 1001, Amount: 1001, Upper: 2000, Priced: true, State: costs.Interrupted}
		}, Money},
		"a doubt whose guess is too large": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger[0] = costs.Entry{RequestID: "req-0", Lower: 1000, Amount: 1001, Upper: 2000, Priced: true, State: costs.Interrupted}
		}, ""},
		"a doubt without a name": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger[0] = costs.Entry{Upper: 2000, Priced: true, State: costs.Interrupted}
		}, ""},
		"fewer doubts than calls": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger = append(b.Ledger[2:], costs.Entry{Upper: 5000, Priced: true, State: costs.Interrupted})
		}, Money},
		"doubts without a name that are too small": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.Ledger[0] = costs.Entry{Upper: 999, Priced: true, State: costs.Interrupted}
		}, Money},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, b := clean(t)
			c.spoil(t, l, &b)
			r := Check(l, b)
			switch {
			case c.want == "" && len(r.Violations) > 0:
				t.Errorf("nothing is wrong, but:\n%s", r.lines())
			case c.want != "" && !r.Has(c.want):
				t.Errorf("it is not said that something is %s, but:\n%s", c.want, r.lines())
			}
		})
	}
}

// again makes the first request once more, by another life and before what goes on
// from it, with an end of its own.
func (b *Evidence) again(o model.Outcome, s costs.State) {
	b.repaid(0)
	// The earlier one is what ended so; the one that is there is the repeat.
	b.Bill.Entries[0].Outcome = o
	b.Ledger[0].State, b.Ledger[0].Upper = s, b.Ledger[0].Amount
	n := len(b.Requests) - 1
	b.Requests[n].At, b.Bill.Entries[n].At = noon.Add(time.Minute+800*time.Millisecond), noon.Add(time.Minute+800*time.Millisecond)
}

// summarise makes the first request one for a summary, which another life makes again after
// a kill; s is the ledger's word on the first.
func (b *Evidence) summarise(t *testing.T, s costs.State) {
	t.Helper()
	b.replaced(t, 0, "question m0x0", summaryRequest+" question m0x0")
	b.nextAsked()
	b.again(model.Complete, s)
	b.Requests[len(b.Requests)-1].Body = b.Requests[0].Body
	b.Faults = []Fault{{At: b.Requests[0].At.Add(500 * time.Millisecond), Incarnation: lifeA, Killed: true}}
}

// repaid makes request i once more by another life, long after everything.
func (b *Evidence) repaid(i int) {
	q, e, row := b.Requests[i], b.Bill.Entries[i], b.Ledger[i]
	q.ID, e.ID, row.ID, row.RequestID, e.Client = "again", "again", "again", "again", lifeB
	q.At, e.At = noon.Add(time.Hour), noon.Add(time.Hour)
	b.Requests, b.Bill.Entries, b.Ledger = append(b.Requests, q), append(b.Bill.Entries, e), append(b.Ledger, row)
	b.Bill.Pico += e.Pico
}

// edited lets all messages be edited once more, to what they are.
func (b *Evidence) edited(at time.Time) {
	for _, m := range b.Telegram.Messages {
		b.Telegram.Calls = append(b.Telegram.Calls, telegram.CallEntry{Method: "editMessageText", ChatID: m.ChatID, Status: 400, At: at})
	}
}

// unasked lets the logs say that all messages stood as they were to stand.
func (b *Evidence) unasked(t *testing.T, at time.Time) {
	t.Helper()
	b.Unasked = map[Message][]time.Time{}
	log := "not JSON\n"
	for _, m := range b.Telegram.Messages {
		log += fmt.Sprintf(`{"time":%q,"level":"DEBUG","msg":%q,"channel":"tg","chat":"%d","message":"%d"}`+"\n",
			at.Format(time.RFC3339Nano), tg.StandsAlready, m.ChatID, m.MessageID)
	}
	log += `{"time":"2026-01-01T00:00:00Z","msg":"` + tg.StandsAlready // its life ended here
	if err := readUnasked([]byte(log), b.Unasked); err != nil {
		t.Fatal(err)
	}
	if len(b.Unasked) != len(b.Telegram.Messages) {
		t.Fatalf("%d of %d messages are read", len(b.Unasked), len(b.Telegram.Messages))
	}
}

// lost makes the last call of a question once more, by the life that followed a killed
// one and sent the answer with the mark of a repeat; s is the ledger's word on the first.
func (b *Evidence) lost(s costs.State) {
	b.repaid(3)
	b.Ledger[3].State, b.Ledger[3].Upper = s, b.Ledger[3].Amount
	at := b.Requests[3].At
	b.Faults = []Fault{{At: at.Add(time.Minute), Incarnation: lifeA, Killed: true}}
	for i := range b.Requests[4:] { // what comes later is of the other life
		b.Bill.Entries[4+i].Client = lifeB
	}
	tag := questionOf(b.Requests[3].Body)
	for i, m := range b.Telegram.Messages {
		if _, of, ok := firstWholeVersion(m); !ok || of != tag {
			continue
		}
		m.MessageID++
		m.Versions = []telegram.Version{{Text: repeatMark + m.Text(), At: noon.Add(2 * time.Hour), Client: lifeB}}
		b.Telegram.Messages = slices.Insert(b.Telegram.Messages, i+1, m)
		break
	}
}

// later moves the request that was made again.
func (b *Evidence) later(d time.Duration) {
	n := len(b.Requests) - 1
	b.Requests[n].At, b.Bill.Entries[n].At = b.Requests[n].At.Add(d), b.Bill.Entries[n].At.Add(d)
}

// refuse makes the second question of the first conversation one about whose call people are
// asked, and say no, which its answer tells.
func (b *Evidence) refuse(l *Workload) {
	q := &l.Conversations[0].Questions[1]
	q.Asks, q.Refused = true, true
	b.Telegram.Messages[1].Versions[0].Text = "I stopped, because permission was denied."
}

// tell adds once more, with mark before it, that the call was refused.
func (b *Evidence) tell(mark string) {
	m := b.Telegram.Messages[1]
	m.MessageID += 100
	m.Versions = []telegram.Version{{Text: mark + m.Text(), At: noon.Add(time.Hour), Client: lifeB}}
	b.Telegram.Messages = append(b.Telegram.Messages, m)
}

// reach lets messages be goals, and tells the conversations, with mark before it, that the goal
// of their first message is reached.
func (b *Evidence) reach(l *Workload, mark string, conversations ...int) {
	l.Shape.Goals = true
	for i, c := range conversations {
		q := l.Conversations[c].Questions[0]
		b.Telegram.Messages = append(b.Telegram.Messages, telegram.MessageEntry{
			ChatID: l.Conversations[c].Chat.ID, MessageID: int64(200 + len(b.Telegram.Messages)),
			Versions: []telegram.Version{{Text: mark + goalReached + q.words(l.Conversations[c]), At: noon.Add(time.Duration(i) * time.Hour), Client: lifeA}},
		})
	}
}

// asked adds a question for permission to the first chat, with mark before its text.
func (b *Evidence) asked(mark, code string) {
	text := mark + approvals.Mark + " May I use write_file? m0x1c0"
	if code != "" {
		text += " /approve " + code
	}
	b.Telegram.Messages = append(b.Telegram.Messages, telegram.MessageEntry{
		ChatID: b.Telegram.Messages[0].ChatID, MessageID: int64(100 + len(b.Telegram.Messages)), Versions: []telegram.Version{{Text: text, At: noon, Client: lifeA}},
	})
}

// leave adds a preview of the first answer before it, and lets another life send
// all answers, the first with mark before its text.
func (b *Evidence) leave(mark string) {
	m := b.Telegram.Messages[0]
	b.Telegram.Messages[0].Versions = []telegram.Version{{Text: mark + m.Text(), At: m.Versions[0].At}}
	b.nextSent(0)
	m.MessageID--
	m.Versions = []telegram.Version{{Text: strings.TrimSuffix(m.Text(), " "+end), At: m.Versions[0].At.Add(-time.Second), Client: lifeA}}
	b.Telegram.Messages = append(b.Telegram.Messages, m)
}

func TestTheSameSeedGivesTheSameLoadAndTheSameKills(t *testing.T) {
	t.Parallel()
	text := func(seed uint64) string {
		l := NewWorkload(Shape{Conversations: 20, Messages: 10}, seed)
		s := fmt.Sprint(l.Calls())
		for _, c := range l.Conversations {
			for _, q := range c.Questions {
				p := &model.Prompt{Messages: []model.Message{{Role: model.User, Text: q.Text}}}
				s += q.Text + fmt.Sprint(l.Brain(t.Context(), p))
			}
		}
		return s
	}
	if a, b := text(5), text(5); a != b {
		t.Error("the same seed gave two loads")
	}
	if text(5) == text(6) {
		t.Error("two seeds gave the same load")
	}
	plans := func() []string {
		r := Open(t, Options{Seed: 11, Shape: Shape{Conversations: 1, Messages: 1}})
		r.KillAt(20, 1, 1000, "a", "b")
		return r.planned
	}
	if a, b := plans(), plans(); !slices.Equal(a, b) || a[0] == a[2] {
		t.Errorf("the same seed planned\n%v\nand\n%v", a, b)
	}
}
