package signal

import (
	"fmt"
	"slices"
)

// The types of a recipient's result.
const (
	resultSuccess      = "SUCCESS"
	resultNetwork      = "NETWORK_FAILURE"
	resultUnregistered = "UNREGISTERED_FAILURE"
	resultIdentity     = "IDENTITY_FAILURE"
	resultRateLimit    = "RATE_LIMIT_FAILURE"
	resultPreKey       = "INVALID_PRE_KEY_FAILURE"
)

// limit is a rate limit that holds until a challenge is solved.
type limit struct {
	token string
	after int64 // seconds; -1: the service did not say
}

type wireAddress struct {
	UUID     *string `json:"uuid"`
	Number   *string `json:"number"`
	Username *string `json:"username"`
}

func (a address) wire() wireAddress {
	return wireAddress{UUID: orNull(a.ACI), Number: orNull(a.Number)}
}

// wireResult is what became of a message for one recipient.
type wireResult struct {
	RecipientAddress  wireAddress `json:"recipientAddress"`
	GroupID           string      `json:"groupId,omitempty"`
	Type              string      `json:"type"`
	Token             string      `json:"token,omitempty"`
	RetryAfterSeconds *int64      `json:"retryAfterSeconds,omitempty"`
}

// wireResults is the result of everything that sends.
type wireResults struct {
	Timestamp int64        `json:"timestamp"`
	Results   []wireResult `json:"results"`
}

// limit begins a rate limit. The caller holds the lock.
func (s *Server) limit(a *account, after int) {
	if a.limited == nil {
		a.limited = &limit{token: fmt.Sprintf("challenge-%08x-%d", s.rng.Uint32(), s.id()), after: -1}
	}
	if after > 0 {
		a.limited.after = int64(after)
	}
}

// result decides for one recipient. The caller holds the lock.
func (s *Server) result(c *call, to address) wireResult {
	r := wireResult{RecipientAddress: to.wire(), Type: resultSuccess}
	who := s.people[to.ACI]
	struck := c.fault != nil && (c.fault.Chat == "" || slices.Contains([]string{to.ACI, to.Number}, c.fault.Chat) || !s.isPerson(c.fault.Chat))
	switch {
	case c.account.limited != nil:
		r.Type, r.Token, r.RetryAfterSeconds = resultRateLimit, c.account.limited.token, &c.account.limited.after
	case struck && c.fault.Trouble == Untrusted:
		r.Type = resultIdentity
	case struck && c.fault.Trouble == Unregistered:
		r.Type = resultUnregistered
	case struck && c.fault.Trouble == NetworkFailure:
		r.Type = resultNetwork
	case struck && c.fault.Trouble == PreKeyFailure:
		r.Type = resultPreKey
	case s.isAccount(to.ACI):
	case who == nil || who.gone:
		r.Type = resultUnregistered
	case !s.trusts(c.process, c.account, to.ACI):
		r.Type = resultIdentity
	}
	return r
}

// isPerson tells an ACI or a number from a group's id.
func (s *Server) isPerson(id string) bool {
	return aciShape.MatchString(id) || numberShape.MatchString(id)
}

func (s *Server) isAccount(aci string) bool {
	return slices.ContainsFunc(s.accounts, func(a *account) bool { return a.ACI == aci })
}

// overallError is the error of a call in which nobody was reached, or nil. What failed
// for some stands only in the results.
func overallError(w wireResults) *rpcError {
	only := func(kind string) bool {
		return !slices.ContainsFunc(w.Results, func(r wireResult) bool { return r.Type != kind })
	}
	if len(w.Results) == 0 || slices.ContainsFunc(w.Results, func(r wireResult) bool { return r.Type == resultSuccess }) {
		return nil
	}
	e := userError("Failed to send message")
	switch {
	case only(resultIdentity):
		e = &rpcError{Code: codeUntrusted, Message: "Failed to send message due to untrusted identities"}
	case only(resultRateLimit):
		e = &rpcError{Code: codeRateLimit, Message: "Failed to send message due to rate limiting"}
	}
	e.Data = map[string]any{"response": w}
	return e
}
