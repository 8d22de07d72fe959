package settings

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"parley/costs"
	"parley/gateway/budgets"
	"parley/gateway/listeners"
	"parley/problems"
)

// Warnings returns what c allows and its author may not mean, each with its path. It is asked of
// what Validate accepts.
func (c Config) Warnings() (ws problems.List) {
	limits, err := c.Budgets.Limits()
	if err != nil {
		return nil // Validate says it
	}
	for _, a := range c.Accounts() {
		access := a.Path + ".access"
		perDay, err := budgets.Parse(a.BudgetPerDay)
		switch {
		case !a.Access.Everyone && !a.Access.Pairing && len(a.Access.People) == 0:
			ws.Add(access, "nobody may talk to this bot but whom parley access allow or parley pair approve lets in; "+
				"list somebody under people, or set pairing: true")
		case a.Access.Everyone && err == nil && perDay|limits.Day|limits.Month == 0:
			ws.Add(access+".everyone", "everybody may talk to this bot, and no budget bounds what all of them spend together; "+
				"set budgets.global_per_day, budgets.global_per_month, or budget_per_day of this account")
		}
		warnPlaceholders(&ws, access, a)
		if err == nil && perDay > 0 && limits.Day > 0 && perDay > limits.Day {
			ws.Add(a.Path+".budget_per_day", "%s is more than budgets.global_per_day, %s, which ends the spending first", perDay, limits.Day)
		}
	}
	c.Page.warn(&ws)
	ws.Check("tracing", c.Tracing.Warnings(isLoopbackHost).Err())
	warnUpsideDown(&ws, limits)
	return ws
}

// isLoopbackHost reports whether a host is this machine.
func isLoopbackHost(host string) bool { return listeners.IsLoopback(net.JoinHostPort(host, "0")) }

// warnUpsideDown names budgets that never end anything, because a wider one is smaller.
func warnUpsideDown(ws *problems.List, l budgets.Limits) {
	monthly := l.Month // where a day is limited, that limit is compared with it
	if l.Day > 0 {
		monthly = 0
	}
	for _, pair := range []struct {
		narrow, wide   string
		smaller, whole costs.Amount
	}{
		{"turn", "session", l.Turn, l.Session},
		{"turn", "person_per_day", l.Turn, l.Person},
		{"turn", "global_per_day", l.Turn, l.Day},
		{"turn", "global_per_month", l.Turn, monthly},
		{"person_per_day", "global_per_day", l.Person, l.Day},
		{"group_per_day", "global_per_day", l.Group, l.Day},
		{"person_per_day", "global_per_month", l.Person, monthly},
		{"group_per_day", "global_per_month", l.Group, monthly},
		{"global_per_day", "global_per_month", l.Day, l.Month},
	} {
		if pair.smaller > 0 && pair.whole > 0 && pair.smaller > pair.whole {
			ws.Add("budgets."+pair.narrow, "%s is more than budgets.%s, %s, which ends the spending first", pair.smaller, pair.wide, pair.whole)
		}
	}
}

// placeholders are the ids that stand in the example and in manuals in the place of somebody's own.
var placeholders = []string{
	"123456789", "987654321", "-1001234567890", "U012AB3CD", "C012AB3CD", "U0123456789", "C0123456789",
	"0d5e2f3a-1b2c-4d3e-8f90-a1b2c3d4e5f6", "+4915550001001", "Z3JvdXAgICAgICAgICAgICAgICAgICAgICAgICAgICA=",
}

// IsPlaceholder reports whether an id is one of the example and not somebody's own.
func IsPlaceholder(id string) bool { return slices.Contains(placeholders, id) }

// warnPlaceholders names the ids of an account that are nobody's.
func warnPlaceholders(ws *problems.List, path string, a Account) {
	for _, list := range []struct {
		name string
		ids  []string
	}{
		{"people", a.Access.People},
		{"groups", a.Access.Groups},
		{"approvers", a.Access.Approvers},
		{"roles.guest", a.Access.Roles.Guest},
		{"roles.admin", a.Access.Roles.Admin},
		{"roles.owner", a.Access.Roles.Owner},
	} {
		for i, id := range list.ids {
			if IsPlaceholder(id) {
				ws.Add(fmt.Sprintf("%s.%s[%d]", path, list.name, i), "%s is the id of the example; put a real one there: "+
					"the bot tells it to whom it does not know, and the log has it (message refused)", id)
			}
		}
	}
}

// validateListeners refuses two listeners in one place: the second could not be opened.
func validateListeners(c Config, ps *problems.List) {
	if c.Ops.Listen != listeners.Off && c.Webhooks.Listen != "" && sharesPort(c.Ops.Listen, c.Webhooks.Listen) {
		ps.Add("webhooks.listen", "%s is where ops.listen, %s, listens already: give one of them another port", c.Webhooks.Listen, c.Ops.Listen)
	}
}

// sharesPort reports whether only one of two addresses can be listened on.
func sharesPort(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	all := func(host string) bool { return host == "" || net.ParseIP(host).IsUnspecified() }
	local := func(host string) string { return strings.Replace(host, "localhost", "127.0.0.1", 1) }
	return all(hostA) || all(hostB) || local(hostA) == local(hostB)
}
