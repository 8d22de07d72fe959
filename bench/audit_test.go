package bench

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/simulators/telegram"
)

// repeatMark stands before an answer that may have arrived before.
const repeatMark = "(This may be a repeat.)\n\n"

// audit holds what the chats show at the end to what was asked. Texts of
// questions are unique in it.
type audit struct {
	mu      sync.Mutex
	asked   []posed
	open    map[string]*question
	answers []time.Time // in their order
	marked  int         // repeats with a mark, after check
}

type posed struct {
	chat int64
	text string
}

func (a *audit) ask(chat int64, q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, posed{chat, q.text})
	a.open[q.text] = q
}

// see tells whoever waits for the answer.
func (a *audit) see(h telegram.Happening) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := strings.TrimPrefix(h.Text, repeatMark)
	q := a.open[text]
	if q == nil {
		return
	}
	delete(a.open, text)
	a.answers = append(a.answers, h.At)
	q.answered <- h.At
}

// after is when the first answer after t was there.
func (a *audit) after(t time.Time) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.answers {
		if at.After(t) {
			return at, true
		}
	}
	return time.Time{}, false
}

// check fails b for everything that verdict finds.
func (a *audit) check(b *testing.B, books telegram.Book) {
	b.Helper()
	for _, s := range a.verdict(books) {
		b.Error(s)
	}
}

// verdict reads the books: each question has one answer, in its chat and in its
// order, a further one is marked, and no chat shows anything else.
func (a *audit) verdict(books telegram.Book) (wrong []string) {
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := books.Totals.Forgotten; n > 0 {
		note("the platform forgot %d entries of its books", n)
	}
	first, plain := map[posed]int64{}, map[posed]int{}
	for _, q := range a.asked {
		first[q] = 0
	}
	a.marked = 0
	for _, m := range books.Messages {
		if !m.Deleted.IsZero() {
			continue
		}
		text, again := strings.CutPrefix(m.Text(), repeatMark)
		q := posed{m.ChatID, text}
		at, known := first[q]
		if !known {
			note("chat %d shows %q, which answers nothing that was asked there", m.ChatID, m.Text())
			continue
		}
		if at == 0 {
			first[q] = m.MessageID
		} else if again {
			a.marked++
		}
		if !again {
			plain[q]++
		}
		if !again && plain[q] > 1 {
			note("chat %d shows %q again, without a mark", m.ChatID, text)
		}
	}
	newest := map[int64]int64{}
	for _, q := range a.asked {
		switch at := first[q]; {
		case at == 0:
			note("chat %d got no answer to %q", q.chat, q.text)
		case at < newest[q.chat]:
			note("chat %d shows the answer to %q after one to a later question", q.chat, q.text)
		default:
			newest[q.chat] = at
		}
	}
	return wrong
}

// What a chat shows decides whether a benchmark fails.
func TestTheAuditFindsWhatWasLostRepeatedOrOutOfOrder(t *testing.T) {
	t.Parallel()
	shown := func(chat, id int64, text string) telegram.MessageEntry {
		return telegram.MessageEntry{ChatID: chat, MessageID: id, Versions: []telegram.Version{{Text: text}}}
	}
	a1, a2, b1 := shown(1, 2, "a1"), shown(1, 4, "a2"), shown(2, 2, "b1")
	gone := shown(1, 3, "a")
	gone.Deleted = time.Now()
	for _, c := range []struct {
		name   string
		shown  []telegram.MessageEntry
		wrong  int
		marked int
	}{
		{"all is answered", []telegram.MessageEntry{a1, gone, a2, b1}, 0, 0},
		{"one is lost", []telegram.MessageEntry{a1, b1}, 1, 0},
		{"one is there twice", []telegram.MessageEntry{a1, a2, shown(1, 5, "a2"), b1}, 1, 0},
		{"one is there again with a mark", []telegram.MessageEntry{a1, a2, shown(1, 5, repeatMark+"a2"), b1}, 0, 1},
		{"the one that arrived bears the mark", []telegram.MessageEntry{a1, shown(1, 5, repeatMark+"a2"), b1}, 0, 0},
		{"the later one is first", []telegram.MessageEntry{shown(1, 2, "a2"), shown(1, 4, "a1"), b1}, 1, 0},
		{"half of one is left", []telegram.MessageEntry{a1, shown(1, 3, "a"), a2, b1}, 1, 0},
		{"one is in another's chat", []telegram.MessageEntry{a1, a2, b1, shown(2, 3, "a1")}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := &audit{asked: []posed{{1, "a1"}, {1, "a2"}, {2, "b1"}}}
			if wrong := a.verdict(telegram.Book{Messages: c.shown}); len(wrong) != c.wrong || a.marked != c.marked {
				t.Errorf("%d repeats are marked, not %d, and %d things are wrong, not %d: %q", a.marked, c.marked, len(wrong), c.wrong, wrong)
			}
		})
	}
}
