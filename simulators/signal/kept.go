package signal

import (
	"encoding/json"
	"fmt"
	"slices"
)

// keptEvent is an event that a client may ask for again, by the id of the one before.
type keptEvent struct {
	id    string
	entry json.RawMessage
}

// maxKept is how many events signal-cli keeps in memory since 0.14.6, whether anybody
// listens or not (man/signal-cli-jsonrpc.5).
const maxKept = 1000

// keep gives an event its id, "" before 0.14.6, and keeps it. The caller holds showing.
func (m *manager) keep(entry json.RawMessage) string {
	if isOlder(m.d.hello.Version, 0, 14, 6) {
		return ""
	}
	m.d.mu.Lock()
	m.d.lastEvent++
	id := fmt.Sprintf("%d-%d", m.d.hello.Process, m.d.lastEvent) // another daemon does not know it
	m.d.mu.Unlock()
	if m.kept = append(m.kept, keptEvent{id, entry}); len(m.kept) > maxKept {
		m.kept = m.kept[1:]
	}
	return id
}

// follow begins to tell h; first, when it names the last event that it has, what came
// after that, or all that is kept if that is not known any more.
func (m *manager) follow(h *handler, last string) {
	m.showing.Lock()
	defer m.showing.Unlock()
	if last != "" {
		after := 1 + slices.IndexFunc(m.kept, func(e keptEvent) bool { return e.id == last })
		for _, e := range m.kept[after:] {
			if h.event(e.id, e.entry) != nil {
				break // it finds that out itself
			}
		}
	}
	m.add(h, false)
}
