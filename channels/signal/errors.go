package signal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/channels"
	"parley/channels/internal/markup"
)

// Codes of signal-cli's errors.
const (
	codeUser      = -1
	codeIO        = -3
	codeUntrusted = -4
	codeRateLimit = -5
	codeCaptcha   = -6
	codeParams    = -32602
	codeInternal  = -32603
	codeNoMethod  = -32601
)

// What became of a message for one recipient.
const (
	success      = "SUCCESS"
	networkFail  = "NETWORK_FAILURE"
	unregistered = "UNREGISTERED_FAILURE"
	identityFail = "IDENTITY_FAILURE"
	rateLimited  = "RATE_LIMIT_FAILURE"
)

// sendResult is what signal-cli says of a send.
type sendResult struct {
	Timestamp int64       `json:"timestamp"`
	Results   []recipient `json:"results"`
}

type recipient struct {
	Address struct {
		UUID   string `json:"uuid"`
		Number string `json:"number"`
	} `json:"recipientAddress"`
	Type       string `json:"type"`
	Token      string `json:"token"`
	RetryAfter int64  `json:"retryAfterSeconds"`
}

func (r recipient) label() string { return cmp.Or(r.Address.UUID, r.Address.Number, "somebody") }

// failures are the recipients that did not get it.
func (s sendResult) failures() []recipient {
	return slices.DeleteFunc(slices.Clone(s.Results), func(r recipient) bool { return r.Type == success })
}

// reachedAny reports whether at least one recipient got the message, or it had none.
func (s sendResult) reachedAny() bool {
	return len(s.Results) == 0 || slices.ContainsFunc(s.Results, func(r recipient) bool { return r.Type == success })
}

// first returns the first recipient with that outcome, or nil.
func (s sendResult) first(kind string) *recipient {
	if i := slices.IndexFunc(s.Results, func(r recipient) bool { return r.Type == kind }); i >= 0 {
		return &s.Results[i]
	}
	return nil
}

// channelError makes of a failed call an *channels.Error.
func (c *client) channelError(op string, err error) *channels.Error {
	e := &channels.Error{Op: op, Err: err}
	var lost *lostError
	var said *rpcError
	switch {
	case errors.As(err, &lost):
		e.Kind = channels.Unsent
		if lost.mayHaveLeft {
			e.Kind = channels.Ambiguous
		}
	case errors.As(err, &said):
		e.Status, e.Message = said.Code, markup.Brief(said.Message)
		c.classify(e, said)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Kind = channels.Unsent
	default:
		e.Kind = channels.Ambiguous
	}
	return e
}

// classify says what an error of signal-cli means for the message.
func (c *client) classify(e *channels.Error, said *rpcError) {
	results := said.Data.Response
	words := strings.ToLower(said.Message)
	switch {
	case said.Code == codeRateLimit, said.Code == codeCaptcha:
		c.markRateLimited(e, results.first(rateLimited))
	case said.Code == codeInternal && strings.Contains(words, "ratelimitexception"):
		e.Kind, e.RetryAfter = channels.RateLimit, c.floods.nextWait(c.o.Flood)
	case said.Code == codeUntrusted:
		c.markUntrusted(e, results)
	case len(results.Results) > 0 && !results.reachedAny():
		c.classifyResults(e, results)
	case strings.Contains(words, "attachmentinvalidexception"):
		e.Kind = channels.Refused // files are looked at before anything is sent
	case said.Code == codeParams && strings.Contains(words, "account does not exist"):
		e.Kind = channels.Unauthorized
		e.Message += "; register or link the account with signal-cli first"
	case said.Code == codeUser && isChatClosed(words):
		e.Kind = channels.Gone
	case said.Code == codeUser, said.Code <= -32600 && said.Code > -32700 && said.Code != codeInternal:
		e.Kind = channels.Refused
	default:
		// codeIO came on the way to the service, an internal error before the message
		// left or after it: what became of it nobody knows.
		e.Kind = channels.Ambiguous
	}
}

