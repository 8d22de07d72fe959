package faulttest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"parley/costs"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// call is one request to the model, as the books have it.
type call struct {
	step
	canary, question string   // question is "" for a summary
	history          [32]byte // of its messages
}

// calls are all requests, with what shows that an answer was stored: a request
// that goes on from it, or the answer to its question in the chat.
type calls struct {
	done faultTimes
	of   map[string]call // by request
	// steps are those of each conversation, by canary: it does one thing after the
	// other, its sub-agents too.
	steps map[string][]step
	// beyond is when a history was first sent with more behind it, and answered
	// when the whole answer to a question was first accepted.
	beyond   map[[32]byte]time.Time
	answered map[string]time.Time
	// perhaps is when what may have been a preview, whose id was lost, or an answer was
	// accepted, and settled are the requests whose answers were stored: with their cost.
	perhaps map[string]time.Time
	settled map[string]bool
}

func newCalls(b Evidence) *calls {
	c := &calls{done: newFaultTimes(b.Faults), of: map[string]call{}, steps: map[string][]step{}, beyond: map[[32]byte]time.Time{}, settled: settledRequests(b)}
	clients := map[string]Incarnation{}
	for _, e := range b.Bill.Entries {
		clients[e.ID] = Incarnation(e.Client)
	}
	c.answered, c.perhaps = finalAnswers(b, c.done)
	for _, q := range b.Requests {
		if asksTitle(q) { // beside what the conversation does
			continue
		}
		one := call{step: step{clients[q.ID], q.At}, canary: string(canaryIn.Find(q.Body))}
		if !asksSummary(q) {
			one.question = questionOf(q.Body)
		}
		for i, h := range historyDigests(q) {
			if i > 0 {
				keepEarliest(c.beyond, one.history, q.At)
			}
			one.history = h
		}
		c.of[q.ID] = one
		c.steps[one.canary] = append(c.steps[one.canary], one.step)
	}
	for _, s := range c.steps {
		slices.SortFunc(s, func(a, b step) int { return a.at.Compare(b.at) })
	}
	return c
}

// finalAnswers returns when each question was answered. A preview may show the whole answer
// while the end of its turn is on its way to a store that does not answer; so it
// is the last try to change the message before the chat's next message: also one that
// Telegram refused because there was nothing to change, or that was not made for that
// reason. What was sent whole by a life that then came to an end, and was sent again with
// the mark of a repeat, may have been a preview whose id nobody knew: that is only perhaps.
func finalAnswers(b Evidence, done faultTimes) (answered, perhaps map[string]time.Time) {
	edits, chats := map[int64][]time.Time{}, map[int64][]telegram.MessageEntry{}
	for _, c := range b.Telegram.Calls {
		if c.Method == "editMessageText" {
			edits[c.ChatID] = append(edits[c.ChatID], c.At)
		}
	}
	for _, m := range b.Telegram.Messages {
		chats[m.ChatID] = append(chats[m.ChatID], m)
	}
	answered, perhaps = map[string]time.Time{}, map[string]time.Time{}
	for chat, ms := range chats {
		slices.SortFunc(ms, func(a, b telegram.MessageEntry) int { return a.Versions[0].At.Compare(b.Versions[0].At) })
		for i, m := range ms {
			v, tag, ok := firstWholeVersion(m)
			if !ok {
				continue
			}
			final := v.At
			for _, e := range slices.Concat(edits[chat], b.Unasked[Message{chat, m.MessageID}]) {
				if e.After(final) && (i+1 == len(ms) || e.Before(ms[i+1].Versions[0].At)) {
					final = e
				}
			}
			if len(b.Unasked[Message{chat, m.MessageID}]) == 0 && mayBeLostPreview(m, v, tag, ms[i+1:], done) {
				keepEarliest(perhaps, tag, final)
			} else {
				keepEarliest(answered, tag, final)
			}
		}
	}
	return answered, perhaps
}

// mayBeLostPreview reports whether m, in which v was the whole answer, may be a preview
// whose id was lost with the life that sent it: one of the messages behind it repeats it.
func mayBeLostPreview(m telegram.MessageEntry, v telegram.Version, tag string, behind []telegram.MessageEntry, done faultTimes) bool {
	return v.At.Equal(m.Versions[0].At) && slices.ContainsFunc(behind, func(a telegram.MessageEntry) bool {
		_, of, ok := firstWholeVersion(a)
		return ok && of == tag && hasRepeatMark(a.Text()) &&
			(m.Unconfirmed || done.isUnsure([]step{{Incarnation(v.Client), v.At}}, 0, a.Versions[0].At))
	})
}

