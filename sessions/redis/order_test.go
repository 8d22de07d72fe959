package redis_test

import (
	"slices"
	"strconv"
	"testing"

	"parley/sessions"
)

// notice queues an answer and returns the highest order of all that wait.
func (p *pair) notice(id string) (highest uint64) {
	p.t.Helper()
	_, err := p.s.Notice(p.t.Context(), sessions.InboxID{Channel: "telegram", Account: "bot", Chat: "7", Event: id},
		[]sessions.Outgoing{{ID: id, Channel: "tg", Text: id, At: noon}}, noon)
	p.ok(err)
	ds, err := p.s.Pending(p.t.Context(), "tg", 0, 100)
	p.ok(err)
	for _, d := range ds {
		highest = max(highest, d.Order)
	}
	return highest
}

// wantBehind compares the answers that wait behind the last one that was seen.
func (p *pair) wantBehind(seen uint64, want ...string) {
	p.t.Helper()
	ds, err := p.s.Pending(p.t.Context(), "tg", seen, 100)
	p.ok(err)
	var found []string
	for _, d := range ds {
		found = append(found, d.ID)
	}
	if !slices.Equal(found, want) {
		p.t.Errorf("behind the last that was seen are %q, not %q", found, want)
	}
}

// Who sends looks behind the last answer that it saw, and would otherwise find one
// that is queued after a failover later than the one that follows it. (F8)
func TestAnAnswerThatIsQueuedAfterAFailoverComesBehindAllThatWereEverQueued(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log  *facts
		want []string
	}{
		"with a log of facts": {&facts{}, []string{"lost", "lost too", "after"}},
		"without one":         {nil, []string{"after"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, c.log)
			p.notice("kept")
			p.cutOff()
			p.notice("lost")
			seen := p.notice("lost too")
			p.failOver()
			p.notice("after")
			p.wantBehind(seen, c.want...)
		})
	}
}

// A replica that was cut off before the primary began an era does not know of that one: it is
// not begun once more, or what was queued in it would seem to be sent already.
func TestAnEraThatAReplicaDoesNotKnowIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log   *facts
		other bool // another process takes over, which was not there in that era
		want  []string
	}{
		"a process that was there": {&facts{}, false, []string{"lost", "lost too", "after"}},
		"a process that was not":   {&facts{}, true, []string{"lost", "lost too", "after"}},
		"without a log of facts":   {nil, false, []string{"after"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, c.log)
			p.notice("kept")
			p.cutOff()
			p.primary.Restart()
			p.notice("lost")
			seen := p.notice("lost too")
			p.failOver()
			if c.other {
				p.store = p.open(t)
				p.fixture = fixture{t, p.store}
			}
			p.notice("after")
			p.wantBehind(seen, c.want...)
		})
	}
}

// A replica that was cut off while an era was begun, when the fact of that era was passed over
// and the era was not ready yet, knows the era's number.
func TestAnEraThatAReplicaSawBegunIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	p.notice("kept")
	p.primary.Restart()
	isCut := false
	p.log.read = func() {
		last, err := p.log.Last(ctx)
		p.ok(err)
		meta := raw(t, p.primary).HMGet(ctx, "parley:meta", "era", "facts").Val()
		if !isCut && slices.Equal(meta, []any{"none", strconv.FormatUint(last, 10)}) {
			isCut = true
			p.cutOff()
		}
	}
	p.ok(p.s.Probe(ctx)) // takes the database over
	p.log.read = nil
	p.notice("lost")
	seen := p.notice("lost too")
	p.failOver()
	c := raw(t, p.replica)
	if era := c.HGet(ctx, "parley:meta", "era").Val(); era != "none" {
		t.Fatalf("the era of the replica is %q", era)
	}
	p.ok(c.Del(ctx, "parley:takeover").Err()) // as it ends by itself
	p.store = p.open(t)                       // another process, which was not there in that era
	p.fixture = fixture{t, p.store}
	p.notice("after")
	p.wantBehind(seen, "lost", "lost too", "after")
}
