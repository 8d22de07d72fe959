package signal

import (
	"fmt"
	"slices"

	"parley/simulators/internal/stage"
)

// Trouble is what goes wrong.
type Trouble string

// Troubles of calls. Those under "applied" send although the client gets no usable
// answer; a message they fall on is marked Unconfirmed.
const (
	// HTTPError answers 500 without a JSON-RPC answer; a socket is closed.
	HTTPError Trouble = "http_error"
	// InternalError answers -32603, IOError -3, UserError -1.
	InternalError Trouble = "internal_error"
	IOError       Trouble = "io_error"
	UserError     Trouble = "user_error"
	// Flooded answers as signal-cli does when Signal says 429 to a part of sending that
	// is nobody's alone: -32603, without a token and without a wait (SendCommand makes
	// an UnexpectedErrorException of it; AsamK/signal-cli #2071).
	Flooded Trouble = "flooded"
	// Dropped cuts the connection before anything is applied.
	Dropped Trouble = "dropped"
	// Hanging never answers, and applies nothing.
	Hanging Trouble = "hanging"
	// Hung lets the whole daemon hang from this call on, as [Server.Hang] does.
	Hung Trouble = "hung"
	// KilledBefore ends the daemon before anything is applied.
	KilledBefore Trouble = "killed_before"

	// RateLimited fails for every recipient, and holds the account to it until
	// submitRateLimitChallenge brings the token back.
	RateLimited Trouble = "rate_limited"
	// Untrusted, Unregistered, NetworkFailure and PreKeyFailure fail for the
	// recipient named by Chat, in direct conversations and in groups, or for all.
	Untrusted      Trouble = "untrusted"
	Unregistered   Trouble = "unregistered"
	NetworkFailure Trouble = "network_failure"
	PreKeyFailure  Trouble = "pre_key_failure"

	// Ambiguous applies, then cuts the connection.
	Ambiguous Trouble = "ambiguous"
	// Truncated applies, then cuts the answer in the middle.
	Truncated Trouble = "truncated"
	// Garbage applies, then answers with what is not JSON.
	Garbage Trouble = "garbage"
	// FloodedAfter applies, then answers as Flooded: it was the copy for one's own other
	// devices that was too much (AsamK/signal-cli #2071, bbernhard/signal-cli-rest-api
	// #714, #881).
	FloodedAfter Trouble = "flooded_after"
	// KilledAfter applies, then ends the daemon.
	KilledAfter Trouble = "killed_after"
)

// Troubles of what is received.
const (
	// Redelivered loses the acknowledgement: the envelope comes again.
	Redelivered Trouble = "redelivered"
	// Broken makes an envelope one that cannot be decrypted.
	Broken Trouble = "broken"
	// StreamCut cuts every client's stream in the middle of the envelope.
	StreamCut Trouble = "stream_cut"
	// Busy keeps the daemon at an envelope that is acknowledged, as a large attachment
	// does, until it is asked to stop receiving or to end. Asked to end it loses it: it
	// forgets its handlers first (ManagerImpl.close), and the one of standard output
	// with them.
	Busy Trouble = "busy"
)

// Fault plans trouble. Without Next, Every and Probability it falls on every
// matching call or envelope until faults are cleared. Of several plans that match
// the first in order falls.
type Fault struct {
	Trouble Trouble `json:"trouble"`
	// Account, Method and Chat narrow the calls; Account and Chat the envelopes,
	// too. Chat is a group's id, an ACI or a number. Zero values match all.
	Account string `json:"account,omitempty"`
	Method  string `json:"method,omitempty"`
	Chat    string `json:"chat,omitempty"`
	// Skip lets that many matching ones pass first.
	Skip int `json:"skip,omitempty"`
	// Next ends the plan after n falls.
	Next int `json:"next,omitempty"`
	// Every falls on each k-th matching one, Probability on a seeded draw.
	Every       int     `json:"every,omitempty"`
	Probability float64 `json:"probability,omitempty"`
	// RetryAfter of RateLimited, in seconds; zero: -1, which signal-cli gives
	// when the service did not say.
	RetryAfter int `json:"retry_after,omitempty"`
}

// trouble is that of the fault; empty: there is none.
func (f *Fault) trouble() Trouble {
	if f == nil {
		return ""
	}
	return f.Trouble
}

// isPartial says whether the trouble is a recipient's, so that in a group it can be
// one member's.
func (t Trouble) isPartial() bool {
	return t == Untrusted || t == Unregistered || t == NetworkFailure || t == PreKeyFailure
}

// scene is where a fault falls.
type scene int

const (
	onCall  scene = iota
	onQueue       // an envelope leaves the service
	onShow        // an envelope goes through the daemon
)

// scene returns where the trouble falls, and false for one that is not known.
func (t Trouble) scene() (scene, bool) {
	switch t {
	case HTTPError, InternalError, IOError, UserError, Flooded, FloodedAfter, Dropped, Hanging, Hung, KilledBefore, RateLimited, Untrusted, Unregistered,
		NetworkFailure, PreKeyFailure, Ambiguous, Truncated, Garbage, KilledAfter:
		return onCall, true
	case Redelivered, Broken:
		return onQueue, true
	case StreamCut, Busy:
		return onShow, true
	}
	return 0, false
}

// Check returns why the fault cannot be planned.
func (f Fault) Check() error {
	if _, ok := f.Trouble.scene(); !ok {
		return fmt.Errorf("%w: unknown trouble %q", stage.ErrFault, f.Trouble)
	}
	if f.RetryAfter < 0 {
		return fmt.Errorf("%w: %s: a number is out of range", stage.ErrFault, f.Trouble)
	}
	return nil
}

// Timing returns which of the calls that match it falls on.
func (f Fault) Timing() stage.Timing {
	return stage.Timing{Skip: f.Skip, Next: f.Next, Every: f.Every, Probability: f.Probability}
}

// ClearFaults ends all plans and every rate limit that still holds. Calls that
// hang go on hanging.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	stage.Clear(&s.plans)
	for _, a := range s.accounts {
		a.limited = nil
	}
}

// draw finds the fault for a call or an envelope, if any, that is about chats; only,
// when given, is the trouble that is asked about. The caller holds the lock.
func (s *chats) draw(a *account, where scene, method string, chats []string, only ...Trouble) *Fault {
	members := slices.Clone(chats)
	for _, id := range chats {
		if g := s.groups[id]; g != nil {
			for _, m := range g.members {
				members = append(members, m)
				if p := s.known[m]; p != nil {
					members = append(members, p.Number)
				}
			}
		}
	}
	f := stage.Draw(&s.plans, s.rng, func(f *Fault) bool {
		chats := chats
		if f.Trouble.isPartial() {
			chats = members
		}
		at, _ := f.Trouble.scene()
		return at == where && (len(only) == 0 || slices.Contains(only, f.Trouble)) &&
			(f.Account == "" || a != nil && (f.Account == a.Number || f.Account == a.ACI)) &&
			(f.Method == "" || f.Method == method) &&
			(f.Chat == "" || slices.Contains(chats, f.Chat))
	})
	if f != nil {
		s.books.totals.Faults++
	}
	return f
}
