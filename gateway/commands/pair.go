package commands

import (
	"context"
	"errors"
	"fmt"

	"parley/channels"
	"parley/gateway/conversations"
	"parley/gateway/messages"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/roles"
	"parley/sessionkeys"
)

// People knows what was decided about people, and decides.
type People interface {
	// Approve lets in who was given that code on a channel; event names what by said. See
	// [people.Book.Approve].
	Approve(ctx context.Context, channel, code string, by people.By, event string) (people.Person, error)
	Decisions(ctx context.Context, channel string) ([]people.Person, error)
	Standing(ctx context.Context, channel string, s channels.Sender) (policy.Standing, error)
	Allow(ctx context.Context, channel, id string, role roles.Role, by people.By) (people.Person, error)
	Deny(ctx context.Context, channel, id string, by people.By) (people.Person, error)
	Reset(ctx context.Context, channel, id string, by people.By) (bool, error)
}

// answerPair lets in who was given the code that an approver has typed, and says so. Whoever is
// none learns nothing of any code.
func (d *Handler) answerPair(ctx context.Context, by messages.Caller, sign, typed string) (string, error) {
	switch {
	case !by.Role.May(roles.Pair) || d.People == nil:
		return "You may not let people in here.", nil
	case by.From.Kind != sessionkeys.DM:
		return "Please send me that in a direct message.", nil
	}
	code := people.ReadCode(typed)
	if code == "" {
		return fmt.Sprintf("Which one? Behind %spair stands the code of eight characters that I gave to whom I did not know.", sign), nil
	}
	p, err := d.People.Approve(ctx, by.Channel, code, people.By{ID: by.Sender, Name: by.Name}, by.Event)
	switch {
	case errors.Is(err, people.ErrNoCode):
		return fmt.Sprintf("Nobody waits with the code %s: it was used, has expired, or was mistyped.", code), nil
	case errors.Is(err, people.ErrTries):
		return "Those were too many wrong codes. Please try again in ten minutes.", nil
	case errors.Is(err, people.ErrShutOut):
		return "The person of that code is shut out, so it does not let them in.", nil
	case errors.Is(err, people.ErrChanged):
		return "Somebody else decided about the person of that code just now, so I did nothing.", nil
	case err != nil:
		return "", err // it says which
	}
	if d.Log != nil {
		d.Log.Info("person let in by their code", "channel", p.Channel, "person", p.ID, "by", by.Sender)
	}
	return fmt.Sprintf("Done: I answer %s in direct messages from now on.", conversations.Code(p.ID)), nil
}