// settledRequests are the requests with an exact row in the ledger, which is stored in one step
// with their answers.
func settledRequests(b Evidence) map[string]bool {
	names, all := map[string]string{}, map[string]bool{}
	for _, e := range b.Bill.Entries {
		if e.Message != "" {
			names[e.Message] = e.ID
		}
	}
	for _, row := range b.Ledger {
		if row.State == costs.Settled {
			all[cmp.Or(names[row.RequestID], row.RequestID)] = true
		}
	}
	return all
}

func keepEarliest[K comparable](m map[K]time.Time, k K, at time.Time) {
	if was, ok := m[k]; !ok || at.Before(was) {
		m[k] = at
	}
}

// asksSummary reports whether a request is for a summary, and not about the newest question
// that it holds.
func asksSummary(q model.Recorded) bool { return bytes.Contains(q.Body, []byte(summaryRequest)) }

// asksTitle reports whether a request is for a title.
func asksTitle(q model.Recorded) bool { return bytes.Contains(q.Body, []byte(titleRequest)) }

// questionOf returns the question that a request is about: the newest one.
func questionOf(body []byte) (tag string) {
	newest := -1
	for _, re := range []*regexp.Regexp{questionIn, partIn} {
		for _, at := range re.FindAllSubmatchIndex(body, -1) {
			if at[0] > newest {
				newest, tag = at[0], fmt.Sprintf("m%sx%s", body[at[2]:at[3]], body[at[4]:at[5]])
			}
		}
	}
	return tag
}

// historyDigests are the names of what a request says up to each of its messages.
func historyDigests(q model.Recorded) (names [][32]byte) {
	var body struct {
		Messages []message `json:"messages"`
	}
	if json.Unmarshal(q.Body, &body) != nil {
		return nil // that is said elsewhere
	}
	var name [32]byte
	for _, m := range body.Messages {
		bs, err := m.blocks() // without the marks of the cache, which move
		if err != nil {
			return nil
		}
		text, err := json.Marshal(bs)
		if err != nil {
			return nil
		}
		name = sha256.Sum256(append(append(name[:], m.Role...), text...))
		names = append(names, name)
	}
	return names
}

// repaidReason returns why the answer to a request must have been stored although it was
// asked again, "" if it may not have been.
func (c *calls) repaidReason(first, again string) string {
	f, a := c.of[first], c.of[again]
	steps := c.steps[f.canary]
	// Who was held up between writing the call down and making it makes it late.
	if i := slices.Index(steps, a.step); f.incarnation != a.incarnation && c.done.wasLate(steps, i) {
		return ""
	}
	if at, ok := c.beyond[f.history]; ok && at.Before(a.at) {
		return "a request went on from it before"
	}
	if f.question == "" && c.settled[first] {
		return "the summary was stored before"
	}
	if at, ok := c.answered[f.question]; ok && at.Before(a.at) {
		return "the answer was sent before"
	}
	if at, ok := c.perhaps[f.question]; ok && at.Before(a.at) && c.settled[first] {
		return "the answer was sent before, and stored"
	}
	if !c.done.isUnsure(steps, slices.Index(steps, f.step), a.at) {
		return "nothing was done to who asked first"
	}
	return ""
}

// LastAtWork returns the number of the process that asked the model last, of those calls
// that are on the bill; 0 while none is.
func (r *Run) LastAtWork() (process int) {
	c := newCalls(Evidence{Bill: r.Model.Bill(), Requests: r.Model.Requests()})
	var last time.Time
	for i := range r.Processes() {
		l := r.Process(i).Incarnation
		for _, steps := range c.steps {
			for _, s := range steps {
				if s.incarnation == l && s.at.After(last) {
					process, last = i, s.at
				}
			}
		}
	}
	return process
}

// HasSuccessor reports whether another life has asked the model in a conversation in
// which l had asked before.
func (r *Run) HasSuccessor(l Incarnation) bool {
	c := newCalls(Evidence{Bill: r.Model.Bill(), Requests: r.Model.Requests()})
	for _, steps := range c.steps {
		i := slices.IndexFunc(steps, func(s step) bool { return s.incarnation == l })
		if i >= 0 && slices.ContainsFunc(steps[i:], func(s step) bool {
			return s.incarnation != "" && s.incarnation != l // nobody's: it is not on the bill yet
		}) {
			return true
		}
	}
	return false
}
