package tools

import "time"

// Timed is what a tool implements that needs another time than the default:
// one that waits for a sub-agent, for example. Timeout is asked for each call;
// 0 means the default, less than 0 that only the turn limits it.
type Timed interface {
	Timeout(c Call) time.Duration
}
