package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/channels/internal/route"
)

// errSendTimeout is why a call ended without an answer.
var errSendTimeout = errors.New("no answer in time")

// answer is what every answer of the Web API has.
type answer struct {
	OK       *bool  `json:"ok"`
	Error    string `json:"error"`
	Needed   string `json:"needed"`
	Metadata struct {
		Messages []string `json:"messages"`
	} `json:"response_metadata"`
}

// call runs one of the library's calls and judges it by what went over the wire.
// chat is the channel that the call is for, or empty. Nothing is sent while Slack
// has asked to wait; then the error says how long is left. Its error is a
// *channels.Error.
func (c *Channel) call(ctx context.Context, method, chat string, run func(ctx context.Context) error) (json.RawMessage, error) {
	if err := c.mayCall(method, chat); err != nil {
		return nil, err
	}
	c.allowance.note(method, chat)
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.SendTimeout, errSendTimeout)
	defer cancel()
	x := &exchange{}
	err := run(context.WithValue(ctx, exchangeKey{}, x))
	if x.err == nil && x.status == 0 {
		return nil, &channels.Error{Kind: channels.Refused, Op: method, Err: fmt.Errorf("make the request: %w", err)}
	}
	result, err := x.result(ctx, method)
	var e *channels.Error
	if errors.As(err, &e) && e.Kind == channels.RateLimit {
		scope, counted := limited(method, chat)
		c.waits.Note(scope, counted, e.RetryAfter)
	}
	return result, err
}

// show is call for what is for show, when that leaves room for what was said; otherwise it
// fails as RateLimit, and nothing was called.
func (c *Channel) show(ctx context.Context, method, chat string, k class, run func(ctx context.Context) error) (json.RawMessage, error) {
	if err := c.allowance.room(method, k); err != nil {
		return nil, err
	}
	return c.call(ctx, method, chat, run)
}

// mayCall is an error while Slack wants to hear nothing of a method.
func (c *Channel) mayCall(method, chat string) error {
	scope, counted := limited(method, chat)
	return c.waits.Check(method, scope, counted)
}

// result is what the call gave, or a *channels.Error that says whether it may
// have had its effect.
func (x *exchange) result(ctx context.Context, method string) (json.RawMessage, error) {
	e := &channels.Error{Op: method, Status: x.status, Err: x.err}
	if x.status == 0 {
		e.Kind = channels.Unsent
		if x.left.Load() {
			e.Kind = channels.Ambiguous
		}
		if cause := context.Cause(ctx); cause != nil {
			e.Err = fmt.Errorf("%w: %w", cause, x.err)
		}
		return nil, e
	}
	var a answer
	known := x.whole && json.Unmarshal(x.body, &a) == nil && a.OK != nil
	switch {
	case x.status == http.StatusTooManyRequests, known && !*a.OK && (a.Error == "ratelimited" || a.Error == "rate_limited"):
		e.Kind, e.RetryAfter, e.Err = channels.RateLimit, retryAfter(x.retry), nil
		e.Message = markup.Brief(a.Error)
	case !known:
		x.withoutAnswer(e)
	case *a.OK:
		return x.body, nil
	default:
		a.classify(e)
	}
	return nil, e
}

// retryAfter is what the header says, which counts whole seconds.
func retryAfter(header string) time.Duration {
	if n, err := strconv.Atoi(header); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return time.Second
}

// withoutAnswer judges an answer that the Web API did not give: something in
// between did, or the answer was cut off.
func (x *exchange) withoutAnswer(e *channels.Error) {
	if x.whole {
		e.Message = markup.Brief(string(x.body))
		if e.Message == "" {
			e.Message = "an empty answer"
		}
	}
	switch {
	case x.status >= 300 && x.status < 400:
		e.Kind = channels.Unsent // a redirect, which is not followed
	case x.status == http.StatusProxyAuthRequired:
		e.Kind, e.Message = channels.Unsent, route.NoCredentials
	case x.status == http.StatusUnauthorized:
		e.Kind = channels.Unauthorized
	case x.status >= 400 && x.status < 500 && x.status != http.StatusRequestTimeout:
		e.Kind = channels.Refused
	default:
		e.Kind = channels.Ambiguous // Slack may have done it, and a gateway gave up
	}
}

// classify says what an error of the Web API means for the message.
func (a *answer) classify(e *channels.Error) {
	e.Message = markup.Brief(a.Error)
	if a.Needed != "" {
		e.Message += ", needed: " + markup.Brief(a.Needed)
	}
	if len(a.Metadata.Messages) > 0 {
		e.Message += ": " + markup.Brief(a.Metadata.Messages[0])
	}
	e.Kind = channels.Refused
	for kind, words := range meanings {
		if slices.Contains(words, a.Error) {
			e.Kind = kind
		}
	}
}

// meanings are the errors that say more than that this message is refused.
var meanings = map[channels.ErrorKind][]string{
	channels.Unauthorized: {
		"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "org_login_required", "ekm_access_denied",
		"team_access_not_granted", "not_allowed_token_type", "missing_scope", "no_permission", "access_denied", "two_factor_setup_required",
	},
	channels.Gone: {
		"channel_not_found", "not_in_channel", "is_archived", "user_not_found", "user_disabled", "cannot_dm_bot", "messages_tab_disabled",
		"restricted_action", "restricted_action_read_only_channel", "restricted_action_non_threadable_channel", "channel_is_limited_access",
		"invalid_channel", "posting_to_channel_denied",
	},
	// Slack: "It's possible some aspect of the operation succeeded before the
	// error was raised."
	channels.Ambiguous: {"internal_error", "fatal_error"},
	channels.Unsent:    {"service_unavailable", "request_timeout", "accesslimited", "team_added_to_org"},
}

// says tells whether Slack refused a call with one of these words.
func says(err error, codes ...string) bool {
	var e *channels.Error
	if !errors.As(err, &e) || e.Status != http.StatusOK {
		return false
	}
	return slices.ContainsFunc(codes, func(c string) bool {
		return e.Message == c || len(e.Message) > len(c) && e.Message[:len(c)] == c && (e.Message[len(c)] == ':' || e.Message[len(c)] == ',')
	})
}

func refused(method, why string) error {
	return &channels.Error{Kind: channels.Refused, Op: method, Message: why}
}
