package replay

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/sessionkeys"
	"parley/wake"
)

// progress is how far a replay has come. Its methods may be called concurrently.
type progress struct {
	script  *script
	changed wake.Signal // something was committed; has room for one

	mu           sync.Mutex // guards what follows
	now          time.Time
	done         map[string]bool // ids of messages, calls and turns that were committed
	fed          map[uint64]bool // places in the log that were filled
	ended        map[string]bool // turns whose recording has ended: they stay open
	pending      map[sessionkeys.SessionID]string
	playing      *turn           // that the worker is to take now
	waiting      map[string]bool // calls that wait to be interrupted
	interruptNow *interruption   // where the worker is to end now
	last         *interruption   // where one ended last
}

func newProgress(sc *script) *progress {
	return &progress{
		script: sc, changed: wake.New(), now: sc.begins,
		done: map[string]bool{}, fed: map[uint64]bool{}, ended: map[string]bool{}, pending: map[sessionkeys.SessionID]string{}, waiting: map[string]bool{},
	}
}

// clock is the time of the recording.
func (p *progress) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// advanceClock moves the clock on to t. It never goes back.
func (p *progress) advanceClock(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.After(p.now) {
		p.now = t
	}
}

// pendingCall is the call that the session with that cache key makes now.
func (p *progress) pendingCall(cacheKey string) (id string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for session, call := range p.pending {
		if session.MailboxToken() == cacheKey {
			return call, true
		}
	}
	return "", false
}

// setPending notes which call a session makes now.
func (p *progress) setPending(id sessionkeys.SessionID, call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending[id] = call
}

// setPlaying notes which turn the worker is to take now.
func (p *progress) setPlaying(t *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.playing = t
}

// playedIn returns the turn that the worker takes now, when it is of that session; nil: it is
// not.
func (p *progress) playedIn(id sessionkeys.SessionID) *turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.playing == nil || p.playing.Session != id {
		return nil
	}
	return p.playing
}

// markDone notes that ids are in the store.
func (p *progress) markDone(ids ...string) {
	p.mu.Lock()
	for _, id := range ids {
		p.done[id] = true
	}
	p.checkInterruptions()
	p.mu.Unlock()
	p.changed.Send()
}

// markEnded notes that the recording of a turn has ended: it stays open.
func (p *progress) markEnded(turn string) {
	p.mu.Lock()
	p.ended[turn] = true
	p.mu.Unlock()
	p.changed.Send()
}

func (p *progress) isEnded(turn string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended[turn]
}

func (p *progress) isFed(seq uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fed[seq]
}

func (p *progress) isDone(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done[id]
}

// hasTreeEnded says whether the recording of the turn, or of one below it, has
// ended.
func (p *progress) hasTreeEnded(root *turn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, t := range p.script.turns {
		if p.ended[id] && p.script.rootOf(t) == root {
			return true
		}
	}
	return false
}

// markWaiting notes that a call waits to be interrupted.
func (p *progress) markWaiting(id string) {
	p.mu.Lock()
	p.waiting[id] = true
	p.checkInterruptions()
	p.mu.Unlock()
	p.changed.Send()
}

// checkInterruptions finds out whether the worker has to end now: all calls wait that were
// interrupted together, and all is done that was done before. The caller holds
// mu.
func (p *progress) checkInterruptions() {
	for _, b := range p.script.interruptions {
		all := func(ids []string, in map[string]bool) bool {
			return !slices.ContainsFunc(ids, func(id string) bool { return !in[id] })
		}
		if all(b.calls, p.waiting) && all(b.before, p.done) {
			p.interruptNow = b
			clear(p.waiting)
			return
		}
	}
}

// takeInterruption is where the worker has to end now, once.
func (p *progress) takeInterruption() *interruption {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.interruptNow
	if b != nil {
		p.last, p.interruptNow = b, nil
	}
	return b
}

func (p *progress) lastInterruption() *interruption {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// stuckAt says what the replay waits for.
func (p *progress) stuckAt() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.script.roots {
		if !p.done[t.ID] {
			return fmt.Sprintf("no progress beyond turn %s", t.ID)
		}
	}
	return "no end reached"
}
