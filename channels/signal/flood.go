package signal

import (
	"sync"
	"time"

	"parley/channels"
)

// floods remembers what Signal answered 429 to, in whole or in part: how often in a
// row, since it seldom says for how long, and which messages those were. Such a message
// may have arrived: signal-cli fails in the same words when only the copy for the
// account's other devices was too much (AsamK/signal-cli #2071). So it is marked when it
// is sent again. A new process has forgotten that.
type floods struct {
	mu     sync.Mutex // guards what is below
	streak int
	ids    map[string]bool // by the reply's ID
	order  []string
}

const (
	maxFlooded = 512
	maxFloods  = 5 // doublings of the wait
)

// nextWait counts one more flood and says how long to wait, first being the shortest.
func (f *floods) nextWait(first time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := first << min(f.streak, maxFloods)
	f.streak++
	return d
}

// note remembers that a reply may have arrived.
func (f *floods) note(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id == "" || f.ids[id] {
		return
	}
	if f.ids == nil {
		f.ids = map[string]bool{}
	}
	f.ids[id] = true
	if f.order = append(f.order, id); len(f.order) > maxFlooded {
		delete(f.ids, f.order[0])
		f.order = f.order[1:]
	}
}

// reset notes that something was sent.
func (f *floods) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streak = 0
}

// mayBeRepeat reports whether a reply may have arrived already.
func (f *floods) mayBeRepeat(r channels.Reply) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return r.Repeat || f.ids[r.ID]
}

// isFlooded reports whether Signal's last answer was one.
func (f *floods) isFlooded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.streak > 0
}
