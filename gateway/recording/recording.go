// Package recording is one session's whole history as lines of JSON: written
// from a store and its message log, and read again.
//
// Each line is an object with a "type". The first is the header, the last is the
// end; a file without an end was cut off. Between them stand, for the session at
// the root of the tree, and within it for each of its sub-agents behind the call
// that started it:
//
//	session    whose conversation this is
//	envelope   what came, as it was in the log, or that the log has it no more
//	turn       a message of a person, or a task, and how it went
//	message    an entry of the transcript: what was said, an answer with its
//	           tool calls, a tool's result
//	frame      system message, tools and options of requests, once each
//	request    what a model was asked: a frame, how many messages, a digest
//	cost       the row of the ledger that the request became
//	delivery   an answer on its way out, with its parts as they were rendered
//
// Money is whole pico-dollars (10⁻¹² USD). Times are RFC 3339 in UTC. A reader
// passes over fields that it does not know; a change that it could not pass over
// raises [Version].
//
// Configured secrets are taken out of every text. What people said is not: a
// recording is as private as the conversation.
package recording

import (
	"encoding/json"
	"time"

	"parley/agent/pressure"
	"parley/agent/prompt"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/budgets"
	"parley/gateway/goals"
	"parley/llm"
	"parley/sessionkeys"
	"parley/subagents"
	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/mcp"
	"parley/tools/programs"
	"parley/tools/shell/policy"
	"parley/tools/skills"
	"parley/transcript"
)

// Format and Version stand in every header.
const (
	Format  = "parley-recording"
	Version = 1
)

// Kinds of lines.
const (
	TypeHeader   = "header"
	TypeSession  = "session"
	TypeEnvelope = "envelope"
	TypeTurn     = "turn"
	TypeMessage  = "message"
	TypeFrame    = "frame"
	TypeRequest  = "request"
	TypeCost     = "cost"
	TypeDelivery = "delivery"
	TypeEnd      = "end"
)

// Header is the first line.
type Header struct {
	Type       string                `json:"type"`
	Format     string                `json:"format"`
	Version    int                   `json:"version"`
	Parley     string                `json:"parley"` // the program's version
	Exported   time.Time             `json:"exported"`
	Session    sessionkeys.SessionID `json:"session"` // the root of the tree
	Key        string                `json:"key"`
	Agent      string                `json:"agent"`
	Model      string                `json:"model"`      // provider/model of the agent
	Generation string                `json:"generation"` // of the log whose places the envelopes have
	Setup      Setup                 `json:"setup"`
	Prices     []Price               `json:"prices"`
}

// Setup is what of the configuration decides about requests, as it was at the
// export.
type Setup struct {
	Agents    map[string]Agent `json:"agents"`
	Subagents subagents.Config `json:"subagents"`
	Context   pressure.Policy  `json:"context,omitzero"` // zero: the defaults
	Goals     *goals.Config    `json:"goals,omitempty"`  // null: there were none yet
	Bash      *Bash            `json:"bash,omitempty"`   // null: no agent could have the tool
	// Environment is what scripts and the operator's command lines had set, as NAME=value.
	Environment []string        `json:"environment,omitempty"`
	Commands    *Commands       `json:"commands,omitempty"` // null: there were none
	Web         *Web            `json:"web,omitempty"`      // null: no agent could have the tools
	MCP         []mcp.Recording `json:"mcp,omitempty"`      // tools of MCP servers, as they were offered
	// ToolPrices are what a call cost of the tools that had a price.
	ToolPrices map[string]costs.Amount `json:"tool_prices,omitempty"`

	Approvals approvals.Config    `json:"approvals,omitzero"`  // how people were asked to permit calls
	Approvers map[string][]string `json:"approvers,omitempty"` // who could, by channel instance
	// PrivateQuestions are the channel instances where only they were shown questions in groups.
	PrivateQuestions []string `json:"private_questions,omitempty"`

	Guests map[string][]string `json:"guests,omitempty"` // for whom tools only read, by channel instance
	Pause  budgets.Pause       `json:"pause,omitzero"`   // which budgets could be raised

	Schedules bool `json:"schedules,omitempty"` // agents could have the tool schedule

	Jobs map[string]Job `json:"jobs,omitempty"` // the one whose run it is; none: people's
}

