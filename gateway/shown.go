package gateway

import (
	"context"
	"time"

	"parley/costs"
	"parley/gateway/commands"
	"parley/sessions"
	"parley/transcript"
)

// Answer is an answer that was sent, for programs that run a gateway and show
// what it does.
type Answer struct {
	ID      string
	Turn    string // empty: the answer of a command
	Chat    string // the network's id of the chat
	File    string // the name of a file that a turn sends before its answer; empty: it is a text
	Parts   int    // messages it took
	Session string
	Folder  string       // the session's workspace
	Cost    costs.Amount // what the session and its descendants cost by now
	// Tree is the session and its descendants by now, parents before children.
	// Their own costs add up to Cost.
	Tree []sessions.Session
}

// Subagent is a sub-agent that began or has ended, for the same programs.
type Subagent struct {
	ID     string
	Parent string // the session that started it
	Label  string // what a model called it, on one line
	Depth  int    // 1: started by a person's turn
	Chat   string // the network's id of the chat that it works for

	Ended   bool
	Outcome transcript.FinishReason // when Ended
	Took    time.Duration           // when Ended
	Cost    costs.Amount            // with all below it, by now
}

func answerObserver(ctx context.Context, o Options, folders *workspaces, store sessions.Store) func(sessions.Delivery) {
	if o.Delivered == nil {
		return nil
	}
	return func(d sessions.Delivery) {
		a := Answer{ID: d.ID, Turn: d.Turn, Chat: d.To.Peer, Parts: len(d.Parts), Session: string(d.Session)}
		if d.File != nil {
			a.Parts, a.File = 1, d.File.Name
		}
		if d.Session != "" {
			a.Folder = folders.path(d.Session)
			tree, err := store.Tree(context.WithoutCancel(ctx), d.Session)
			if err != nil {
				o.Logger.Warn("session lookup failed", "error", err)
			} else {
				a.Tree, a.Cost = tree, tree[0].Subtree
			}
		}
		o.Delivered(a)
	}
}

func subagentObserver(report func(Subagent)) func(sessions.Session, sessions.Turn) {
	if report == nil {
		return nil
	}
	return func(s sessions.Session, t sessions.Turn) {
		e := Subagent{
			ID: string(s.ID), Parent: string(s.Parent), Label: commands.Label(s), Depth: s.Depth, Chat: t.From.Peer, Cost: s.Subtree,
		}
		if t.State == sessions.Done {
			e.Ended, e.Outcome, e.Took = true, t.Outcome, t.EndedAt.Sub(t.OpenedAt)
		}
		report(e)
	}
}
