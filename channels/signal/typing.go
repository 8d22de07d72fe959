package signal

import (
	"sync"
	"time"
)

// typingShown is how long Signal shows that somebody writes, and typingRenewed is how
// old a sign may get before it is worth another one. In a group each is a message to
// every member, and counts for Signal's limits as one: who shows it every few seconds,
// as other networks want it, runs into them.
const (
	typingShown   = 15 * time.Second
	typingRenewed = 10 * time.Second
)

// typingSigns remembers when signs of typing were sent.
type typingSigns struct {
	mu sync.Mutex           // guards at
	at map[string]time.Time // by chat; those that are shown no more are forgotten
}

// isFresh reports whether a chat still shows the last one for long enough.
func (s *typingSigns) isFresh(chat string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.at[chat]
	age := now.Sub(at)
	return ok && age >= 0 && age < typingRenewed
}

// noteSent notes a sign.
func (s *typingSigns) noteSent(chat string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, at := range s.at {
		if now.Sub(at) >= typingShown {
			delete(s.at, c)
		}
	}
	if s.at == nil {
		s.at = map[string]time.Time{}
	}
	s.at[chat] = now
}

// forget notes that a chat shows none, since a message came there.
func (s *typingSigns) forget(chat string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.at, chat)
}
