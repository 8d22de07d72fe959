package faulttest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// Evidence are what the checker reads: what the two counterparts wrote down, what
// was done to the processes, and the ledger, which is held against the bill.
type Evidence struct {
	Telegram telegram.Book
	Bill     model.Bill
	Requests []model.Recorded
	Faults   []Fault
	Ledger   []costs.Entry
	// Unasked is when a process had an answer's last text for a message that showed it,
	// as that process saw Telegram make it, and did not ask Telegram to change it.
	Unasked map[Message][]time.Time
	// Of the slots of jobs after JobsFrom and until JobsThrough all must have run, but for those of
	// a job that were passed over because its run before was at work still.
	JobsFrom, JobsThrough time.Time
	JobsPassed            map[string]map[time.Time]bool
}

// Message names a message of the bot.
type Message struct{ Chat, ID int64 }

// Kind is a kind of violation.
type Kind string

// What must never be.
const (
	Lost       Kind = "lost"       // a question without an answer and without a word about it
	Duplicated Kind = "duplicated" // a second answer that no fault explains, or without its mark
	Half       Kind = "half"       // a part of an answer was left standing
	Disordered Kind = "disordered" // an answer before the one to an earlier question
	Stray      Kind = "stray"      // a word of one conversation in another
	History    Kind = "history"    // a request that no provider would take
	Doubled    Kind = "doubled"    // a question twice, or out of order, before the model
	Repaid     Kind = "repaid"     // the same call of the model, finished twice without need
	Effect     Kind = "effect"     // a tool that ran twice, or not at all although it was told so
	Money      Kind = "money"      // ledger and bill differ
	Orphan     Kind = "orphan"     // a process that outlived the run
	Leak       Kind = "leak"       // open files or goroutines that were not given back
)

// Violation is one thing that must not be.
type Violation struct {
	Kind Kind
	Text string
}

// Report is what the checker found.
type Report struct {
	Violations []Violation

	Questions int // that were asked
	Answered  int // with a whole answer
	Told      int // without one, but with words in reply
	Refused   int // with words that their call was refused, as it was
	Asked     int // questions for permission that people were shown
	Repeats   int // further copies of answers: marked, and explained by a fault
	Left      int // previews whose id was lost with their sender: the answer is another message
	Ambiguous int // messages whose sender may not know that they arrived
	Unasked   int // times that a message stood as it was to stand
	Faults    int
	Stalls    int // how often the machine stood still
	Calls     int // requests on the bill that were not refused
	Extra     int // of them beyond what the load needs
	Aborted   int // of them given up by the client
	Summaries int // of them answered with a summary of a conversation
	Titles    int // of them asked for a title of one
	Runs      int // of jobs that reported
	Passed    int // slots of jobs that were passed over
	Goals     int // that people were told are reached
	Shown     int // messages that showed what a turn did
	Fallbacks int // rows of the ledger of calls of the fall-back
	Unknown   int // calls of tools of which the model was told that nobody knows whether they ran
	Settled   int // rows of the ledger that are exact
	Doubts    int // rows that are not
	Billed    costs.Amount
	// Pause is the longest time in which nobody was answered, and Waited the
	// longest that one question waited for its answer.
	Pause, Waited time.Duration
	// Resumed is, for each call of the model that a fault cut off, the time from
	// the fault to the next call of the same conversation; ascending.
	Resumed []time.Duration
}

func (r *Report) add(k Kind, format string, args ...any) {
	r.Violations = append(r.Violations, Violation{k, fmt.Sprintf(format, args...)})
}

// Has reports whether there is a violation of the kind.
func (r *Report) Has(k Kind) bool {
	return slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Kind == k })
}

// String returns the numbers in one line.
func (r *Report) String() string {
	s := fmt.Sprintf("%d questions, %d answered, %d told, %d refused of %d asked about, %d faults, %d repeats of %d in doubt, %d stood already; %d model calls, %d extra, %d cut off, %d summaries, %d titles; %d goals; %d runs of jobs, %d passed over; %d showed what a turn did; ledger: %d exact, %d in doubt, bill %s",
		r.Questions, r.Answered, r.Told, r.Refused, r.Asked, r.Faults, r.Repeats, r.Ambiguous, r.Unasked, r.Calls, r.Extra, r.Aborted, r.Summaries, r.Titles, r.Goals, r.Runs, r.Passed, r.Shown, r.Settled, r.Doubts, r.Billed)
	if n := len(r.Resumed); n > 0 {
		s += fmt.Sprintf("; %d calls went on after %s (median), %s (longest)", n, r.Resumed[n/2].Round(10*time.Millisecond), r.Resumed[n-1].Round(10*time.Millisecond))
	}
	return s
}

// listed is how many violations of each kind are shown.
const listed = 10

// lines returns the violations, a line each.
func (r *Report) lines() string {
	var b strings.Builder
	seen := map[Kind]int{}
	for _, v := range r.Violations {
		if seen[v.Kind]++; seen[v.Kind] <= listed {
			fmt.Fprintf(&b, "%s: %s\n", v.Kind, v.Text)
		}
	}
	for k, c := range seen {
		if c > listed {
			fmt.Fprintf(&b, "%s: %d more\n", k, c-listed)
		}
	}
	return b.String()
}
