package intake

import (
	"context"
	"fmt"

	"parley/channels"
	"parley/gateway/policy"
)

// Reauthorize decides whether the sender of m, who was let in once, still may
// cause anything: a list may have become shorter since, or they were shut out. By a channel that is not
// among the sources another process let m in, and that one's list counts.
func Reauthorize(ctx context.Context, p People, sources map[string]Source, m channels.Message, chat ...string) (policy.Verdict, error) {
	src, ok := sources[m.Channel]
	if !ok {
		return policy.Verdict{Allowed: true}, nil
	}
	r, err := ruling(ctx, p, m.Channel, m.Sender)
	if err != nil {
		return policy.Verdict{}, err
	}
	return src.Access.Authorize(m, r, chat...), nil
}

// ruling returns what p knows of somebody.
func ruling(ctx context.Context, p People, channel string, s channels.Sender) (policy.Ruling, error) {
	if p == nil {
		return policy.NoRuling, nil
	}
	r, err := p.Ruling(ctx, channel, s)
	if err != nil {
		return r, fmt.Errorf("look up what is decided about a person: %w", err)
	}
	return r, nil
}