// Job is what a run of a scheduled job might do.
type Job struct {
	Tools         []string     `json:"tools,omitempty"` // that might write, or more with AllowAdmin
	AllowAdmin    bool         `json:"allow_admin,omitempty"`
	MaxIterations int          `json:"max_iterations"`
	MaxCost       costs.Amount `json:"max_cost,omitempty"`
}

// Web is which of the tools web_fetch and web_search agents could have.
type Web struct {
	Fetch  tools.Category `json:"fetch,omitempty"` // of web_fetch; "": there was none
	Search bool           `json:"search,omitempty"`
}

// Bash is the tool bash as it judged scripts.
type Bash struct {
	Policy policy.Config `json:"policy"`
	Inside string        `json:"inside,omitempty"` // what the workspace was called for scripts; "": by its own path
	Where  string        `json:"where,omitempty"`  // what ran them, as people were told
	// Network is where they could connect to.
	Network programs.Network `json:"network,omitzero"`
}

// Commands is the operator's command-line tools, without their environment.
type Commands struct {
	Tools  []commandline.Spec `json:"tools"`
	Inside string             `json:"inside,omitempty"` // as of Bash
	Where  string             `json:"where,omitempty"`  // as of Bash
}

// Agent is one agent of the configuration.
type Agent struct {
	Provider string   `json:"provider"`
	Model    string   `json:"model"`
	Family   string   `json:"family"` // the part of the price list that holds for the provider
	Prompt   string   `json:"prompt"`
	MaxSteps int      `json:"max_iterations"`
	MaxTok   int      `json:"max_tokens"`
	Window   int      `json:"window,omitempty"`
	Tools    []string `json:"tools"` // null: all
	DoneTool bool     `json:"done_tool,omitempty"`

	// What ends its turns besides.
	Middleware    []string     `json:"middleware,omitempty"` // null: all
	MaxTurnCost   costs.Amount `json:"max_turn_cost,omitempty"`
	MaxTurnTokens int64        `json:"max_turn_tokens,omitempty"`

	Parameters llm.Parameters `json:"parameters,omitzero"`  // how its model is asked
	Fallbacks  []Fallback     `json:"fallbacks,omitempty"`  // that answer when its model does not work
	Choices    []Fallback     `json:"choices,omitempty"`    // that people may choose; its own may be among them
	Summariser *Fallback      `json:"summariser,omitempty"` // that is asked for summaries
	// The operator's instructions and skills, as they were read last before the export.
	Instructions []prompt.File  `json:"instructions,omitempty"`
	Skills       []skills.Skill `json:"skills,omitempty"`
}

// Fallback is a model that an agent falls back to.
type Fallback struct {
	Provider   string         `json:"provider"`
	Model      string         `json:"model"`
	Family     string         `json:"family"`
	MaxTok     int            `json:"max_tokens"`
	Window     int            `json:"window,omitempty"`
	Parameters llm.Parameters `json:"parameters,omitzero"`
}

// Price is what a model cost at the export.
type Price struct {
	Provider string       `json:"provider"` // as the operator names it
	Model    string       `json:"model"`
	Price    *costs.Price `json:"price"`
}

// Session is one session of the tree.
type Session struct {
	Type     string                `json:"type"`
	ID       sessionkeys.SessionID `json:"session"`
	Parent   sessionkeys.SessionID `json:"parent,omitempty"`
	Key      string                `json:"key"`
	Depth    int                   `json:"depth"`
	Role     string                `json:"role"`
	Title    string                `json:"title,omitempty"`
	ToolCall string                `json:"tool_call,omitempty"` // that started it
	Policy   json.RawMessage       `json:"policy,omitempty"`    // what it may
	Messages int                   `json:"messages"`
	Own      costs.Amount          `json:"own"`
	Subtree  costs.Amount          `json:"subtree"`
	Held     costs.Amount          `json:"held"`
	Unpriced int                   `json:"unpriced"`
	Created  time.Time             `json:"created"`
	Goal     string                `json:"goal,omitempty"` // active when its first turn began
	Plan     bool                  `json:"plan,omitempty"` // it was in plan mode then

	Approvals []approvals.Request `json:"approvals,omitempty"` // what people were asked to permit
}

