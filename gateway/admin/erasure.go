package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/gateway/erasure"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// Retention is how long sessions are kept.
type Retention struct {
	Seconds int64 `json:"seconds"` // after the last change, then their content is deleted
	Deleted int   `json:"deleted"` // since the start, by this process
}

// retention returns how long sessions are kept; nil: for ever.
func (desk treeDesk) retention() *Retention {
	if desk.o.Retention == nil {
		return nil
	}
	keep := desk.o.Retention()
	if keep == 0 {
		return nil
	}
	return &Retention{Seconds: int64(keep.Seconds()), Deleted: desk.o.Erasure.Expired()}
}

// deletion returns the mark of a session whose content was deleted; nil: it was not. Its root has it.
func (desk treeDesk) deletion(ctx context.Context, root sessionkeys.SessionID) (*erasure.Mark, error) {
	m, erased, err := erasure.Read(ctx, desk.o.Store, root, desk.o.Now())
	if errors.Is(err, records.ErrUnreadable) {
		desk.o.Logger.Warn("record of a deletion unreadable, it is shown without its details", "session", root, "error", err)
		return &erasure.Mark{}, nil
	}
	if err != nil || !erased {
		return nil, err
	}
	return &m, nil
}

func (desk treeDesk) deleteSession(r *http.Request) (any, error) {
	ctx := r.Context()
	id, err := desk.resolve(ctx, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	found, err := desk.o.Store.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	if found.Parent != "" {
		return nil, newError(Refused, "%s is a sub-agent of session %s: what it did is deleted with that session", id, found.Root)
	}
	d, err := desk.o.Erasure.Delete(ctx, id, erasure.Mark{By: actor(ctx), Why: erasure.ByOperator})
	return d, describeErasureError(err)
}

// describeErasureError says what an operator can do about err.
func describeErasureError(err error) error {
	if errors.Is(err, sessions.ErrBusy) {
		return newError(Refused, "nothing was deleted: %v; do it again when that is over, or after /stop in the chat", err)
	}
	return err
}

// traced is whom a question is about, with what is kept of them: on the account that it names, else on
// the one that knows them.
func (desk peopleDesk) traced(r *http.Request) (erasure.Traces, error) {
	id, accounts := r.URL.Query().Get("person"), desk.o.Accounts()
	if err := people.CheckID(id); err != nil {
		return erasure.Traces{}, newError(Invalid, "the id of a person: %v", err)
	}
	if channel := r.URL.Query().Get("channel"); channel != "" {
		_, configured := accounts[channel]
		if configured {
			if _, _, _, err := desk.findPerson(r); err != nil {
				return erasure.Traces{}, err
			}
		}
		t, err := desk.o.Erasure.Find(r.Context(), erasure.Person{Channel: channel, ID: id})
		if err == nil && !configured && t.IsUnknown() {
			_, _, _, err = desk.findPerson(r)
		}
		return t, err
	}
	names, err := desk.knownChannels(r.Context())
	if err != nil {
		return erasure.Traces{}, err
	}
	var known []erasure.Traces
	for _, name := range names {
		if a, configured := accounts[name]; configured && policy.CheckID(id, a.CheckPerson) != nil {
			continue
		}
		t, err := desk.o.Erasure.Find(r.Context(), erasure.Person{Channel: name, ID: id})
		if err != nil {
			return t, err
		}
		if !t.IsUnknown() {
			known = append(known, t)
		}
	}
	switch {
	case len(known) == 0:
		return erasure.Traces{}, newError(NotFound, "nothing is known of a person %s: parley access ls and parley usage --by person show ids", id)
	case len(known) > 1:
		names = names[:0]
		for _, t := range known {
			names = append(names, t.Channel)
		}
		return erasure.Traces{}, newError(Ambiguous, "%s is known on several accounts: %s; name one with --channel, and do it once for each", id, strings.Join(names, ", "))
	}
	return known[0], nil
}

// knownChannels returns the bot accounts of the configuration, and those that were once in it.
func (desk peopleDesk) knownChannels(ctx context.Context) ([]string, error) {
	names := slices.Collect(maps.Keys(desk.o.Accounts()))
	decided, err := desk.o.People.Decisions(ctx, "")
	if _, err = passUnreadable(err); err != nil {
		return nil, err
	}
	for _, p := range decided {
		names = append(names, p.Channel)
	}
	used, err := desk.o.Store.Usage(ctx, sessions.UsageQuery{By: sessions.ByChannel})
	if err != nil {
		return nil, err
	}
	for _, u := range used {
		if u.Group != "" {
			names = append(names, u.Group)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (desk peopleDesk) traces(r *http.Request) (any, error) { return desk.traced(r) }

func (desk peopleDesk) forget(r *http.Request) (any, error) {
	groups, err := parseBool(r.URL.Query().Get("groups"))
	if err != nil {
		return nil, err
	}
	t, err := desk.traced(r)
	if err != nil {
		return nil, err
	}
	if t.IsUnknown() {
		return nil, newError(NotFound, "nothing is known of a person %s on %s", t.ID, t.Channel)
	}
	return desk.o.Erasure.Forget(r.Context(), t.Person, groups, erasure.Mark{By: actor(r.Context())})
}

// forgotten is whose name is shown of what people did before they were forgotten.
const forgotten = "forgotten"

// personOf returns how the person of a turn is shown on their account.
func (desk treeDesk) personOf(ctx context.Context, t sessions.Turn) (string, error) {
	gone, err := erasure.IsForgotten(ctx, desk.o.Store, erasure.Person{Channel: t.Channel, ID: t.Sender}, t.OpenedAt, desk.o.Now())
	if err != nil {
		return "", fmt.Errorf("look whether a person was forgotten: %w", err)
	}
	if gone {
		return forgotten, nil
	}
	return t.Sender, nil
}

// DeleteSession deletes the content of the session whose id begins with id, and of its sub-agents.
// What it has cost stays.
func (c *Client) DeleteSession(ctx context.Context, id string) (erasure.Deleted, error) {
	return askFor[erasure.Deleted](ctx, c.connection, http.MethodDelete, "/v1/sessions/"+id, c.actionQuery(url.Values{}), id)
}

// forgetPath is where a person is forgotten, and asked what is kept of them.
const forgetPath = "/v1/forget"

// Traces returns what is kept of a person that can be deleted; without a channel on the account that
// knows them.
func (c *Client) Traces(ctx context.Context, channel, person string) (erasure.Traces, error) {
	return askFor[erasure.Traces](ctx, c.connection, http.MethodGet, forgetPath, dropEmpty(url.Values{"channel": {channel}, "person": {person}}))
}

// Forget deletes what is kept of a person on an account; the sessions of groups only with groups.
func (c *Client) Forget(ctx context.Context, channel, person string, groups bool) (erasure.Forgotten, error) {
	ask := flagQuery("groups", groups)
	ask.Set("channel", channel)
	ask.Set("person", person)
	return askFor[erasure.Forgotten](ctx, c.connection, http.MethodPost, forgetPath, c.actionQuery(ask))
}
