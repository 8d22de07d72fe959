package worker

import (
	"parley/gateway/policy"
)

// The most that one turn is made of, besides albums and pastes.
const maxCollected = 32

// rules returns what holds for messages that came by a channel.
func (w *Worker) rules(channel string) policy.Waiting { return w.Waiting[channel].Defaults() }

// maySteer reports whether a running turn may have use for what is said meanwhile.
func (w *Worker) maySteer() bool {
	for _, c := range w.Waiting {
		if c.Defaults().MayJoin() {
			return true
		}
	}
	return len(w.Waiting) == 0
}
