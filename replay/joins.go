package replay

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/gateway/recording"
	"parley/sessionkeys"
	"parley/transcript"
)

// Messages that join a running turn do so before its next model call, and which
// one that is hangs on when they came. A replay gives each of them to the worker
// when it joined, by what each request sent, and not by the clock.

// joinIndex is which messages joined turns, and for which request each must have.
type joinIndex struct {
	ends   []uint64          // places at which something begins: a turn, or what joined one
	before map[string]uint64 // by request: the last place that had joined when it was made
	first  map[string]string // by turn: its first request
	next   map[string]string // by request: the one after it in its turn
}

func newJoinIndex(s *script) joinIndex {
	j := joinIndex{before: map[string]uint64{}, first: map[string]string{}, next: map[string]string{}}
	for _, t := range s.roots {
		j.ends = append(append(j.ends, t.Seq), t.Joined...)
	}
	slices.Sort(j.ends)
	byTurn := map[string][]*recording.Request{}
	for _, q := range s.requests {
		if c, err := costs.ParseCallID(q.ID); err != nil || c.Turn == "" {
			continue
		}
		byTurn[q.Turn] = append(byTurn[q.Turn], q)
		if last, some := s.lastJoinedBefore(q); some {
			j.before[q.ID] = last
		}
	}
	for turn, qs := range byTurn {
		slices.SortFunc(qs, compareOrder)
		j.first[turn] = qs[0].ID
		for i := range qs[1:] {
			j.next[qs[i].ID] = qs[i+1].ID
		}
	}
	return j
}

// lastJoinedBefore returns the last place that had joined the turn of a request when it was
// made: that of a message which it sends. some is false when nothing had.
func (s *script) lastJoinedBefore(q *recording.Request) (last uint64, some bool) {
	t := s.turns[q.Turn]
	if t == nil || len(t.Joined) == 0 {
		return 0, false
	}
	history := s.r.Messages[q.Session]
	sent := map[string]bool{}
	for _, m := range history[:min(q.Messages, len(history))] {
		sent[m.ID] = true
	}
	for _, seq := range t.Joined {
		if sent[transcript.MessageID{Turn: t.ID, Kind: transcript.Joining, Seq: seq}.String()] {
			last, some = max(last, seq), true
		}
	}
	return last, some
}

// compareOrder orders the requests of a turn as they were made.
func compareOrder(a, b *recording.Request) int {
	if c := a.At.Compare(b.At); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// endAfter returns the place before which everything belongs to what begins at seq.
func (j joinIndex) endAfter(seq uint64) uint64 {
	for _, end := range j.ends {
		if end > seq {
			return end
		}
	}
	return math.MaxUint64
}

// workspaces returns what gives each session its workspace. A worker asks for that when it
// has chosen what opens a turn, before it looks what may join: so what had joined before the
// turn's first request is given to it then.
func (s *player) workspaces(ctx context.Context) func(sessionkeys.SessionID) (string, error) {
	return func(id sessionkeys.SessionID) (string, error) {
		if t := s.playedIn(id); t != nil {
			s.feedFor(ctx, s.script.joins.first[t.ID])
		}
		return s.o.Workspace(id)
	}
}

// feedFor gives the worker what had joined when a request was made, and waits
// until it has heard of it.
func (s *player) feedFor(ctx context.Context, request string) {
	seq := s.script.joins.before[request]
	if seq == 0 {
		return
	}
	until := s.script.joins.endAfter(seq)
	for _, e := range s.script.r.Envelopes {
		if e.Seq < until && !e.Pruned {
			s.publish(s.newEnvelope(e))
		}
	}
	stuck := time.NewTimer(patience)
	defer stuck.Stop()
	for !s.log.isCaughtUp() {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return
		case <-stuck.C:
			return // what did not join is a difference, and shows as one
		}
	}
}
