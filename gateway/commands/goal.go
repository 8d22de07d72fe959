package commands

import (
	"context"

	"parley/gateway/goals"
	"parley/sessions"
)

// goal returns what the conversation is to reach.
func (d *Handler) goal(ctx context.Context, m sessions.Mailbox) (goals.Goal, error) {
	if !d.Goals {
		return goals.Goal{}, nil
	}
	g, err := goals.Read(ctx, d.Store, m.Session, d.Now())
	return g, d.passUnreadable(err)
}

// answerGoal answers /goal without words behind it.
func (d *Handler) answerGoal(ctx context.Context, token, sign string) (string, error) {
	how := " " + sign + "goal with words behind it sets one."
	if !d.Goals {
		return "Goals are switched off here.", nil
	}
	m, _, found, err := d.findConversation(ctx, token)
	if err != nil {
		return "", err
	}
	if !found {
		return goals.Goal{}.String() + how, nil
	}
	g, err := d.goal(ctx, m)
	switch {
	case err != nil:
		return "", err
	case g.State != goals.Idle:
		return g.String(), nil
	}
	return g.String() + how, nil
}
