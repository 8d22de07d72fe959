package faulttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/costs"
	"parley/gateway/outcomes"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

func TestTheCheckerFindsNothingInCleanBooks(t *testing.T) {
	t.Parallel()
	l, b := clean(t)
	if r := Check(l, b); len(r.Violations) > 0 || r.Answered != 6 || r.Calls != 8 || r.Settled != 8 {
		t.Errorf("%s\n%s", r, r.lines())
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
		"runs of a job were passed over, because the one before was at work": {func(t *testing.T, l *Workload, b *Evidence) {
			b.reportJob(l, "12:03")
			b.passJob(t, 2, "12:02", outcomes.SlotBusy)
		}, ""},
		"a run of a job was passed over for another reason": {func(t *testing.T, l *Workload, b *Evidence) {
			b.reportJob(l, "12:01", "12:03")
			b.passJob(t, 1, "12:02", outcomes.SlotMissed)
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
		"a preview that was left after two words, and the answer marked": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.leave(repeatMark)
			v := &b.Telegram.Messages[6].Versions[0]
			v.Text, _, _ = strings.Cut(v.Text, " canary")
			b.Faults = []Fault{{At: first(b).Add(-500 * time.Millisecond), Incarnation: lifeA, Killed: true}}
		}, ""},
		"a preview of other words that was left": {func(_ *testing.T, _ *Workload, b *Evidence) {
			b.leave(repeatMark)
			b.Telegram.Messages[6].Versions[0].Text = "answer m9"
			b.Faults = []Fault{{At: first(b).Add(-500 * time.Millisecond), Incarnation: lifeA, Killed: true}}
		}, Half},
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
		r.Plans.KillAt(20, 1, 1000, "a", "b")
		return r.Plans.coming
	}
	if a, b := plans(), plans(); !slices.Equal(a, b) || a[0] == a[2] {
		t.Errorf("the same seed planned\n%v\nand\n%v", a, b)
	}
}
