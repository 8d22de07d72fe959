package admin

import (
	"fmt"
	"time"

	"parley/gateway/ops"
	"parley/llm"
	"parley/sessionkeys"
)

// Recent is what became of turns and model calls in the last minutes, in the process
// that was asked. Other processes have their own.
type Recent struct {
	Minutes     int           `json:"minutes"`
	Turns       int           `json:"turns"`
	FailedTurns int           `json:"failed_turns"` // whoever asked was told so
	Models      []RecentModel `json:"models"`       // those that were called
	// LedgerErrors are rows of the ledger that could not be written at once; each is tried again.
	LedgerErrors int `json:"ledger_errors"`
	// Lost is how many accepted messages were found missing since the process started, the last of
	// them at LostAt.
	Lost   int       `json:"lost"`
	LostAt time.Time `json:"lost_at,omitzero"`
	// Failures are the last turns since the process started that ended with an error, at their time
	// limit or at a budget, the latest first.
	Failures []FailedTurn `json:"failures,omitempty"`
}

// FailedTurn is a turn that ended early.
type FailedTurn struct {
	At      time.Time             `json:"at"`
	Turn    string                `json:"turn"`
	Session sessionkeys.SessionID `json:"session"`
	Channel string                `json:"channel"`
	Outcome string                `json:"outcome"` // error, timeout or budget
}

// RecentModel is what became of the calls of one model, each attempt of them. What was
// given up by parley itself, as after /stop, is not among them.
type RecentModel struct {
	Provider    string    `json:"provider"`
	Model       string    `json:"model"`
	Calls       int       `json:"calls"`
	Failed      int       `json:"failed"`
	LastError   string    `json:"last_error,omitempty"` // its kind
	LastErrorAt time.Time `json:"last_error_at,omitzero"`
}

// RecentOf is r as an operator reads it.
func RecentOf(r ops.Recent) Recent {
	all := Recent{Minutes: int(ops.RecentFor / time.Minute), Turns: r.Turns, FailedTurns: r.FailedTurns, Models: []RecentModel{}}
	all.LedgerErrors, all.Lost = r.LedgerErrors, r.Lost
	if r.Lost > 0 {
		all.LostAt = r.LostAt.UTC()
	}
	for _, f := range r.Failures {
		all.Failures = append(all.Failures, FailedTurn{At: f.At.UTC(), Turn: f.Turn, Session: f.Session, Channel: f.Channel, Outcome: f.Outcome})
	}
	for _, m := range r.Models {
		one := RecentModel{Provider: m.Provider, Model: m.Model, Calls: m.Calls, Failed: m.Failed, LastError: string(m.LastError)}
		if m.Failed > 0 {
			one.LastErrorAt = m.LastErrorAt.UTC()
		}
		all.Models = append(all.Models, one)
	}
	return all
}

// isFailing reports whether more calls fail than are answered. Fewer are what retries are
// for.
func (m RecentModel) isFailing() bool { return 2*m.Failed > m.Calls }

// remedy returns what to do about the last error of a model.
func remedy(m RecentModel) string {
	switch llm.Kind(m.LastError) {
	case llm.Auth:
		return fmt.Sprintf("look at the key of the provider (providers.%s.api_key)", m.Provider)
	case llm.Quota:
		return "look at the credit and the limits of your account with the provider"
	case llm.RateLimited:
		return "let fewer turns run at once (worker.turns), or ask the provider for more"
	case llm.Network, llm.Timeout:
		return fmt.Sprintf("look whether this machine reaches the provider (providers.%s.base_url)", m.Provider)
	case llm.Server, llm.Overloaded:
		return "the trouble is the provider's: its status page knows more"
	default:
		return "the log says what the provider said (turn ended early)"
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func givenUpPhrase(n uint64) string {
	if n == 1 {
		return "1 message was"
	}
	return fmt.Sprintf("%d messages were", n)
}
