package replay

import (
	"fmt"
	"io"
	"strings"

	"parley/costs"
	"parley/gateway/recording"
)

// Kind describes what differs.
type Kind string

// What can differ.
const (
	Requests  Kind = "request"   // what a model is asked
	Messages  Kind = "message"   // the transcript: answers as they are kept
	ToolCalls Kind = "tool call" // calls of tools, their results, sub-agents
	Replies   Kind = "reply"     // the text of an answer, or its parts as the network gets them
	Costs     Kind = "cost"      // a row of the ledger
	Turns     Kind = "turn"      // which turns there are, and how they end
)

// Difference is one thing that is not as it was.
type Difference struct {
	Kind Kind
	// Where are the places: more than one when several differ in the same way.
	Where []string
	// What is a few lines for people: "-" in front of what was, "+" of what is.
	What string
}

// Report is what a replay found.
type Report struct {
	Header      recording.Header
	Differences []Difference
	Notes       []string // what limits the comparison

	Turns, Calls, Replies int // that were compared
	Cost                  costs.Amount
}

// Same reports whether nothing differs.
func (r *Report) Same() bool { return len(r.Differences) == 0 }

// add notes a difference; one that reads like another is told with it.
func (r *Report) add(k Kind, where, what string) {
	for i, d := range r.Differences {
		if d.Kind == k && d.What == what {
			r.Differences[i].Where = append(d.Where, where)
			return
		}
	}
	r.Differences = append(r.Differences, Difference{Kind: k, Where: []string{where}, What: what})
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "%s differs: %s", d.Kind, d.Where[0])
		if n := len(d.Where) - 1; n > 0 {
			fmt.Fprintf(&b, ", and %d more in the same way", n)
		}
		b.WriteByte('\n')
		for line := range strings.Lines(d.What) {
			b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	for _, n := range r.Notes {
		b.WriteString("note: " + n + "\n")
	}
	verdict := "the same"
	if n := len(r.Differences); n == 1 {
		verdict = "1 difference"
	} else if n > 1 {
		verdict = fmt.Sprintf("%d differences", n)
	}
	fmt.Fprintf(&b, "session %s: %d turns, %d model calls for %s, %d replies: %s\n", r.Header.Session, r.Turns, r.Calls, r.Cost, r.Replies, verdict)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// addDifference notes a difference.
func (c *comparison) addDifference(k Kind, where, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.add(k, where, what)
}
