package worker

import "parley/sessions"

// scopes returns what a turn of a mailbox is counted for besides its session's
// tree, with what each may spend. What its sub-agents spend counts there too.
func (w *Worker) scopes(token string, t sessions.Turn) []sessions.Scope {
	return w.Limits.Scopes(token, t)
}
