package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/channels"
	"parley/gateway/conversations"
	"parley/gateway/messages"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/records"
	"parley/gateway/roles"
	"parley/sessionkeys"
)

// Account is what is configured of who may talk to a bot account.
type Account struct {
	Access policy.Access
	// CheckPerson reports whether an id can be a person's on the network; nil: any can.
	CheckPerson func(id string) error
}

// maxShown is how many people an answer names.
const maxShown = 50

// answerAccess answers /access of an owner: it says who may talk to the bot account, or lets somebody
// in or shuts them out there. Nobody gets more by it than a user has, and owners are left to the
// operator, so that an account in wrong hands makes no other one and locks none out.
// (docs/decisions/0089)
func (d *Handler) answerAccess(ctx context.Context, by messages.Caller, sign, args string) (string, error) {
	account, known := d.Accounts[by.Channel]
	switch {
	case !by.Role.May(roles.Rule) || d.People == nil || !known:
		return "You may not decide here who may talk to me.", nil
	case by.From.Kind != sessionkeys.DM:
		return "Please send me that in a direct message.", nil
	}
	words := strings.Fields(args)
	if len(words) == 0 {
		return d.listAccess(ctx, by.Channel, account.Access)
	}
	usage := fmt.Sprintf("%[1]saccess says who may talk to me; “%[1]saccess allow ID”, “%[1]saccess allow ID guest” and “%[1]saccess deny ID” decide.", sign)
	if len(words) < 2 || len(words) > 3 {
		return usage, nil
	}
	id, role := words[1], roles.None
	if err := errors.Join(people.CheckID(id), policy.CheckID(id, account.CheckPerson)); err != nil {
		return fmt.Sprintf("%s is not the id of a person here. I tell people their id when I do not know them.", conversations.Code(id)), nil //nolint:nilerr // what is wrong with it is said
	}
	if len(words) == 3 {
		role = roles.Role(strings.ToLower(words[2]))
		if role != roles.Guest && role != roles.User {
			return "By a command I make people guests or users only; other roles the operator gives.", nil
		}
	}
	meant, err := d.findMeant(ctx, by.Channel, id)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(meant, func(s subject) bool { return !account.Access.RoleOf(s.Sender, s.standing).IsBelow(by.Role) }) {
		return fmt.Sprintf("%s is an owner, about whom only the operator decides.", conversations.Code(id)), nil
	}
	switch verb := strings.ToLower(words[0]); {
	case verb == "allow" && slices.ContainsFunc(meant, func(s subject) bool { return s.standing.Ruling.ShutsOut() }):
		final, err := d.isFinal(ctx, by.Channel, id)
		switch {
		case err != nil:
			return "", err
		case final:
			return fmt.Sprintf("The operator has shut out %s, and only the operator lets them in again.", conversations.Code(id)), nil
		}
		return d.allow(ctx, by, account.Access, id, meant, role)
	case verb == "allow":
		return d.allow(ctx, by, account.Access, id, meant, role)
	case verb == "deny" && role == roles.None:
		return d.deny(ctx, by, id)
	}
	return usage, nil
}

// subject is a person whom an id may stand for, with the decision about them.
type subject struct {
	channels.Sender
	standing policy.Standing
}

// findMeant returns whom an id means: those of whom a decision says that it is one of their two ids, or
// else somebody of whom nothing more is known.
func (d *Handler) findMeant(ctx context.Context, channel, id string) ([]subject, error) {
	decided, err := d.People.Decisions(ctx, channel)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return nil, err // it says which
	}
	var meant []subject
	for _, p := range decided {
		if p.Alias != "" && (p.ID == id || p.Alias == id) {
			meant = append(meant, subject{Sender: channels.Sender{ID: p.ID, Alias: p.Alias}})
		}
	}
	if len(meant) == 0 {
		meant = []subject{{Sender: channels.Sender{ID: id}}}
	}
	for i, s := range meant {
		if meant[i].standing, err = d.People.Standing(ctx, channel, s.Sender); err != nil {
			return nil, err // it says which
		}
	}
	return meant, nil
}

