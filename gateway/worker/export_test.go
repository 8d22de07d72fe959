package worker

// Heard is the highest message that the mailbox's actor here knows of; 0: there
// is no actor.
func (w *Worker) Heard(token string) uint64 {
	w.actors.mu.Lock()
	defer w.actors.mu.Unlock()
	if e := w.actors.byToken[token]; e != nil && e.actor != nil {
		return e.actor.lastSeen.Load()
	}
	return 0
}
