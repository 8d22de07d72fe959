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

// sendTool is the tool sessions_send: a further task for a child that has ended.
type sendTool struct{ m *turnNode }

var (
	_ tools.Resumable = sendTool{}
	_ tools.Timed     = sendTool{}
	_ tools.Checker   = sendTool{}
	_ tools.Announcer = sendTool{}

	_ tools.Delegating = sendTool{}
)

const sendText = "Ask a sub-agent of yours, by its child_session, something more: it goes on where it ended, with all it remembers. Returns as sessions_spawn."

const sendSchema = `{"type":"object","required":["session","message"],"properties":{` +
	`"session":{"type":"string","maxLength":64},` +
	`"message":{"type":"string","minLength":1,"maxLength":16000},` +
	`"timeout_seconds":{"type":"integer","minimum":1,"maximum":3600}}}`

func (sendTool) Definition() llm.Definition {
	return llm.Definition{Name: SendName, Description: sendText, Schema: json.RawMessage(sendSchema)}
}

func (sendTool) Category(tools.Call) tools.Category { return tools.Write }
func (sendTool) Delegates()                         {}
func (sendTool) Resumable() bool                    { return true }
func (sendTool) Timeout(tools.Call) time.Duration   { return -1 } // it keeps its own

// Announcement implements [tools.Announcer].
func (sendTool) Announcement() tools.Announcement {
	return tools.Announcement{Doing: "Asking a sub-agent again"}
}

type sendInput struct {
	Session string `json:"session"`
	Message string `json:"message"`
	Timeout int    `json:"timeout_seconds"`
}

// Check implements [tools.Checker].
func (sendTool) Check(a tools.Arguments) error {
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
func (s sendTool) Run(ctx context.Context, c tools.Call) (tools.Result, error) {
	in, err := parseSend(c.Arguments)
	if err != nil {
		return tools.Result{}, tools.Errorf(tools.Permanent, "%w", err)
	}
	if s.m == nil {
		return tools.Result{}, tools.Errorf(tools.Permanent, "there are no sub-agents here")
	}
	child, err := s.m.findDescendant(ctx, sessionkeys.SessionID(in.Session))
	if err != nil {
		return tools.Result{}, err
	}
	res, err := s.m.runJob(ctx, child, job{
		turn: sessionkeys.NestedTurn(child.ID, c.Turn, c.Step, c.ID), call: c.ID,
		text: in.Message, timeout: time.Duration(in.Timeout) * time.Second,
	})
	return res, s.m.tree.runner.countIfBusy(err)
}

// findDescendant finds a child of this member or of its children. Any other session is
// as if it did not exist.
func (m *turnNode) findDescendant(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	unknown := tools.Errorf(tools.Permanent, "you have no sub-agent of this name; give the child_session of one")
	child, err := m.tree.runner.o.Store.Session(ctx, id)
	for at := child; err == nil; at, err = m.tree.runner.o.Store.Session(ctx, at.Parent) {
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
	return sessions.Session{}, unfinishedError("look for the sub-agent", err)
}
