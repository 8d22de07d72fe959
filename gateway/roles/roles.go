// Package roles says what people may do who may talk to a bot account at all: one table of roles
// and rights, which every part asks. See docs/decisions/0089.
package roles

import (
	"fmt"
	"slices"
	"strings"
)

// Role is what somebody is to a bot account. Each role may do all that the one before it may.
type Role string

// Roles, those with the fewest rights first.
const (
	None  Role = "" // nothing is said of a role; it has no rights
	Guest Role = "guest"
	User  Role = "user" // who may talk to the bot, where nothing is said of their role
	Admin Role = "admin"
	Owner Role = "owner"
)

// All returns the roles that somebody can have, those with the fewest rights first.
func All() []Role { return []Role{Guest, User, Admin, Owner} }

// Right is one thing that takes a role.
type Right int

// Rights.
const (
	// Talk is to be answered, by an agent that only reads.
	Talk Right = iota
	// Write is to have an agent use tools that write, or that somebody must permit.
	Write
	// Direct is to say how a conversation is answered from then on: its model, its goal, and
	// plan mode.
	Direct
	// Schedule is to have an agent do something at set times.
	Schedule
	// Approve is to permit what an agent must ask for.
	Approve
	// Pair is to let a stranger in by the code that they were given.
	Pair
	// Unschedule is to remove from a chat what others have scheduled for it.
	Unschedule
	// Rule is to decide who may talk to the bot.
	Rule
)

// least returns the role with the fewest rights that has a right. What nobody knows takes the
// highest.
func least(what Right) Role {
	switch what {
	case Talk:
		return Guest
	case Write, Direct, Schedule:
		return User
	case Approve, Pair, Unschedule:
		return Admin
	case Rule:
		return Owner
	}
	return Owner
}

// rank returns how many roles have fewer rights; -1 of what is no role.
func (r Role) rank() int { return slices.Index(All(), r) }

// May reports whether the role has a right. None and what is no role have none.
func (r Role) May(what Right) bool { return r.rank() >= least(what).rank() }

// IsBelow reports whether the role has fewer rights than another.
func (r Role) IsBelow(other Role) bool { return r.rank() < other.rank() }

// Least returns the one of two roles that has fewer rights, where both are said; else the one that
// is.
func Least(a, b Role) Role {
	if a == None || b != None && b.IsBelow(a) {
		return b
	}
	return a
}

// Validate reports whether r is none of All.
func (r Role) Validate() error {
	if r.rank() < 0 {
		var names []string
		for _, known := range All() {
			names = append(names, string(known))
		}
		return fmt.Errorf("%q is none of %s", string(r), strings.Join(names, ", ")) // the text is for the operator
	}
	return nil
}
