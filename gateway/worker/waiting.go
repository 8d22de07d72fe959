package worker

import (
	"cmp"

	"parley/gateway/policy"
)

// attempts is how often a message is taken up before it is given up.
func (a *owner) attempts() int { return cmp.Or(a.settings.Attempts, a.w.Config.Attempts) }

// The most that one turn is made of, besides albums and pastes.
const maxCollected = 32

// rules returns what holds for messages that came by a channel.
func (s *Settings) rules(channel string) policy.Waiting { return s.Waiting[channel].Defaults() }

// maySteer reports whether a running turn may have use for what is said meanwhile.
func (w *Worker) maySteer() bool {
	waiting := w.Present().Waiting
	for _, c := range waiting {
		if c.Defaults().MayJoin() {
			return true
		}
	}
	return len(waiting) == 0
}
