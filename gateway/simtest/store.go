package simtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/sessions"
	"parley/sessions/sessiontest"
	"parley/transcript"
)

// around makes every operation on the one store wait at the gate: it is the
// [sessiontest.Around] by which a process reaches the store.
func (p *process) around(ctx context.Context, c sessiontest.Call, perform func() error) error {
	var err error
	o := p.describe(c)
	o.do = func() { err = perform() }
	if refused := p.park(ctx, o); refused != nil {
		return refused
	}
	return err
}

// describe says for the trace what an operation is about.
func (p *process) describe(c sessiontest.Call) *op {
	o := &op{kind: strings.ToLower(c.Op), token: c.Token, fence: c.Fence}
	switch c.Op {
	case "Heartbeat":
		o.kind = "beat"
	case "Messages":
		o.kind = "history"
	}
	about := []any{p.w.personName(c.Token)}
	if c.Fence != nil {
		about = append(about, fmt.Sprintf("/%d ", c.Fence.Epoch))
	}
	if c.Token == "" {
		about = nil
	}
	for n, a := range c.Args {
		switch a := a.(type) {
		case sessions.Touch:
			about = append(about, "@", a.Seq)
			if a.Take {
				about, o.now = append(about, " take"), a.Now
			}
		case sessions.OpenTurn:
			p.w.mu.Lock()
			p.w.names[a.Turn.ID] = fmt.Sprintf("%s@%d", p.w.personName(c.Token), a.Turn.Seq)
			p.w.mu.Unlock()
			about = append(about, "@", a.Turn.Seq)
		case sessions.JoinTurn:
			about = append(about, "@", a.Seq)
		case sessions.FinishTurn:
			if a.Sending != nil {
				o.answerID, o.marks = a.Replies[0].ID, true
				about = append(about, " sending ", p.w.partName(o.answerID))
			}
		case sessions.Command:
			about = append(about, "@", a.Seq)
		case uint64:
			about = append(about, "@", a)
		case []string:
			about = append(about, a)
		case []transcript.Message:
			about = append(about, len(a))
		case []sessions.Outgoing:
			about = append(about, len(a))
		case time.Time:
			if c.Op == "Recover" {
				o.now = a
			}
		case int:
			about = append(about, a)
		case sessions.Progress:
			o.answerID, _ = c.Args[n-1].(string)
			o.marks = true
			about = append(about, p.w.partName(o.answerID))
			for _, m := range a.Marks {
				about = append(about, fmt.Sprintf(" %d:%s→%s", m.Index, m.From, m.To))
			}
		}
	}
	o.what = o.kind + " " + fmt.Sprint(about...)
	return o
}