// Envelope is a message of the log.
type Envelope struct {
	Type    string                `json:"type"`
	Session sessionkeys.SessionID `json:"session"`
	Seq     uint64                `json:"seq"`
	ID      string                `json:"id,omitempty"`
	At      time.Time             `json:"at,omitzero"` // when it was stored
	Body    json.RawMessage       `json:"body,omitempty"`
	// Pruned: the turn of this place was opened by it, and the log has it no
	// more.
	Pruned bool `json:"pruned,omitempty"`
}

// Turn is a turn as it stood at the export.
type Turn struct {
	Type     string                  `json:"type"`
	Session  sessionkeys.SessionID   `json:"session"`
	ID       string                  `json:"turn"`
	Seq      uint64                  `json:"seq"`
	State    string                  `json:"state"`
	Outcome  transcript.FinishReason `json:"outcome,omitempty"`
	Attempts int                     `json:"attempts"` // more than one: a crash or an error was in between
	Steps    int                     `json:"steps"`
	Tries    int                     `json:"tries"`
	Channel  string                  `json:"channel"`
	From     sessionkeys.Address     `json:"from"`
	ReplyTo  string                  `json:"reply_to,omitempty"`
	Sender   string                  `json:"sender"`
	Joined   []uint64                `json:"joined,omitempty"` // places of the envelopes that joined it
	Received time.Time               `json:"received"`
	Opened   time.Time               `json:"opened"`
	Ended    time.Time               `json:"ended,omitzero"`
	Refused  *costs.BudgetError      `json:"refused,omitempty"` // why the budgets ended it
}

// Message is an entry of a transcript.
type Message struct {
	Type    string                `json:"type"`
	Session sessionkeys.SessionID `json:"session"`
	No      int                   `json:"no"` // from 1
	// Message is the stored form of package transcript.
	Message json.RawMessage `json:"message"`
}

// Template is what requests say besides their messages: the JSON form of llm.RequestTemplate.
type Template struct {
	Type     string          `json:"type"`
	Name     string          `json:"name"`
	Template json.RawMessage `json:"frame"`
}

// Request is one attempt of a model call.
type Request struct {
	Type     string                `json:"type"`
	Session  sessionkeys.SessionID `json:"session"`
	Turn     string                `json:"turn"`
	ID       string                `json:"id"` // turn/purpose/step/attempt
	At       time.Time             `json:"at"`
	Upper    costs.Amount          `json:"upper"` // what was reserved
	Template string                `json:"frame"`
	// Messages is how many of the transcript were sent; Tail those behind them
	// that no transcript has.
	Messages  int               `json:"messages"`
	Tail      []json.RawMessage `json:"tail,omitempty"`
	MaxTokens int               `json:"max_tokens"`
	Digest    string            `json:"digest"` // of frame and messages, as package llm makes it
}

// Cost is a row of the ledger.
type Cost struct {
	Type    string                `json:"type"`
	Session sessionkeys.SessionID `json:"session"`
	Entry   costs.Entry           `json:"entry"`
}

// Delivery is an answer on its way out.
type Delivery struct {
	Type    string                `json:"type"`
	Session sessionkeys.SessionID `json:"session"`
	ID      string                `json:"id"`
	Turn    string                `json:"turn,omitempty"`
	Channel string                `json:"channel"`
	To      sessionkeys.Address   `json:"to"`
	ReplyTo string                `json:"reply_to,omitempty"`
	Text    string                `json:"text"`           // Markdown
	File    *File                 `json:"file,omitempty"` // in place of a text
	At      time.Time             `json:"at"`
	Parts   []Part                `json:"parts"`
}

// File is a file that was sent. What it held is not in a recording.
type File struct {
	Name string `json:"name"`
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size"`
}

// Part is one message of a delivery. A file has two: itself, and a sentence that
// stands in its place when it could not be sent; one of them fails.
type Part struct {
	Body      json.RawMessage `json:"body"`
	State     string          `json:"state"`
	Attempts  int             `json:"attempts"`
	MessageID string          `json:"message_id,omitempty"`
	Repeats   int             `json:"repeats,omitempty"` // how often it was sent although the one before may have arrived
	Reason    string          `json:"reason,omitempty"`  // why it failed, as people are told
	Problem   string          `json:"problem,omitempty"`
	At        time.Time       `json:"at"`
}

// End is the last line.
type End struct {
	Type  string `json:"type"`
	Lines int    `json:"lines"` // before it
}
