package admin

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/channels"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/records"
	"parley/gateway/roles"
)

// Account is what is configured of who may talk to a bot account.
type Account struct {
	Access policy.Access
	// CheckPerson reports whether an id can be a person's on the network; nil: any can.
	CheckPerson func(id string) error
}

// Source is what says that somebody may talk to the bot, or may not.
type Source string

// Sources.
const (
	FromConfiguration Source = "configuration"
	FromRecord        Source = "record" // made by a command, or by a code
)

// AccessEntry is what one source says of somebody on one bot account.
type AccessEntry struct {
	Channel string        `json:"channel"`
	Person  string        `json:"person,omitempty"` // the network's stable id; empty: everybody
	Alias   string        `json:"alias,omitempty"`  // another id of theirs
	Ruling  policy.Ruling `json:"ruling"`           // allowed or denied
	Source  Source        `json:"source"`
	// Overruled: they are denied by a record, so that what the configuration says does not hold.
	Overruled bool `json:"overruled,omitempty"`
	// Role is what they are there; none: they are denied, or the configuration says it.
	Role roles.Role `json:"role,omitempty"`
	By   string     `json:"by,omitempty"`   // who decided, as others know them
	Code string     `json:"code,omitempty"` // by which they had asked
	At   time.Time  `json:"at,omitzero"`
}

// AccessPage is everybody who is named, by channel and id.
type AccessPage struct {
	Now      time.Time     `json:"now"`
	Channels []string      `json:"channels"` // all bot accounts
	Entries  []AccessEntry `json:"entries"`
	// Problem names records that cannot be read, whose people are shut out.
	Problem string `json:"problem,omitempty"`
}

// passUnreadable returns err, unless it is of records that cannot be read: those are named for the
// operator.
func passUnreadable(err error) (problem string, _ error) {
	if errors.Is(err, records.ErrUnreadable) {
		return err.Error(), nil
	}
	return "", err
}

func (desk peopleDesk) access(r *http.Request) (any, error) {
	decided, err := desk.o.People.Decisions(r.Context(), "")
	page := AccessPage{Now: desk.o.Now().UTC(), Channels: []string{}, Entries: []AccessEntry{}}
	if page.Problem, err = passUnreadable(err); err != nil {
		return nil, err
	}
	overruled := map[[2]string]bool{}
	for _, p := range decided {
		if p.Ruling == policy.ShutOut || p.Role != roles.None {
			overruled[[2]string{p.Channel, p.ID}], overruled[[2]string{p.Channel, p.Alias}] = true, true
		}
	}
	accounts := desk.o.Accounts()
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		page.Channels = append(page.Channels, name)
		a := accounts[name].Access
		listed := a.People
		if a.Everyone {
			listed = append([]string{""}, listed...)
		}
		for _, id := range listed {
			page.Entries = append(page.Entries, AccessEntry{
				Channel: name, Person: id, Ruling: policy.LetIn, Source: FromConfiguration,
				Overruled: id != "" && overruled[[2]string{name, id}], Role: a.ListedRole(id),
			})
		}
	}
	for _, p := range decided {
		e := describePerson(p)
		if a := accounts[p.Channel].Access; p.Ruling == policy.LetIn {
			e.Role = a.RoleOf(channels.Sender{ID: p.ID, Alias: p.Alias}, policy.Standing{Ruling: p.Ruling, Role: p.Role})
		}
		page.Entries = append(page.Entries, e)
	}
	slices.SortStableFunc(page.Entries, func(a, b AccessEntry) int {
		return strings.Compare(a.Channel+"\x00"+a.Person, b.Channel+"\x00"+b.Person)
	})
	return page, nil
}

func describePerson(p people.Person) AccessEntry {
	return AccessEntry{Channel: p.Channel, Person: p.ID, Alias: p.Alias, Ruling: p.Ruling, Role: p.Role, Source: FromRecord, By: p.By.String(), Code: p.By.Code, At: p.At}
}

