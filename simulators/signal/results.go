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
func (s *queues) limit(a *account, after int) {
	if a.limited == nil {
		a.limited = &limit{token: fmt.Sprintf("challenge-%08x-%d", s.rng.Uint32(), s.id()), after: -1}
	}
	if after > 0 {
		a.limited.after = int64(after)
	}
}

// result decides for one recipient. The caller holds the lock.
func (c *call) result(to address) wireResult {
	r := wireResult{RecipientAddress: to.wire(), Type: resultSuccess}
	who := c.known[to.ACI]
	struck := c.fault != nil && (c.fault.Chat == "" || slices.Contains([]string{to.ACI, to.Number}, c.fault.Chat) || !isPerson(c.fault.Chat))
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
	case c.accountByACI(to.ACI) != nil:
	case who == nil || who.gone:
		r.Type = resultUnregistered
	case !c.trusts(c.process, c.account, to.ACI):
		r.Type = resultIdentity
	}
	return r
}

// isPerson tells an ACI or a number from a group's id.
func isPerson(id string) bool {
	return aciShape.MatchString(id) || numberShape.MatchString(id)
}

// checked gives the results, or refuses a call in which nobody was reached. What failed
// for some stands only in the results.
func (w wireResults) checked() wireResults {
	only := func(kind string) bool {
		return !slices.ContainsFunc(w.Results, func(r wireResult) bool { return r.Type != kind })
	}
	if reachedAny(w.Results) {
		return w
	}
	e := userError("Failed to send message")
	switch {
	case only(resultIdentity):
		e = &rpcError{Code: codeUntrusted, Message: "Failed to send message due to untrusted identities"}
	case only(resultRateLimit):
		e = &rpcError{Code: codeRateLimit, Message: "Failed to send message due to rate limiting"}
	}
	e.Data = map[string]any{"response": w}
	panic(e)
}
