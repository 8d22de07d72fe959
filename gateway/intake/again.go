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
	d, err := standing(ctx, p, m.Channel, m.Sender)
	if err != nil {
		return policy.Verdict{}, err
	}
	return src.Access.Authorize(m, d.Ruling, chat...), nil
}

// standing returns what p knows of somebody.
func standing(ctx context.Context, p People, channel string, s channels.Sender) (policy.Standing, error) {
	if p == nil {
		return policy.Standing{}, nil
	}
	d, err := p.Standing(ctx, channel, s)
	if err != nil {
		return d, fmt.Errorf("look up what is decided about a person: %w", err)
	}
	return d, nil
}
