package signal

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/channels/internal/receive"
	"parley/pause"
)

// groupRow is a part of what signal-cli says of a group.
type groupRow struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"`
	Member  bool        `json:"isMember"`
	Members []memberRow `json:"members"`
	Pending []memberRow `json:"pendingMembers"`
}

type memberRow struct {
	Number string `json:"number"`
	UUID   string `json:"uuid"`
}

// isInvited reports whether we are a pending member. Who adds us to a group without holding
// our profile key, which comes with the first message that we send to them, makes us
// one; nothing that is said there reaches us before we accept.
func (g groupRow) isInvited(me self) bool {
	return !g.Member && slices.ContainsFunc(g.Pending, func(m memberRow) bool { return me.matches(m.UUID, m.Number) })
}

// queryGroups asks signal-cli for groups, all of them if none is named.
func (c *client) queryGroups(ctx context.Context, ids ...string) ([]groupRow, error) {
	p := map[string]any{}
	if len(ids) > 0 {
		p["groupId"] = ids
	}
	var all []groupRow
	if err := c.query(ctx, "listGroups", p, &all); err != nil {
		return nil, err
	}
	return all, nil
}

// maxRefusals is how often an invitation is tried to be accepted while signal-cli
// refuses, before the next change of a group.
const maxRefusals = 8

// acceptInvitations accepts invitations to the groups that the bot serves, at first and
// whenever a group changed, until ctx ends.
func (r *receiver) acceptInvitations(ctx context.Context) {
	if len(r.o.Groups) == 0 {
		return
	}
	for r.invitations.Send(); ; {
		select {
		case <-ctx.Done():
			return
		case <-r.invitations:
		}
		told, refusals := "", 0
		for pauses := receive.Pauses(r.o.Common); ctx.Err() == nil && refusals < maxRefusals; pauses.Wait(ctx) {
			err := r.joinGroups(ctx)
			if err == nil {
				break
			}
			var e *channels.Error
			switch {
			case ctx.Err() != nil || !errors.As(err, &e):
				refusals++
			case e.Kind == channels.RateLimit:
				_ = pause.For(ctx, e.RetryAfter)
			case e.Kind == channels.Unsent: // signal-cli does not run yet
				continue
			case e.Kind != channels.Ambiguous:
				refusals++
			}
			if ctx.Err() == nil && told != err.Error() {
				told = err.Error()
				r.o.Log.Warn("group invitation not accepted yet: messages of that group in access.groups do not arrive", "error", err)
			}
		}
	}
}

// joinGroups accepts the invitations that there are.
func (r *receiver) joinGroups(ctx context.Context) error {
	groups, err := r.queryGroups(ctx, r.o.Groups...)
	if err != nil {
		return err
	}
	var errs []error
	for _, g := range groups {
		if !g.isInvited(r.me) || !slices.Contains(r.o.Groups, g.ID) {
			continue
		}
		const op = "updateGroup"
		if _, err := r.call(ctx, op, r.params(map[string]any{"groupId": g.ID})); err != nil {
			errs = append(errs, r.channelError(op, err))
			continue
		}
		r.o.Log.Info("group invitation accepted", "group", g.ID, "name", cmp.Or(markup.Name(g.Name), "none"))
	}
	return errors.Join(errs...)
}
