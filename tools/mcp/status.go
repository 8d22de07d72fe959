package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"parley/tools"
	"parley/tools/mcp/oauth"
)

// State is how a server is.
type State string

// States of servers.
const (
	Starting State = "starting"
	Up       State = "up"
	Down     State = "down" // it is tried again
	// NeedsLogin means that its operator has to log in at it; Problem says how.
	NeedsLogin State = "needs login"
	Off        State = "off" // it is not started
	Stopped    State = "stopped"
)

// Cause describes what the problem of a server comes of.
type Cause string

// Causes. Any other problem is the server's own: it does not start, does not answer, or speaks no MCP.
const (
	NoLogin    Cause = "no login"    // nobody has logged in at it
	LoginOver  Cause = "login over"  // somebody has to log in again
	MoreRights Cause = "more rights" // the login has too few
	NoToken    Cause = "no token"    // there is a login, and no token can be had by it
	TokenDue   Cause = "token due"   // an examination has left a token alone that is to be replaced
	Refused    Cause = "refused"     // it does not take the operator's token, or permits nothing with it
)

// causeOf returns what an error comes of.
func causeOf(err error) Cause {
	need, ok := errors.AsType[*oauth.LoginError](err)
	switch {
	case ok && need.More:
		return MoreRights
	case ok && need.Why != "":
		return LoginOver
	case ok:
		return NoLogin
	case errors.Is(err, oauth.ErrDue):
		return TokenDue
	case errors.Is(err, errHeaderToken), errors.Is(err, oauth.ErrForbidden):
		return Refused
	}
	if _, ok := errors.AsType[*oauth.TokenError](err); ok {
		return NoToken
	}
	return ""
}

// ToolState is whether a tool is offered, and why not.
type ToolState string

// States of tools.
const (
	Offered ToolState = "offered"
	New     ToolState = "new"     // nobody has consented to it yet
	Changed ToolState = "changed" // it is not what the operator has consented to
	Missing ToolState = "missing" // the server does not have it
	Unfit   ToolState = "unfit"   // it cannot be offered as it is
	Unknown ToolState = "unknown" // the server has not been there yet
	Unused  ToolState = "unused"  // the configuration does not name it
)

// Status is how a server is, at one moment. What the server said of itself is made fit to be
// shown.
type Status struct {
	Name     string    `json:"name"`
	Where    string    `json:"where"`
	State    State     `json:"state"`
	Since    time.Time `json:"since"`
	Problem  string    `json:"problem,omitempty"`
	Cause    Cause     `json:"cause,omitempty"` // of the problem, as far as it is known
	Protocol string    `json:"protocol,omitempty"`
	Version  string    `json:"version,omitempty"` // as the server calls itself
	Network  bool      `json:"network,omitempty"` // its program has the machine's
	Hosts    []string  `json:"hosts,omitempty"`   // all that its program reaches, if that has another network
	// Login is how parley is logged in at it; nil: it is not.
	Login *oauth.Status `json:"login,omitempty"`
	Tools []ToolStatus  `json:"tools"`
}

// ToolStatus is how a tool is.
type ToolStatus struct {
	Tool       string         `json:"tool"`           // as the server calls it
	Name       string         `json:"name,omitempty"` // by which agents have it
	Category   tools.Category `json:"category,omitempty"`
	Idempotent bool           `json:"idempotent,omitempty"`
	State      ToolState      `json:"state"`
	Why        string         `json:"why,omitempty"`
	// What the server says of it now; what was consented to, if the server was not there yet.
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Hints       json.RawMessage `json:"hints,omitempty"`
	Digest      string          `json:"digest,omitempty"`
}

// Definition returns what the server says of the tool.
func (t ToolStatus) Definition() Definition {
	return Definition{t.Tool, t.Description, t.Schema, t.Hints, t.Digest}
}

// offers reports whether a tool that was offered when a turn began is offered still, as it was
// described then.
func (s *server) offers(t *Tool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, _ := s.stateLocked(t.config.Name)
	return state == Offered && s.consents[t.config.Name].Digest == t.definition.Digest
}

// stateLocked returns whether a tool of the configuration is offered, and why not. The caller
// holds s.mu.
func (s *server) stateLocked(tool string) (ToolState, string) {
	consent, consented := s.consents[tool]
	now, listed := s.listed[tool]
	switch {
	case s.listed != nil && !listed:
		return Missing, "the server has no tool of that name"
	case listed && s.unfit[tool] != "":
		return Unfit, s.unfit[tool]
	case !consented && !listed:
		return Unknown, "the server has not been there yet"
	case !consented:
		return New, "nobody has consented to it yet"
	case listed && now.Digest != consent.Digest:
		return Changed, "the server describes it otherwise than when its operator consented to it"
	}
	return Offered, ""
}

// offered returns the tools that may be offered now.
func (s *server) offered() (all []*Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Off {
		return nil
	}
	for _, c := range s.c.Tools {
		if state, _ := s.stateLocked(c.Name); state == Offered {
			all = append(all, &Tool{server: s, name: s.c.Name, where: s.c.Network.Around(s.c.Where()), config: c, definition: s.consents[c.Name], timeout: s.c.Timeout})
		}
	}
	return all
}

func (s *server) status() Status {
	login := s.loginStatus()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{
		Name: s.c.Name, Where: s.c.Where(), State: s.state, Since: s.since.UTC(), Problem: s.problem, Cause: s.cause,
		Protocol: s.protocol, Version: s.version, Network: s.c.Network.Whole, Hosts: s.c.Network.Hosts, Login: login, Tools: []ToolStatus{},
	}
	about := func(t ToolStatus) ToolStatus {
		d, ok := s.listed[t.Tool]
		if !ok {
			d = s.consents[t.Tool]
		}
		t.Description, t.Schema, t.Hints, t.Digest = d.Description, d.Schema, d.Hints, d.Digest
		return t
	}
	named := map[string]bool{}
	for _, c := range s.c.Tools {
		state, why := s.stateLocked(c.Name)
		named[c.Name] = true
		st.Tools = append(st.Tools, about(ToolStatus{
			Tool: c.Name, Name: ToolName(s.c.Name, c.Name), Category: c.category(), Idempotent: c.Idempotent, State: state, Why: why,
		}))
	}
	for _, name := range slices.Sorted(maps.Keys(s.listed)) {
		if !named[name] {
			st.Tools = append(st.Tools, about(ToolStatus{Tool: name, State: Unused, Why: "the configuration does not name it"}))
		}
	}
	return st
}
