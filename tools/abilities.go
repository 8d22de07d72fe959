package tools

import (
	"context"
	"time"
)

// What only some tools need is an interface of its own, which the loop or the
// set looks for.

// Timed is what a tool implements that needs another time than the default:
// one that waits for a sub-agent, for example. Timeout is asked for each call;
// 0 means the default, less than 0 that only the turn limits it.
type Timed interface {
	Timeout(c Call) time.Duration
}

// Parallel is what a tool implements whose calls may run side by side:
// consecutive calls of one answer to such tools do, and their results are still
// committed in the order of the calls. It only counts for calls that may run
// again after a crash, because they are of category Read or Resumable.
type Parallel interface {
	Parallel() bool
}

// Admitter is what a tool implements that must decide on calls one after the
// other, in their order, before those that run side by side begin: of too many
// calls the first may run, whichever is the quickest. Admit is called in place
// of Run; run does what Run would have done. An error is the call's result, as
// from Run. What is admitted is run.
type Admitter interface {
	Admit(ctx context.Context, c Call) (run func(context.Context) (Result, error), err error)
}

// Resumable is what a tool implements whose calls find again, after a crash,
// what they had begun, and go on with it. Such a call runs again although it
// has side effects; any other gets the result "interrupted, outcome unknown".
type Resumable interface {
	Resumable() bool
}

// Continuer is what a tool implements of whose calls some begin what goes on without this process.
// Continues is asked, of a call that is not Resumable, after a crash: where that very call had begun
// such a thing it runs again, and goes on with it. It must not do anything.
type Continuer interface {
	Continues(ctx context.Context, c Call) (bool, error)
}

// Reasoner is what a tool implements that can say why a call is of its category. A gate
// that denies the call says so to the model.
type Reasoner interface {
	Reason(c Call) string
}

// Petitioner is what a tool implements that can say better than its arguments what a person
// is asked to permit. It is asked when permission is asked for, and again before the call
// runs. An error is the reason why it is not run.
type Petitioner interface {
	Petition(c Call) (Petition, error)
}

// Petition is what a person is asked to permit.
type Petition struct {
	Text  string // exactly what would run; people are shown all of it
	Where string // what would run it, to stand behind "in", as "a sandbox of level A"; may be empty
	// Binding is what else the permission holds for: if it differs when the call is to run,
	// the call is not what was permitted. It is not shown.
	Binding []string
}

// Announcer is what a tool implements that has words for people about what its calls do.
type Announcer interface {
	Announcement() Announcement
}

// Announcement says to people what a call does, as "Reading" and "path": Doing is the
// beginning of a sentence, Of the argument that names what it is done to; either may be
// empty. The argument's value is the model's.
type Announcement struct {
	Doing string
	Of    string
}

// Aliased is what a tool implements that also answers to other names. They are
// accepted wherever its own name is and never shown. A tool of that very name
// goes before.
type Aliased interface {
	Aliases() []string
}
