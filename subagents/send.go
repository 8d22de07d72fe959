package subagents

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"parley/llm"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
)

// send is the tool sessions_send: a further task for a child that has ended.
type send struct{ m *member }

var (
	_ tools.Resumable = send{}
	_ tools.Timed     = send{}
	_ tools.Checker   = send{}
)

const sendText = "Ask a sub-agent of yours, by its child_session, something more: it goes on where it ended, with all it remembers. Returns as sessions_spawn."

const sendSchema = `{"type":"object","required":["session","message"],"properties":{` +
	`"session":{"type":"string","maxLength":64},` +
	`"message":{"type":"string","minLength":1,"maxLength":16000},` +
	`"timeout_seconds":{"type":"integer","minimum":1,"maximum":3600}}}`

func (send) Definition() llm.Definition {
	return llm.Definition{Name: SendName, Description: sendText, Schema: json.RawMessage(sendSchema)}
}

func (send) Category(tools.Call) tools.Category { return tools.Write }
func (send) Resumable() bool                    { return true }
func (send) Timeout(tools.Call) time.Duration   { return -1 } // it keeps its own

type sendInput struct {
	Session string `json:"session"`
	Message string `json:"message"`
	Timeout int    `json:"timeout_seconds"`
}

// Check implements [tools.Checker].
func (send) Check(a tools.Arguments) error {
	_, err := parseSend(a.JSON())
	return err
}

func parseSend(args json.RawMessage) (in sendInput, err error) {
	if err := parseInput(args, &in, "session, message, timeout_seconds"); err != nil {
		return in, err
	}
	if strings.TrimSpace(in.Message) == "" {
		return in, errors.New("message is required")
	}
	return in, nil
}

// Run implements [tools.Tool].
func (s send) Run(ctx context.Context, c tools.Call) (tools.Result, error) {
	in, err := parseSend(c.Arguments)
	if err != nil {
		return tools.Result{}, tools.Errorf(tools.Permanent, "%w", err)
	}
	if s.m == nil {
		return tools.Result{}, tools.Errorf(tools.Permanent, "there are no sub-agents here")
	}
	child, err := s.m.below(ctx, sessionkeys.SessionID(in.Session))
	if err != nil {
		return tools.Result{}, err
	}
	res, err := s.m.do(ctx, child, job{
		turn: sessionkeys.NestedTurn(child.ID, c.Turn, c.Step, c.ID),
		text: in.Message, timeout: time.Duration(in.Timeout) * time.Second,
	})
	return res, s.m.f.r.counted(err)
}

// below finds a child of this member or of its children. Any other session is
// as if it did not exist.
func (m *member) below(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	unknown := tools.Errorf(tools.Permanent, "you have no sub-agent of this name; give the child_session of one")
	child, err := m.f.r.o.Store.Session(ctx, id)
	for at := child; err == nil; at, err = m.f.r.o.Store.Session(ctx, at.Parent) {
		switch at.Parent {
		case m.id:
			return child, nil
		case "":
			return sessions.Session{}, unknown
		}
	}
	if errors.Is(err, sessions.ErrNotFound) {
		return sessions.Session{}, unknown
	}
	return sessions.Session{}, unfinished("look for the sub-agent", err)
}
