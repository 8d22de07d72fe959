package worker_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
)

// crowd is a group in which people send albums, pastes, messages and edits, all
// mixed, some of them twice, while workers fail and die.
type crowd struct {
	*schedule
	queues [3][]channels.Message // what each person is about to send, in order
	sent   []channels.Message
	newest map[string]string // by message id, its newest text
	of     map[string]int    // whose text it is
	n      int
}

// text is one that is found again wherever it comes.
func (c *crowd) text(person int, long bool) string {
	c.n++
	text := fmt.Sprintf("<%d.%d>", person, c.n)
	c.of[text] = person
	if long {
		text += strings.Repeat("x", 4000)
	}
	return text
}

// plan lets a person have something to send.
func (c *crowd) plan(person int) {
	at := time.Now().Add(-time.Hour).Add(time.Duration(c.n) * time.Minute)
	message := func(text string) channels.Message {
		m := inKitchen(c.r.message(person, text))
		m.ReceivedAt = at
		return m
	}
	add := func(m channels.Message) { c.queues[person] = append(c.queues[person], m) }
	switch n := c.random.IntN(10); {
	case n < 3:
		album := fmt.Sprint("album", c.n)
		for range 1 + c.random.IntN(4) {
			add(photo(message(c.text(person, false)), album))
		}
	case n < 5:
		for range 1 + c.random.IntN(3) {
			add(message(c.text(person, true)))
		}
		add(message(c.text(person, false)))
	default:
		add(message(c.text(person, false)))
	}
}

// send offers a person's next message, sometimes twice.
func (c *crowd) send(person int) {
	if len(c.queues[person]) == 0 {
		c.plan(person)
	}
	m := c.queues[person][0]
	c.queues[person] = c.queues[person][1:]
	for range 1 + c.random.IntN(5)/4 {
		if c.random.IntN(2) == 0 {
			c.r.bring(m)
		} else {
			c.r.publishIn(m) // a copy that the log did not know
		}
	}
	c.sent = append(c.sent, m)
	c.newest[m.MessageID] = m.Text
}

func (c *crowd) edit() {
	if len(c.sent) == 0 {
		return
	}
	m := c.sent[c.random.IntN(len(c.sent))]
	text := c.newest[m.MessageID]
	if c.random.IntN(2) == 0 {
		text = c.text(person(m), false)
	}
	e := c.r.edit(m, text)
	e.ReceivedAt = m.ReceivedAt
	c.r.bring(e)
	c.newest[m.MessageID] = text
}

func person(m channels.Message) (n int) {
	_, _ = fmt.Sscan(m.Sender.ID, &n)
	return n
}

var token = regexp.MustCompile(`<(\d+)\.\d+>`)

// check reads what the model was asked.
func (c *crowd) check() {
	t := c.r.t
	seen := map[string]int{}
	last := map[int]int{} // by person, the number of the newest message
	order := map[string]int{}
	for i, m := range c.sent {
		order[token.FindString(m.Text)] = i
	}
	for _, asked := range c.r.heard(c.sent[0]) {
		whose := map[string]bool{}
		for _, found := range token.FindAllStringSubmatch(asked, -1) {
			seen[found[0]]++
			whose[found[1]] = true
			if n, original := order[found[0]]; original && !strings.Contains(asked, "I have edited") {
				p := c.of[found[0]]
				if n < last[p] {
					t.Errorf("%s came after a later message of the same person", found[0])
				}
				last[p] = n
			}
		}
		if len(whose) > 1 {
			t.Errorf("two people in one turn: %.200q", asked)
		}
	}
	for text, n := range seen {
		if n > 1 {
			t.Errorf("%s was said %d times", text, n)
		}
	}
	for _, m := range c.sent {
		if newest := token.FindString(c.newest[m.MessageID]); seen[newest] == 0 {
			t.Errorf("%s, the newest text of message %s, was never said", newest, m.MessageID)
		}
	}
}

func TestWhateverPeopleSendEachTextIsSaidOnceAndInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := realStore(t)
		c := &crowd{schedule: newSchedule(r, seed(t)), newest: map[string]string{}, of: map[string]int{}}
		c.begin()
		c.begin()
		for range 200 {
			w := c.workers[c.random.IntN(len(c.workers))]
			switch n := c.random.IntN(20); {
			case n < 13:
				c.send(1 + c.random.IntN(2))
			case n < 16:
				c.edit()
			case n < 18:
				w.store.arm(1+c.random.IntN(12), c.random.IntN(2) == 0)
			case n == 18 && len(c.workers) > 1:
				if w = c.workers[0]; c.random.IntN(2) == 0 {
					w.die()
				} else {
					w.end(t)
				}
				c.workers = c.workers[1:]
				c.begin()
			}
		}
		for _, w := range c.workers {
			w.store.arm(0, false)
		}
		r.done(c.sent[0])
		c.check()
		if n := r.counted("dead attempts"); n != 0 {
			t.Errorf("%d messages went to the dead letters", n)
		}
	})
}
