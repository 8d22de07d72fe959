// Package activity says in a few words what a turn does, from its events: what runs at
// this moment, or the list of its steps with those of its sub-agents below them. What
// models wrote of it (arguments, names, thoughts) is bounded, and can be no markup, no
// mention and no secret. [Event] is what listeners elsewhere get of it.
package activity

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"parley/agent"
)

const (
	maxSteps = 12  // that are listed; of more the last
	maxKept  = 256 // that are known; of more the first that have ended are forgotten
	thinking = "Thinking …"
)

// Feed is what one turn of a person does, its sub-agents included. Its methods may be
// called concurrently.
type Feed struct {
	level  Level
	redact func(string) string

	mu      sync.Mutex // guards what follows
	steps   []*step    // of the turn itself, in their order
	byCall  map[call]*step
	known   []call // the keys of byCall, the oldest first
	notice  string // what happens beside the tools
	thought strings.Builder
	thinks  bool // behind the last step the model is asked again
}

type call struct {
	turn string
	step int
	id   string
}

// step is one call of a tool.
type step struct {
	is       call
	words    string // what it does
	args     string
	progress string
	status   string  // how it ended; "": it runs
	label    string  // of the sub-agent that it started
	child    string  // the sub-agent's turn
	above    *step   // in whose sub-agent it is made
	below    []*step // of the sub-agent
	running  *step   // the newest of below that has not ended
	noticed  string  // what happens in the sub-agent beside its tools
}

// New returns the feed of a turn. redact takes secrets out of a text; nil: there are none.
func New(level Level, redact func(string) string) *Feed {
	if redact == nil {
		redact = func(s string) string { return s }
	}
	return &Feed{level: level, redact: redact, byCall: map[call]*step{}}
}

// Observe takes an event of the turn, or of one below it, and reports whether there is
// something else to show.
func (f *Feed) Observe(e agent.Event) bool {
	if f.level == Off {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e.Type {
	case agent.TextDelta:
		if e.Depth > 0 {
			return false
		}
		shown := f.notice != "" || f.thinks
		f.notice, f.thinks = "", false
		f.thought.Reset()
		return shown
	case agent.ReasoningDelta:
		return f.think(e)
	case agent.ToolCalled:
		f.begin(e)
	case agent.ToolProgress:
		return f.progress(e)
	case agent.StepComplete:
		return f.end(e)
	case agent.SubagentSpawned:
		return f.spawned(e)
	default:
		return f.notify(e)
	}
	return true
}

func (f *Feed) find(e agent.Event) *step { return f.byCall[call{e.Turn, e.Step, e.CallID}] }

// owner returns the step that started the sub-agent of the event; nil: it is the person's
// turn, or not known any more.
func (f *Feed) owner(e agent.Event) *step {
	if e.Depth == 0 {
		return nil
	}
	for _, k := range f.known {
		if s := f.byCall[k]; s.child == e.Turn {
			return s
		}
	}
	return nil
}

func (f *Feed) begin(e agent.Event) {
	s := &step{is: call{e.Turn, e.Step, e.CallID}, words: doing(e, f.redact), above: f.owner(e)}
	if f.level == Full && e.Args != "{}" {
		s.args = quote(e.Args, maxArgs, f.redact)
	}
	if len(f.known) >= maxKept { // the oldest that has ended
		i := max(0, slices.IndexFunc(f.known, func(k call) bool { return f.byCall[k].status != "" }))
		delete(f.byCall, f.known[i])
		f.known = slices.Delete(f.known, i, i+1)
	}
	f.byCall[s.is] = s
	f.known = append(f.known, s.is)
	switch {
	case s.above != nil:
		s.above.below, s.above.running, s.above.noticed = append(s.above.below, s), s, ""
	case e.Depth == 0:
		f.steps, f.notice, f.thinks = append(f.steps, s), "", false
		f.thought.Reset()
	}
}

func (f *Feed) progress(e agent.Event) bool {
	s := f.find(e)
	if s == nil {
		return false
	}
	s.progress = e.Text
	return true
}

func (f *Feed) end(e agent.Event) bool {
	s := f.find(e)
	if s == nil {
		return false
	}
	s.status, s.progress, s.noticed = e.Status, "", ""
	if s.above != nil && s.above.running == s {
		s.above.running = nil
	}
	f.thinks = f.thinks || e.Depth == 0 && f.current() == nil
	return true
}

func (f *Feed) spawned(e agent.Event) bool {
	for _, k := range f.known {
		if s := f.byCall[k]; k.turn == e.Parent && k.id == e.CallID && s.status == "" {
			s.child, s.label = e.Turn, e.Text
			return true
		}
	}
	return false
}

func (f *Feed) think(e agent.Event) bool {
	if f.level != Full || e.Depth > 0 {
		return false
	}
	if f.thought.Len() > 64*maxThought { // its end is shown
		kept := newest(f.redact(f.thought.String()), 2*maxThought) // before the beginning of a secret is cut off
		f.thought.Reset()
		f.thought.WriteString(kept)
	}
	f.thought.WriteString(e.Text)
	return true
}

// notify takes what happens beside the tools.
func (f *Feed) notify(e agent.Event) bool {
	words := notice(e)
	switch s := f.owner(e); {
	case words == "":
		return false
	case s != nil:
		s.noticed = words
	case e.Depth > 0:
		return false
	default:
		f.notice = words
	}
	return true
}

// current returns the newest step of the turn that runs.
func (f *Feed) current() *step {
	for i := len(f.steps) - 1; i >= 0; i-- {
		if f.steps[i].status == "" {
			return f.steps[i]
		}
	}
	return nil
}

// Line returns what runs at this moment, as Markdown on one line; "": nothing is to be said.
func (f *Feed) Line() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.line()
}

