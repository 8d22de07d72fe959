package subagents

import (
	"time"

	"parley/agent"
	"parley/costs"
	"parley/sessions"
)

// childEvents is what happens in a child's turn, its beginning and its end included. Its
// text is never a preview.
type childEvents struct {
	node *turnNode
	head agent.Event
	now  func() time.Time
	seq  uint64 // of the last; one goroutine at a time emits
}

func (m *turnNode) newEvents(t agent.Turn) *childEvents {
	return &childEvents{node: m, head: t.Head(), now: m.tree.runner.o.Now}
}

// observe takes the events of the loop, and numbers them behind what was emitted.
func (c *childEvents) observe(e agent.Event) {
	agent.Measure(c.node.tree.runner.o.Observer, costs.Subagent, e)
	c.forward(e)
}

// emit adds an event of the runner.
func (c *childEvents) emit(e agent.Event) {
	h := c.head
	e.At, e.Turn, e.Session, e.Key, e.Root, e.Parent, e.Depth = c.now(), h.Turn, h.Session, h.Key, h.Root, h.Parent, h.Depth
	c.forward(e)
}

func (c *childEvents) forward(e agent.Event) {
	c.seq++
	e.Seq = c.seq
	if f := c.node.tree.root.Observe; f != nil {
		f(e)
	}
}

// label returns what a model calls the child, "" if it gave it no name.
func (j job) label(child sessions.Session) string {
	if child.Title == untitled {
		return ""
	}
	return child.Title
}

// untitled is the title of a child without a name.
const untitled = "New Agent Session"
