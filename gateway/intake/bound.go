package intake

import (
	"context"
	"errors"
	"slices"

	"parley/sessionkeys"
	"parley/sessions"
)

// agents returns the agents that may have a conversation where the event came from: the
// one that answers it first, and then all others, to which the chat may have been bound
// before the gateway was started with its present bindings.
func (e *event) agents() []string {
	own := e.agent()
	others := slices.DeleteFunc(slices.Clone(e.settings.Agents), func(name string) bool { return name == own })
	return append([]string{own}, others...)
}

// findMailbox finds the mailbox that an agent has where the event came from.
func findMailbox(ctx context.Context, s Store, agent string, e *event) (m sessions.Mailbox, found bool, err error) {
	key, err := sessionkeys.For(agent, e.Address)
	if err != nil {
		return m, false, nil //nolint:nilerr // findKey says so
	}
	m, err = s.Mailbox(ctx, key.Token())
	if errors.Is(err, sessions.ErrNotFound) {
		return m, false, nil
	}
	return m, err == nil, err
}
