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
	"parley/gateway/schedule"
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

// passJob lets the logs say that slots of the first job were passed over, the last of them at
// a time of the day.
func (b *Evidence) passJob(t *testing.T, slots int, last, because string) {
	t.Helper()
	logs := newLogged()
	log := fmt.Sprintf(`{"time":"2026-11-21T12:02:00Z","level":"WARN","msg":%q,"job":"beat0","slots":%d,"because":%q,"misfire":"all","through":"2026-11-21T%s:00Z"}`+"\n",
		schedule.SlotsPassed, slots, because, last)
	if err := logs.read([]byte(log)); err != nil {
		t.Fatal(err)
	}
	b.JobsPassed = logs.passed
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
	logs := newLogged()
	log := "not JSON\n"
	for _, m := range b.Telegram.Messages {
		log += fmt.Sprintf(`{"time":%q,"level":"DEBUG","msg":%q,"channel":"tg","chat":"%d","message":"%d"}`+"\n",
			at.Format(time.RFC3339Nano), tg.StandsAlready, m.ChatID, m.MessageID)
	}
	log += `{"time":"2026-01-01T00:00:00Z","msg":"` + tg.StandsAlready // its life ended here
	if err := logs.read([]byte(log)); err != nil {
		t.Fatal(err)
	}
	b.Unasked = logs.unasked
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
