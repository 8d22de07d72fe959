package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"parley/gateway/inquiries"
	"parley/gateway/messages"
	"parley/gateway/ongoing"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
	"parley/tools/mcp"
)

// serverQuestions asks people what MCP servers want to know before they do a call.
type serverQuestions struct {
	present   func() *edition
	inquiries *inquiries.Desk
	store     sessions.Store
	now       func() time.Time
}

var _ mcp.People = serverQuestions{}

// Ask implements [mcp.People]. It asks whose turn it is, in their direct messages: an answer there is
// theirs and nobody else sees it.
func (s serverQuestions) Ask(ctx context.Context, c tools.Call, q mcp.Question) error {
	t, err := s.store.Turn(ctx, c.Turn)
	if err != nil {
		return fmt.Errorf("look for whose turn it is: %w", err)
	}
	if t.From.Kind != sessionkeys.DM || t.Sender == "" || t.Session != c.Session || messages.JobOf(c.Key, t.Sender, t.From) != "" {
		return mcp.ErrNobody // a group, a scheduled job, a sub-agent
	}
	p := inquiries.Person{Name: t.Sender, Channel: t.Channel, To: t.From, Sign: s.present().sources()[t.Channel].CommandSign}
	err = s.inquiries.AskForCall(ctx, inquiries.Question{Key: callKey(c, q.Server, q.Tool), Person: p.Name, Text: q.Text, Choices: q.Choices}, p,
		inquiries.Call{Session: c.Session, Server: q.Server, Tool: c.Name, Memo: q.Memo})
	if errors.Is(err, inquiries.ErrInvalid) {
		return fmt.Errorf("%w: %w", mcp.ErrNobody, err)
	}
	return err
}

// TakeUp implements [mcp.People].
func (s serverQuestions) TakeUp(ctx context.Context, c tools.Call, server, tool string) (mcp.Reply, error) {
	q, err := s.inquiries.TakeUp(ctx, callKey(c, server, tool), callName(c))
	if errors.Is(err, inquiries.ErrNone) || err == nil && q.Call == nil {
		return mcp.Reply{}, nil
	}
	if err != nil {
		return mcp.Reply{}, err
	}
	r := mcp.Reply{Answer: q.Answer, Memo: q.Call.Memo}
	switch q.State(s.now()) {
	case inquiries.Answered:
		r.State = mcp.Given
	case inquiries.Expired:
		r.State = mcp.TimedOut
	default:
		r.State = mcp.Awaited
	}
	return r, nil
}

// Settle implements [mcp.People].
func (s serverQuestions) Settle(ctx context.Context, c tools.Call, server, tool string, used bool) error {
	return s.inquiries.Settle(ctx, callKey(c, server, tool), callName(c), used)
}

// serverTasks keeps what MCP servers do beyond the time of a call.
type serverTasks struct{ book ongoing.Book }

var _ mcp.Tasks = serverTasks{}

// Keep implements [mcp.Tasks].
func (s serverTasks) Keep(ctx context.Context, c tools.Call, server, tool string, o mcp.Ongoing) error {
	return s.book.Write(ctx, c.Session, callKey(c, server, tool), ongoing.Task{Server: server, ID: o.Task, Answered: o.Answered, TTL: o.TTL, By: callName(c)})
}

// Find implements [mcp.Tasks].
func (s serverTasks) Find(ctx context.Context, c tools.Call, server, tool string) (*mcp.Ongoing, bool, error) {
	t, err := s.book.Read(ctx, c.Session, callKey(c, server, tool))
	if err != nil || t.ID == "" {
		return nil, false, err
	}
	return &mcp.Ongoing{Task: t.ID, Answered: t.Answered, TTL: t.TTL}, t.By == callName(c), nil
}

// Drop implements [mcp.Tasks].
func (s serverTasks) Drop(ctx context.Context, c tools.Call, server, tool string) error {
	return s.book.Drop(ctx, c.Session, callKey(c, server, tool))
}

// callName names this call, and is the same when it is made by the next process.
func callName(c tools.Call) string { return fmt.Sprintf("%s %d %s", c.Turn, c.Step, c.ID) }

// callKey names a call, whenever it is made in its session.
func callKey(c tools.Call, server, tool string) string {
	h := sha256.New()
	for _, part := range []string{string(c.Session), server, tool, string(c.Arguments)} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