func (f *Feed) line() string {
	s := f.current()
	switch {
	case f.notice != "":
		return f.notice
	case s != nil:
		return f.describe(s)
	case f.thinks:
		return f.steps[len(f.steps)-1].ended()
	}
	return ""
}

// ended says that the model thinks about what a step gave.
func (s *step) ended() string { return s.words + s.mark() + " · thinking …" }

// mark shows how a step ended.
func (s *step) mark() string {
	switch s.status {
	case "":
		return ""
	case agent.StatusOK:
		return " ✓"
	default:
		return " ✗"
	}
}

// describe says what a step does at this moment: what runs in its sub-agent, if it has one.
func (f *Feed) describe(s *step) string {
	words := s.words
	if s.child != "" {
		words = "Sub-agent"
		if l := quote(s.label, maxObject, f.redact); l != "" {
			words += " " + l
		}
		switch {
		case s.running != nil:
			return words + ": " + f.describe(s.running)
		case s.noticed != "":
			return words + ": " + s.noticed
		case len(s.below) > 0:
			return words + ": " + s.below[len(s.below)-1].ended()
		}
		return words + " is at work …"
	}
	return words + " …" + f.progressOf(s)
}

func (f *Feed) progressOf(s *step) string {
	if p := quote(s.progress, maxProgress, f.redact); p != "" {
		return " " + p
	}
	return ""
}

// Text returns what is to be shown, as Markdown: the line, or with the level full the list
// of the turn's steps, with the newest thoughts of the model below it.
func (f *Feed) Text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.level != Full {
		return f.line()
	}
	var lines []string
	for _, s := range f.steps {
		lines = f.list(lines, s, 0)
	}
	if more := len(lines) - maxSteps; more > 0 {
		lines = append([]string{fmt.Sprintf("- … %d before", more)}, undented(lines[more:])...)
	}
	var blocks []string
	if len(lines) > 0 {
		blocks = append(blocks, strings.Join(lines, "\n"))
	}
	last := f.notice
	switch t := f.newestThought(); {
	case last != "":
	case t != "":
		last = "Thinking: " + t
	case f.thinks:
		last = thinking
	}
	if last != "" {
		blocks = append(blocks, last)
	}
	return strings.Join(blocks, "\n\n")
}

// newestThought quotes the end of what the model thinks, without its last word, which may
// be the beginning of a secret.
func (f *Feed) newestThought() string {
	s := f.thought.String()
	s = s[:strings.LastIndexFunc(s, unicode.IsSpace)+1]
	return quote(newest(f.redact(flat(s)), maxThought), maxThought+1, f.redact)
}

// list adds a step and what is below it.
func (f *Feed) list(lines []string, s *step, depth int) []string {
	mark, after := "…", ""
	switch s.status {
	case "":
		after = f.progressOf(s)
	case agent.StatusOK:
		mark = "✓"
	default:
		mark, after = "✗", " ("+s.status+")"
	}
	words := s.words
	if s.args != "" {
		words += " " + s.args
	}
	lines = append(lines, strings.Repeat("  ", depth)+"- "+mark+" "+words+after)
	for _, b := range s.below {
		lines = f.list(lines, b, depth+1)
	}
	return lines
}

// undented returns lines of a list whose first ones may be below an item that is left out.
func undented(lines []string) []string {
	least := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
	cut := least(lines[0])
	out := make([]string, len(lines))
	for i, l := range lines {
		cut = min(cut, least(l))
		out[i] = l[cut:]
	}
	return out
}
