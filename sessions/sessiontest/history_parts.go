package sessiontest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"parley/sessions"
)

// part is one part of an answer on its way out. Nobody may begin to send it
// while another holds it: each mark is made from the state that it names.
type part struct {
	state    sessions.SendState
	attempts int
	repeats  int
	id       string
	at       int64 // µs
	by       string
}

// marking is what a sender asks: a mark, or without one a look.
type marking struct {
	delivery, index int
	mark            sessions.Mark
}

// marked is what it was told.
type marked struct {
	outcome
	saw part
}

// follows are the states of a part that may follow each.
var follows = map[sessions.SendState][]sessions.SendState{
	sessions.Queued:    {sessions.Sending, sessions.Failed},
	sessions.Sending:   {sessions.Sent, sessions.Failed, sessions.Ambiguous, sessions.Queued},
	sessions.Ambiguous: {sessions.Sending, sessions.Sent, sessions.Failed, sessions.Queued},
}

func (p *part) does(m sessions.Mark) (fenced bool) {
	made := part{state: m.To, attempts: p.attempts, repeats: m.Repeats, id: m.MessageID, at: m.At.UnixMicro(), by: m.By}
	switch {
	case !slices.Contains(follows[m.From], m.To):
		return true
	case *p == made: // an earlier try of the same step
		return false
	case p.state != m.From:
		return true
	case p.by != m.By && m.From == sessions.Sending && (m.To == sessions.Queued || m.To == sessions.Ambiguous && m.Repeats < p.repeats):
		return true // only who sends it knows that it was not sent
	}
	if m.To == sessions.Sending {
		made.attempts++
	}
	*p = made
	return false
}

// partModel returns one part; the parts know nothing of each other.
func partModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(ops []porcupine.Operation) (found [][]porcupine.Operation) {
			byPart := map[[2]int][]porcupine.Operation{}
			for _, o := range ops {
				m := o.Input.(marking)
				at := [2]int{m.delivery, m.index}
				byPart[at] = append(byPart[at], o)
			}
			for _, ops := range byPart {
				found = append(found, ops)
			}
			return found
		},
		Init: func() any { return part{state: sessions.Queued} },
		Step: func(state, input, output any) (bool, any) {
			p, m, a := state.(part), input.(marking).mark, output.(marked)
			if m.To == "" {
				return !a.refused && p == a.saw, p
			}
			fenced := p.does(m)
			return a.unknown || !a.refused && fenced == a.fenced, p
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

// post is senders and two answers of two parts.
type post struct {
	recorder
	h *fixture
}

func answerID(i int) string { return fmt.Sprint("answer-", i) }

func newPost(h *fixture) *post {
	h.t.Helper()
	for i := range 2 {
		h.queued(reply(answerID(i), ""))
		h.ok(h.s.Advance(h.ctx, answerID(i), sessions.Progress{Bodies: [][]byte{[]byte("one"), []byte("two")}}))
	}
	return &post{h: h}
}

func (p *post) run(seed uint64, senders, each int) {
	var all sync.WaitGroup
	for sender := range senders {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(sender)))
			for i := range each {
				p.step(r, sender, i)
			}
		})
	}
	all.Wait()
	for at := range 4 {
		p.look(senders, at/2, at%2)
	}
}

// step is a look and a mark that fits what was seen, unless somebody was faster.
// Moments are few, so that senders make the same mark at the same time.
func (p *post) step(r *rand.Rand, sender, i int) {
	delivery, index := r.IntN(2), r.IntN(2)
	m := sessions.Mark{Index: index, At: noon.Add(time.Duration(i/4) * time.Second), By: fmt.Sprint("sender-", sender)}
	switch m.From = p.look(sender, delivery, index).state; m.From {
	case sessions.Queued, sessions.Ambiguous:
		m.To = sessions.Sending
	default:
		m.From = sessions.Sending
		m.To = []sessions.SendState{sessions.Queued, sessions.Queued, sessions.Ambiguous, sessions.Ambiguous, sessions.Sent, sessions.Failed}[r.IntN(6)]
	}
	m.Repeats = r.IntN(2)
	if m.To == sessions.Sent {
		m.MessageID = fmt.Sprintf("id-%d-%d", sender, i)
	}
	what := arrives
	if r.IntN(8) == 0 {
		what = forgotten
	}
	if !p.mark(sender, marking{delivery, index, m}, what) {
		p.mark(sender, marking{delivery, index, m}, arrives)
	}
}

func (p *post) look(sender, delivery, index int) (saw part) {
	m := marking{delivery: delivery, index: index}
	p.do(p.h.ctx, sender, m, arrives, func(ctx context.Context) error {
		d, err := p.h.s.Delivery(ctx, answerID(delivery))
		if err != nil {
			return err
		}
		if len(d.Parts) != 2 {
			return fmt.Errorf("%s has %d parts", d.ID, len(d.Parts))
		}
		at := d.Parts[index]
		saw = part{state: at.State, attempts: at.Attempts, repeats: at.Repeats, id: at.MessageID, by: at.By}
		if !at.At.IsZero() {
			saw.at = at.At.UnixMicro()
		}
		return nil
	}, func(o outcome) any { return marked{o, saw} })
	return saw
}

func (p *post) mark(sender int, m marking, what fate) bool {
	return p.do(p.h.ctx, sender, m, what, func(ctx context.Context) error {
		return p.h.s.Advance(ctx, answerID(m.delivery), sessions.Progress{Marks: []sessions.Mark{m.mark}})
	}, func(o outcome) any { return marked{outcome: o} })
}
