package budgets

import (
	"encoding/json"
	"errors"
	"slices"

	"parley/agent"
	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// Kinds of scopes.
const (
	Turn    = "turn"    // a root turn's id
	Session = "session" // a root session's id
	Person  = "person"  // who asked, by network and account
	Group   = "group"   // a group chat with all its topics
	Channel = "channel" // a configured instance
	Chat    = "chat"    // a conversation's mailbox; counted, never limited
	Global  = "global"
)

// Limits are what may be spent; 0 is no limit.
type Limits struct {
	Turn, Session    costs.Amount
	Person, Group    costs.Amount // a day
	Day, Month       costs.Amount // everything
	ChannelsByTheDay map[string]costs.Amount
	Pause            Pause // at which of them an approver is asked
}

// HasAny reports whether there is a limit at all. Then a model without a price cannot
// be used, unless a ceiling was given.
func (l Limits) HasAny() bool {
	sum := l.Turn | l.Session | l.Person | l.Group | l.Day | l.Month
	for _, a := range l.ChannelsByTheDay {
		sum |= a
	}
	return sum != 0
}

// Scopes returns what a root turn of a mailbox is counted for besides its session's
// tree. What its sub-agents spend counts in the same ones. They stand in the
// order in which they refuse, the narrowest first. Days, months and channels
// are counted also where nothing limits them, turns and sessions are not.
func (l Limits) Scopes(token string, t sessions.Turn) []sessions.Scope {
	s := make([]sessions.Scope, 0, 8)
	if l.Turn > 0 {
		turn := TurnScope(t.ID)
		turn.Limit = l.Turn
		s = append(s, turn)
	}
	if l.Session > 0 {
		s = append(s, l.SessionScope(t.Session))
	}
	s = append(s, l.PersonScope(t.From, t.Sender))
	if t.From.Kind != sessionkeys.DM {
		s = append(s, l.GroupScope(t.From))
	}
	return append(s, ChatScope(token), l.ChannelScope(t.Channel), l.DayScope(), l.MonthScope())
}

// JobScopes is Scopes for a run of a job: nobody's allowance pays for it, neither a person's nor
// the group's in which its result is read.
func (l Limits) JobScopes(token string, t sessions.Turn) []sessions.Scope {
	l.Person = 0
	return slices.DeleteFunc(l.Scopes(token, t), func(s sessions.Scope) bool { return s.Kind == Group })
}

// ErrandScopes is Scopes for a run of what a person has scheduled: they pay for it, and it may spend
// at most so much, its sub-agents included; 0: as every turn.
func (l Limits) ErrandScopes(token string, t sessions.Turn, person string, most costs.Amount) []sessions.Scope {
	if most > 0 && (l.Turn == 0 || most < l.Turn) {
		l.Turn = most
	}
	t.Sender = person
	return l.Scopes(token, t)
}

// TurnScope returns the scope of a person's turn with its sub-agents, without a limit.
func TurnScope(id string) sessions.Scope {
	return sessions.Scope{Kind: Turn, ID: id, Window: costs.Always}
}

// SessionScope returns the scope of a conversation, given its root session.
func (l Limits) SessionScope(root sessionkeys.SessionID) sessions.Scope {
	return sessions.Scope{Kind: Session, ID: string(root), Window: costs.Always, Limit: l.Session}
}

// PersonScope returns the scope of who sent something to at: the same digits are
// somebody else on another network or account.
func (l Limits) PersonScope(at sessionkeys.Address, sender string) sessions.Scope {
	return sessions.Scope{Kind: Person, ID: joinID(at.Channel, at.Account, sender), Limit: l.Person}
}

// GroupScope returns the scope of a group chat, whatever its topic.
func (l Limits) GroupScope(at sessionkeys.Address) sessions.Scope {
	return sessions.Scope{Kind: Group, ID: joinID(at.Channel, at.Account, at.Peer), Limit: l.Group}
}

// ChatScope returns the scope of one conversation, over all its sessions.
func ChatScope(token string) sessions.Scope { return sessions.Scope{Kind: Chat, ID: token} }

// ChannelScope returns the scope of a configured instance.
func (l Limits) ChannelScope(name string) sessions.Scope {
	return sessions.Scope{Kind: Channel, ID: name, Limit: l.ChannelsByTheDay[name]}
}

// DayScope returns the scope of everything, by the day.
func (l Limits) DayScope() sessions.Scope { return sessions.Scope{Kind: Global, Limit: l.Day} }

// MonthScope returns the scope of everything, by the month.
func (l Limits) MonthScope() sessions.Scope {
	return sessions.Scope{Kind: Global, Window: costs.Month, Limit: l.Month}
}

// Label returns the value of the metrics' label scope for a kind of scope.
func Label(kind string) string {
	switch kind {
	case Global, Channel, Turn:
		return kind
	case Person, Group, Chat:
		return "peer"
	default: // Session, and caps of single sessions in its tree
		return "session"
	}
}

// Denied returns which budget ended a turn, as values of the metrics' labels scope
// and action: it was refused before it got anywhere, or stopped. ok is false when
// none did.
func Denied(o agent.Outcome) (scope, action string, ok bool) {
	budget, ok := errors.AsType[*costs.BudgetError](o.Err)
	if !ok {
		return "", "", false
	}
	if o.Steps == 0 {
		return Label(budget.Scope), "refused", true
	}
	return Label(budget.Scope), "stopped", true
}

// joinID never makes the same text of different parts.
func joinID(parts ...string) string {
	b, _ := json.Marshal(parts)
	return string(b)
}