// findPerson returns whom a question is about, and what is configured of their channel.
func (desk peopleDesk) findPerson(r *http.Request) (channel, id string, a Account, err error) {
	channel, id = r.URL.Query().Get("channel"), r.URL.Query().Get("person")
	accounts := desk.o.Accounts()
	a, ok := accounts[channel]
	if !ok {
		return channel, id, a, newError(NotFound, "no bot account %q in the configuration; there are: %s", channel, strings.Join(slices.Sorted(maps.Keys(accounts)), ", "))
	}
	err = errors.Join(people.CheckID(id), policy.CheckID(id, a.CheckPerson))
	if err != nil {
		return channel, id, a, newError(Invalid, "the id of a person on %s: %v", channel, err)
	}
	return channel, id, a, nil
}

func (desk peopleDesk) allowPerson(r *http.Request) (any, error) {
	channel, id, a, err := desk.findPerson(r)
	if err != nil {
		return nil, err
	}
	role := roles.Role(r.URL.Query().Get("role"))
	if role != roles.None {
		if err := role.Validate(); err != nil {
			return nil, newError(Invalid, "the role of a person: %v", err)
		}
	} else if a.Access.Everyone || slices.Contains(a.Access.People, id) { // the configuration is enough
		return desk.allowAsConfigured(r, channel, id, a)
	}
	p, err := desk.o.People.Allow(r.Context(), channel, id, role, people.By{})
	if err != nil {
		return nil, describeDecisionError(err)
	}
	desk.logDecision(r, "person let in by the operator", channel, id, "role", cmp.Or(role, roles.User))
	return describePerson(p), nil
}

// allowAsConfigured takes back that somebody whom the configuration lists was shut out, or has another
// role than it says.
func (desk peopleDesk) allowAsConfigured(r *http.Request, channel, id string, a Account) (any, error) {
	was, err := desk.o.People.Reset(r.Context(), channel, id, people.By{})
	if err != nil {
		return nil, describeDecisionError(err)
	}
	if was {
		desk.logDecision(r, "person is allowed by the operator as the configuration says", channel, id)
	}
	return AccessEntry{Channel: channel, Person: id, Ruling: policy.LetIn, Role: a.Access.ListedRole(id), Source: FromConfiguration}, nil
}

func (desk peopleDesk) denyPerson(r *http.Request) (any, error) {
	channel, id, _, err := desk.findPerson(r)
	if err != nil {
		return nil, err
	}
	p, err := desk.o.People.Deny(r.Context(), channel, id, people.By{})
	if err != nil {
		return nil, describeDecisionError(err)
	}
	desk.logDecision(r, "person shut out by the operator", channel, id)
	return describePerson(p), nil
}

func (desk peopleDesk) logDecision(r *http.Request, event, channel, id string, more ...any) {
	desk.o.Logger.Info(event, append([]any{"channel", channel, "person", id, "uid", r.Context().Value(uidKey{})}, more...)...)
}

// describeDecisionError says what an operator can do about err.
func describeDecisionError(err error) error {
	switch {
	case errors.Is(err, people.ErrNoCode):
		return newError(NotFound, "no such code waits: it was used or withdrawn, has expired, or was mistyped; see parley pair ls")
	case errors.Is(err, people.ErrShutOut):
		return newError(Refused, "the person of that code is shut out, see parley access ls; parley access allow lets them in")
	case errors.Is(err, people.ErrChanged):
		return newError(Refused, "%v: look with parley access ls, and do it again if it is still to be done", err)
	}
	return err
}

// List returns who may talk to the bot and who may not, as the configuration says and as was
// decided since.
func (c AccessClient) List(ctx context.Context) (AccessPage, error) {
	return askFor[AccessPage](ctx, c.connection, http.MethodGet, "/v1/access", nil)
}

// Allow lets somebody in on a channel, in direct messages, with a role; without one as the
// configuration says, or as a user. It holds from their next message on.
func (c AccessClient) Allow(ctx context.Context, channel, person string, role roles.Role) (AccessEntry, error) {
	return askFor[AccessEntry](ctx, c.connection, http.MethodPost, "/v1/access/allow", dropEmpty(url.Values{"channel": {channel}, "person": {person}, "role": {string(role)}}))
}

// Deny shuts somebody out on a channel, from their next message on.
func (c AccessClient) Deny(ctx context.Context, channel, person string) (AccessEntry, error) {
	return askFor[AccessEntry](ctx, c.connection, http.MethodPost, "/v1/access/deny", url.Values{"channel": {channel}, "person": {person}})
}
