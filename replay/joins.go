package replay

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/gateway/recording"
	"parley/transcript"
)

// Messages that join a running turn do so before its next model call, and which
// one that is hangs on when they came. A replay gives each of them to the worker
// when it joined, by what each request sent, and not by the clock.

// joins is which messages joined turns, and for which request each must have.
type joins struct {
	ends   []uint64          // places at which something begins: a turn, or what joined one
	before map[string]uint64 // by request: the last place that had joined when it was made
	first  map[string]string // by turn: its first request
	next   map[string]string // by request: the one after it in its turn
}

func newJoins(s *script) joins {
	j := joins{before: map[string]uint64{}, first: map[string]string{}, next: map[string]string{}}
	for _, t := range s.roots {
		j.ends = append(j.ends, t.Seq)
	}
	for id := range s.messages {
		if _, seq, ok := joinedOf(id); ok {
			j.ends = append(j.ends, seq)
		}
	}
	slices.Sort(j.ends)
	byTurn := map[string][]*recording.Request{}
	for _, q := range s.requests {
		if c, err := costs.ParseCallID(q.ID); err != nil || c.Turn == "" {
			continue
		}
		byTurn[q.Turn] = append(byTurn[q.Turn], q)
		for _, m := range s.r.Messages[q.Session][:min(q.Messages, len(s.r.Messages[q.Session]))] {
			if turn, seq, ok := joinedOf(m.ID); ok && turn == q.Turn {
				j.before[q.ID] = max(j.before[q.ID], seq)
			}
		}
	}
	for turn, qs := range byTurn {
		slices.SortFunc(qs, inOrder)
		j.first[turn] = qs[0].ID
		for i := range qs[1:] {
			j.next[qs[i].ID] = qs[i+1].ID
		}
	}
	return j
}

// inOrder orders the requests of a turn as they were made.
func inOrder(a, b *recording.Request) int {
	if c := a.At.Compare(b.At); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// joinedOf returns which message of the log joined a turn as a message.
func joinedOf(message string) (turn string, seq uint64, ok bool) {
	id, ok := transcript.ParseMessageID(message)
	return id.Turn, id.Seq, ok && id.Kind == transcript.Joining
}

// until is the place before which everything belongs to what begins at seq.
func (j joins) until(seq uint64) uint64 {
	for _, end := range j.ends {
		if end > seq {
			return end
		}
	}
	return math.MaxUint64
}

// feedFor gives the worker what had joined when a request was made, and waits
// until it has heard of it.
func (s *stage) feedFor(ctx context.Context, request string) {
	seq := s.script.joins.before[request]
	if seq == 0 {
		return
	}
	until := s.script.joins.until(seq)
	for _, e := range s.script.r.Envelopes {
		if e.Seq < until && !e.Pruned {
			s.give(s.envelope(e))
		}
	}
	stuck := time.NewTimer(patience)
	defer stuck.Stop()
	for !s.log.caughtUp() {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return
		case <-stuck.C:
			return // what did not join is a difference, and shows as one
		}
	}
}