// isFinal reports whether somebody was shut out by the operator, or by a record that cannot be read.
func (d *Handler) isFinal(ctx context.Context, channel, id string) (bool, error) {
	decided, err := d.People.Decisions(ctx, channel)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return true, err // it says which
	}
	about := slices.DeleteFunc(decided, func(p people.Person) bool { return p.ID != id && p.Alias != id })
	return len(about) == 0 || slices.ContainsFunc(about, func(p people.Person) bool { return p.Ruling == policy.ShutOut && p.By.ID == "" }), nil
}

// allow lets in whom an id means, with a role; None: as a user. To take a decision back must not give
// more than that: it may be by one that they are not what the configuration says.
func (d *Handler) allow(ctx context.Context, by messages.Caller, a policy.Access, id string, meant []subject, role roles.Role) (string, error) {
	asListed := role == roles.None && !slices.ContainsFunc(meant, func(s subject) bool {
		listed := a.RoleOf(s.Sender, policy.Standing{})
		return s.standing.Role != roles.None || s.standing.Ruling == policy.ShutOut || listed == roles.None || roles.User.IsBelow(listed)
	})
	owner := people.By{ID: by.Sender, Name: by.Name}
	var err error
	if asListed {
		_, err = d.People.Reset(ctx, by.Channel, id, owner)
		role = a.RoleOf(meant[0].Sender, policy.Standing{})
	} else {
		role = cmp.Or(role, roles.User)
		_, err = d.People.Allow(ctx, by.Channel, id, role, owner)
	}
	if text, err := describeConflict(err); text != "" || err != nil {
		return text, err
	}
	d.logAccess("person let in by an owner", by, id, role)
	return fmt.Sprintf("Done: I answer %s, who is a %s here.", conversations.Code(id), role), nil
}

func (d *Handler) deny(ctx context.Context, by messages.Caller, id string) (string, error) {
	_, err := d.People.Deny(ctx, by.Channel, id, people.By{ID: by.Sender, Name: by.Name})
	if text, err := describeConflict(err); text != "" || err != nil {
		return text, err
	}
	d.logAccess("person shut out by an owner", by, id, roles.None)
	return fmt.Sprintf("Done: I do not answer %s any more.", conversations.Code(id)), nil
}

func (d *Handler) logAccess(event string, by messages.Caller, id string, role roles.Role) {
	if d.Log != nil {
		d.Log.Info(event, "channel", by.Channel, "person", id, "role", role, "by", by.Sender)
	}
}

// describeConflict says to people what of a failed decision concerns them.
func describeConflict(err error) (string, error) {
	switch {
	case errors.Is(err, people.ErrChanged):
		return "Somebody else decided about that person just now, so I did nothing.", nil
	case errors.Is(err, people.ErrShutOut):
		return "The operator has shut out that person, and only the operator lets them in again.", nil
	}
	return "", err
}

// listAccess says who may talk to a bot account, and who is shut out.
func (d *Handler) listAccess(ctx context.Context, channel string, a policy.Access) (string, error) {
	decided, err := d.People.Decisions(ctx, channel)
	unreadable := errors.Is(err, records.ErrUnreadable)
	if err != nil && !unreadable {
		return "", err // it says which
	}
	said := map[string]string{}
	for _, id := range a.People {
		said[id] = string(a.ListedRole(id))
	}
	for _, p := range decided {
		said[p.ID] = "shut out"
		if p.Ruling == policy.LetIn {
			said[p.ID] = string(a.RoleOf(channels.Sender{ID: p.ID, Alias: p.Alias}, policy.Standing{Ruling: p.Ruling, Role: p.Role}))
		}
	}
	var lines []string
	if a.Everyone {
		lines = append(lines, "Everybody may talk to me.")
	}
	for id, what := range said {
		lines = append(lines, conversations.Code(id)+": "+what)
	}
	slices.Sort(lines)
	if more := len(lines) - maxShown; more > 0 {
		lines = append(lines[:maxShown], fmt.Sprintf("and %d more: parley access ls names them", more))
	}
	if unreadable {
		lines = append(lines, "Some decisions cannot be read, so their people are shut out: parley access ls names them.")
	}
	return strings.Join(lines, "\n"), nil
}
