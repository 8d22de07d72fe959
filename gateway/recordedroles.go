package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"

	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/records"
	"parley/gateway/roles"
	"parley/gateway/settings"
)

// namedPeople are those whose role decides about requests of a turn, by channel instance, as
// recordings have them.
type namedPeople struct{ approvers, guests map[string][]string }

// recordedQuestions returns the channel instances where questions in groups are shown to those
// alone who may decide.
func recordedQuestions(c settings.Config) (names []string) {
	private := c.PrivateQuestionsByChannel()
	for name, a := range c.AccessByChannel() {
		if private[name] && len(a.Deciders()) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// recordedRoles returns whose turns were not a user's, by configuration and records as they are
// now.
func recordedRoles(ctx context.Context, cfg settings.Config, book *people.Book) (namedPeople, error) {
	all := map[string]map[string]roles.Role{}
	for name, a := range cfg.AccessByChannel() {
		all[name] = a.NamedRoles()
	}
	decided, err := book.Decisions(ctx, "")
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return namedPeople{}, err // it says which
	}
	for _, p := range decided {
		if all[p.Channel] != nil && p.Role != roles.None && p.Ruling == policy.LetIn {
			all[p.Channel][p.ID] = p.Role
		}
	}
	named := namedPeople{map[string][]string{}, map[string][]string{}}
	for name, has := range all {
		for _, id := range slices.Sorted(maps.Keys(has)) {
			switch r := has[id]; {
			case r.May(roles.Approve):
				named.approvers[name] = append(named.approvers[name], id)
			case !r.May(roles.Write):
				named.guests[name] = append(named.guests[name], id)
			}
		}
	}
	return named, nil
}
