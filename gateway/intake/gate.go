package intake

import (
	"context"
	"slices"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/gateway/policy"
	"parley/sessionkeys"
)

// gate lets in the events of people who may talk to the bot, and judges whose words they carry.
type gate struct {
	*endings
	people    People // see [Intake]
	strangers *strangers
}

// findStanding looks up what was decided about the sender while the gateway runs.
func (g *gate) findStanding(ctx context.Context, e *event) (_ outcome, err error) {
	if g.people != nil {
		e.ahead = g.people.ReadAhead(ctx, e.Channel, e.Sender, chatID(e.Address))
	}
	e.standing, err = standing(e.ahead.In(ctx), g.people, e.Channel, e.Sender)
	return pass, err
}

// authorizeUnreadable refuses what no adapter could decode but for its sender, who may
// not talk to the bot: nothing is kept of it. What names no sender may be anybody's.
func (g *gate) authorizeUnreadable(_ context.Context, e *event) (outcome, error) {
	if e.Sender.ID == "" {
		return pass, nil
	}
	return g.admit(e, e.source.Access.AuthorizePerson(e.Sender, sessionkeys.DM, e.standing.Ruling)), nil // it may be one
}

// refuseClaims ends an event that pretends to be of a job, or a decision that was taken elsewhere:
// none comes from a network.
func (g *gate) refuseClaims(_ context.Context, e *event) (outcome, error) {
	claims := messages.Claims(e.Message)
	if claims == "" {
		return pass, nil
	}
	return g.admit(e, policy.Verdict{Reason: outcomes.NotAllowed, Hint: "the event bears " + claims + ", which no network has"}), nil
}

// authorizeChange refuses what the network says of chats where no person may talk to
// the bot, whatever its cause: of them nothing is kept.
func (g *gate) authorizeChange(ctx context.Context, e *event) (outcome, error) {
	access, ids := e.source.Access, e.chat.IDs
	if e.Kind == channels.Migrated {
		ids = append(slices.Clip(ids), e.MovedTo)
	}
	v := policy.Verdict{Allowed: true}
	switch {
	case e.Address.Kind == sessionkeys.DM:
		with := channels.Sender{ID: e.Address.Peer}
		d, err := standing(ctx, g.people, e.Channel, with)
		if err != nil {
			return stop, err
		}
		if !access.AuthorizePerson(with, sessionkeys.DM, d.Ruling).Allowed {
			v = policy.Verdict{Reason: outcomes.NotAllowed, Hint: "the chat is with nobody who may talk to the bot"}
		}
	case !access.ServesChat(e.Address, ids...):
		v = policy.Verdict{Reason: outcomes.NotAllowed, Hint: "the group is not in access.groups"}
	}
	return g.admit(e, v), nil
}

// authorizeSender refuses what comes from a sender who may not talk to the bot.
func (g *gate) authorizeSender(ctx context.Context, e *event) (outcome, error) {
	o := g.admit(e, e.source.Access.Authorize(e.Message, e.standing.Ruling, e.chat.IDs...))
	if o == stop && !e.standing.Ruling.ShutsOut() {
		g.turnAway(ctx, e)
	}
	return o, nil
}
