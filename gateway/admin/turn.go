package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"parley/costs"
	"parley/gateway/budgets"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// TurnDetail is an answer of [Client.Turn]: one turn with every call that it made.
type TurnDetail struct {
	Now     time.Time             `json:"now"`
	Session sessionkeys.SessionID `json:"session"`
	Key     string                `json:"key"`
	Agent   string                `json:"agent"`
	Title   string                `json:"title,omitempty"` // of the root session, if it is one
	Turn    Turn                  `json:"turn"`
	// Refused is the budget that ended it; empty: none did.
	Refused string `json:"refused,omitempty"`
	// Calls are the ledger's rows, in their order: every attempt, and the tools that have a price.
	Calls []Call     `json:"calls"`
	Tools []ToolCall `json:"tools"`
	// Children are the sub-agents that it started, with what is below them.
	Children []Session `json:"children"`
	Own      USD       `json:"own_usd"`   // what Calls add up to
	Total    USD       `json:"total_usd"` // with sub-agents, where a budget of one turn counts them
	// Transcript is what was said in it, when it was asked for.
	Transcript []Message `json:"transcript,omitempty"`
}

// Call is one attempt of a model call, or a call of a tool that has a price.
type Call struct {
	Step     int       `json:"step"`
	Attempt  int       `json:"attempt"`
	Purpose  string    `json:"purpose"`
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Outcome  string    `json:"outcome"` // ok, or how it failed
	At       time.Time `json:"at"`
	Cost     USD       `json:"cost_usd"`
	Priced   bool      `json:"priced"` // false: what it cost is not known
	// Interrupted: it may have cost more than Cost says.
	Interrupted bool `json:"interrupted,omitempty"`

	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Output     int64 `json:"output_tokens"`
}

// ToolCall is one call of a tool, without its words.
type ToolCall struct {
	Step  int    `json:"step"`
	Call  string `json:"call"`
	Tool  string `json:"tool"`
	State string `json:"state"` // waits, ok or error
	Bytes int    `json:"bytes"` // of the result
}

func (desk treeDesk) turn(r *http.Request) (any, error) {
	ctx := r.Context()
	full, err := parseBool(r.URL.Query().Get("transcript"))
	if err != nil {
		return nil, err
	}
	id, err := desk.resolve(ctx, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	session, err := desk.o.Store.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	turns, err := desk.o.Store.TurnsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(turns, func(t sessions.Turn) bool { return t.ID == r.PathValue("turn") })
	if i < 0 {
		return nil, newError(NotFound, "no turn %q in session %s", shorten(r.PathValue("turn"), 100), id)
	}
	d := TurnDetail{
		Now: desk.o.Now().UTC(), Session: id, Key: session.Key.String(), Agent: session.Key.Agent(), Turn: describeTurn(turns[i]),
		Calls: []Call{}, Tools: []ToolCall{}, Children: []Session{},
	}
	if b := turns[i].Refused; b != nil {
		d.Refused = budgets.Describe(b)
	}
	if session.Parent == "" {
		if d.Title, err = desk.titleOf(ctx, id); err != nil {
			return nil, err
		}
	}
	if err := desk.addCalls(ctx, &d); err != nil {
		return nil, err
	}
	return d, desk.addTools(ctx, &d, session.Root, full)
}

func describeTurn(t sessions.Turn) Turn {
	one := Turn{
		ID: t.ID, State: string(t.State), Outcome: string(t.Outcome), Channel: t.Channel, Sender: t.Sender,
		Opened: t.OpenedAt, Steps: t.Steps, Attempts: t.Attempts,
	}
	if t.State == sessions.Done {
		one.Ended = t.EndedAt
	}
	return one
}

// addCalls adds what the ledger says of the turn.
func (desk treeDesk) addCalls(ctx context.Context, d *TurnDetail) error {
	var own costs.Amount
	var wrong error
	err := desk.o.Store.Ledger(ctx, d.Session, func(_ sessionkeys.SessionID, e costs.Entry) bool {
		if e.Call.Turn != d.Turn.ID {
			return true
		}
		d.Calls = append(d.Calls, Call{
			Step: e.Call.Step, Attempt: e.Call.Attempt, Purpose: string(e.Call.Purpose), Provider: e.Labels.Provider, Model: e.Labels.Model,
			Outcome: e.Outcome, At: e.At.UTC(), Cost: USD(e.Amount), Priced: e.Priced, Interrupted: e.State == costs.Interrupted,
			Input: e.Usage.Input, CacheRead: e.Usage.CacheRead, CacheWrite: e.Usage.CacheWrite5m + e.Usage.CacheWrite1h, Output: e.Usage.Output,
		})
		own, wrong = own.Add(e.Amount)
		return wrong == nil
	})
	if err != nil {
		return err
	}
	if wrong != nil {
		return wrong
	}
	settled, _, err := desk.o.Store.Spent(ctx, budgets.TurnScope(d.Turn.ID), desk.o.Now())
	d.Own, d.Total, d.Turn.Cost = USD(own), USD(max(own, settled)), USD(own)
	return err
}

// addTools adds the calls of tools, the sub-agents that they started, and with full what was said.
func (desk treeDesk) addTools(ctx context.Context, d *TurnDetail, root sessionkeys.SessionID, full bool) error {
	history, err := desk.o.Store.Messages(ctx, d.Session)
	if err != nil {
		return err
	}
	history = slices.DeleteFunc(history, func(m transcript.Message) bool {
		id, ok := transcript.ParseMessageID(m.ID)
		return !ok || id.Turn != d.Turn.ID
	})
	at := map[string]int{} // of d.Tools, by the call
	for _, m := range history {
		id, _ := transcript.ParseMessageID(m.ID)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case transcript.ToolCall:
				at[p.ID] = len(d.Tools)
				d.Tools = append(d.Tools, ToolCall{Step: id.Step, Call: p.ID, Tool: p.Name, State: "waits"})
			case transcript.ToolResult:
				if i, ok := at[p.ToolCallID]; ok {
					d.Tools[i].State, d.Tools[i].Bytes = "ok", len(p.Content)
					if p.IsError {
						d.Tools[i].State = "error"
					}
				}
			default: // words
			}
		}
	}
	if full {
		d.Transcript = desk.describeMessages(history)
	}
	tree, err := desk.o.Store.Tree(ctx, root)
	for _, child := range tree {
		if _, ours := at[child.ToolCallID]; ours && child.Parent == d.Session {
			d.Children = append(d.Children, sessionSummary(child))
		}
	}
	return err
}

// Turn returns one turn of the session whose id begins with id; with what was said in it when
// transcript is true.
func (c *Client) Turn(ctx context.Context, id, turn string, transcript bool) (TurnDetail, error) {
	return askFor[TurnDetail](ctx, c.connection, http.MethodGet, "/v1/sessions/"+id+"/turns/"+turn, flagQuery("transcript", transcript), id)
}
