package redis

import (
	"context"
	"errors"
	"fmt"

	"parley/sessionkeys"
	"parley/sessions"
)

// Spawn implements [sessions.Turns].
func (s *Store) Spawn(ctx context.Context, f sessions.Fence, child sessions.Session) (sessions.Session, bool, error) {
	c, made, err := s.spawn(ctx, f, child)
	if err != nil {
		return sessions.Session{}, false, fmt.Errorf("spawn session %s: %w", child.ID, err)
	}
	return c, made, nil
}

func (s *Store) spawn(ctx context.Context, f sessions.Fence, c sessions.Session) (sessions.Session, bool, error) {
	if c.ID == "" || c.Key.IsZero() || c.Parent == "" {
		return sessions.Session{}, false, errors.New("it has no id, no key or no parent")
	}
	a, err := s.record(ctx, "spawn", &f, struct {
		Fence    fence                 `json:"fence"`
		ID       sessionkeys.SessionID `json:"id"`
		Token    string                `json:"token"`
		Key      sessionkeys.Key       `json:"key"`
		Parent   sessionkeys.SessionID `json:"parent"`
		Deepest  int                   `json:"deepest"`
		ToolCall string                `json:"tool_call"`
		Role     string                `json:"role"`
		Policy   string                `json:"policy"`
		Title    string                `json:"title"`
		Created  int64                 `json:"created"`
	}{
		Fence: of(f), ID: c.ID, Token: c.ID.MailboxToken(), Key: c.Key, Parent: c.Parent, Deepest: sessionkeys.MaxDepth,
		ToolCall: c.ToolCallID, Role: c.Role, Policy: string(c.Policy), Title: c.Title, Created: micros(c.CreatedAt),
	})
	if err != nil {
		return sessions.Session{}, false, err
	}
	made, err := sessionOf(a.row(1))
	return made, a.yes(0), err
}
