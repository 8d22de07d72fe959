package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"

	"parley/gateway/policy"
	"parley/gateway/records"
	"parley/gateway/roles"
)

// namedPeople are those whose role decides about requests of a turn, by channel instance, as
// recordings have them.
type namedPeople struct{ approvers, guests map[string][]string }

// recordedQuestions returns the channel instances where questions in groups are shown to those
// alone who may decide.
func (e *edition) recordedQuestions() (names []string) {
	private := e.cfg.PrivateQuestionsByChannel()
	for name, a := range e.cfg.AccessByChannel() {
		if private[name] && len(a.Deciders()) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// recordedRoles returns whose turns were not a user's, by configuration and records as they are
// now.
func (g *Gateway) recordedRoles(ctx context.Context, e *edition) (namedPeople, error) {
	all := map[string]map[string]roles.Role{}
	for name, a := range e.cfg.AccessByChannel() {
		all[name] = a.NamedRoles()
	}
	decided, err := g.people.Decisions(ctx, "")
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return namedPeople{}, err //nolint:wrapcheck // it says which
	}
	for _, p := range decided {
		if all[p.Channel] != nil && p.Role != roles.None && p.Ruling == policy.LetIn {
			all[p.Channel][p.ID] = p.Role
		}
	}
	named := namedPeople{map[string][]string{}, map[string][]string{}}
	for name, people := range all {
		for _, id := range slices.Sorted(maps.Keys(people)) {
			switch r := people[id]; {
			case r.May(roles.Approve):
				named.approvers[name] = append(named.approvers[name], id)
			case !r.May(roles.Write):
				named.guests[name] = append(named.guests[name], id)
			}
		}
	}
	return named, nil
}