// isChatClosed: the words of a refusal that speak of the chat and not of the message. In some groups
// only admins may send anything.
func isChatClosed(words string) bool {
	return slices.ContainsFunc([]string{"group not found", "not a member in group", "not allowed to send message to group", "is not registered"},
		func(w string) bool { return strings.Contains(words, w) })
}

// isUploadCutOff reports whether the words of an internal error say that a file did not reach the
// service's store, or that the store cannot be connected to (AsamK/signal-cli #1777).
func isUploadCutOff(words string) bool { return strings.Contains(words, "(pushnetworkexception)") }

// classifyResults judges a message that reached nobody. What can be mended by
// waiting goes before what cannot.
func (c *client) classifyResults(e *channels.Error, s sendResult) {
	switch {
	case s.first(rateLimited) != nil:
		c.markRateLimited(e, s.first(rateLimited))
	case s.first(networkFail) != nil:
		e.Kind = channels.Ambiguous
		e.Message = cmp.Or(e.Message, "signal-cli has no connection to Signal")
	case s.first(identityFail) != nil:
		c.markUntrusted(e, s)
	case !slices.ContainsFunc(s.Results, func(r recipient) bool { return r.Type != unregistered }):
		e.Kind = channels.Gone
		e.Message = cmp.Or(e.Message, "the person is not registered with Signal any more")
	default:
		e.Kind = channels.Refused
		e.Message = cmp.Or(e.Message, "Signal took it for nobody: "+markup.Brief(s.Results[0].Type))
	}
}

// markRateLimited is a refusal because too much was sent. With a token the service wants
// a captcha to be solved, which only a person can.
func (c *client) markRateLimited(e *channels.Error, r *recipient) {
	e.Kind = channels.RateLimit
	if r != nil && r.RetryAfter > 0 {
		e.RetryAfter = time.Duration(r.RetryAfter) * time.Second
	}
	if r != nil && r.Token == "" {
		e.RetryAfter = max(e.RetryAfter, c.floods.nextWait(c.o.Flood))
		return
	}
	asked := e.RetryAfter
	if e.RetryAfter == 0 || e.RetryAfter > c.o.Challenge { // a captcha may be solved at any moment, and nothing tells of it
		e.RetryAfter = c.o.Challenge
	}
	if r == nil {
		return
	}
	e.Message = "Signal asks for a captcha before it takes more"
	c.o.Log.Error("signal requires a captcha before it accepts more messages from this account: solve one at https://signalcaptchas.org/challenge/generate.html "+
		"and give it to signal-cli with submitRateLimitChallenge", "account", c.o.Account, "challenge", markup.Brief(r.Token), "wait", asked)
}

// markUntrusted is a refusal because somebody's key is another than before.
func (c *client) markUntrusted(e *channels.Error, s sendResult) {
	e.Kind = channels.Refused
	who := "the recipient"
	if r := s.first(identityFail); r != nil {
		who = r.label()
	}
	e.Message = "the key of " + markup.Brief(who) + " is not trusted"
	c.o.Log.Error("message not sent: identity key of its recipient is not trusted; verify the safety number and run parley signal trust",
		"account", c.o.Account, "person", markup.Brief(who))
}

// logMissed tells the operator who of a group did not get a message that others
// got: it is not sent again, since they would get it twice.
func (c *client) logMissed(to string, s sendResult) {
	for _, r := range s.failures() {
		about := []any{"group", to, "person", markup.Brief(r.label()), "reason", markup.Brief(r.Type), "remedy", remedy(r.Type)}
		if r.Token != "" {
			about = append(about, "challenge", markup.Brief(r.Token))
		}
		c.o.Log.Warn("message missed some members of a group", about...)
	}
}

// remedy returns what an operator can do.
func remedy(kind string) string {
	switch kind {
	case identityFail:
		return "make sure of their safety number, and trust it with parley signal trust"
	case unregistered:
		return "nothing: they left Signal"
	case rateLimited:
		return "solve a captcha and give it to signal-cli with submitRateLimitChallenge"
	case networkFail:
		return "look at the connection of signal-cli"
	}
	return fmt.Sprintf("look at signal-cli's own log for %s", markup.Brief(kind))
}
