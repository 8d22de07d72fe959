package intake

import (
	"parley/channels"
	"parley/gateway/policy"
)

// Reauthorize decides whether the sender of m, who was let in once, still may
// cause anything: a list may have become shorter since. By a channel that is not
// among the sources another process let m in, and that one's list counts.
func Reauthorize(sources map[string]Source, m channels.Message, chat ...string) policy.Verdict {
	src, ok := sources[m.Channel]
	if !ok {
		return policy.Verdict{Allowed: true}
	}
	return src.Access.Authorize(m, chat...)
}
