package admin

import "time"

// Each desk answers about one kind of thing, and keeps nothing of its own. They are one
// type underneath, so that one can ask another: treeDesk(desk).resolve(ctx, id).
type (
	treeDesk     struct{ o *Options } // sessions, their trees and turns, and the deletion of one
	budgetDesk   struct{ o *Options } // budgets, what raises them, and the usage
	peopleDesk   struct{ o *Options } // who may write, pairing, and what is kept of a person
	linkedDesk   struct{ o *Options } // accounts that are linked by a code, their groups and keys
	approvalDesk struct{ o *Options } // what waits for a person's yes
	letterDesk   struct{ o *Options } // dead letters
	serverDesk   struct{ o *Options } // MCP servers, their tools and logins
	jobDesk      struct{ o *Options } // schedules
	statusDesk   struct {
		o       *Options
		started time.Time
	}
)
