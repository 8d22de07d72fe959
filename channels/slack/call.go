package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/slack-go/slack"

	"parley/channels"
	"parley/channels/internal/exchange"
	"parley/channels/internal/markup"
	"parley/channels/internal/receive"
	"parley/channels/internal/route"
)

// webAPI makes the calls of Slack's Web API, as far as the limits and waits allow. Its
// methods may be called concurrently.
type webAPI struct {
	*receive.Account

	o       Options
	way     *route.Route
	http    apiClient
	api     *slack.Client
	limiter *rateLimiter
}

// newWebAPI makes no call. o has its defaults.
func newWebAPI(o Options) *webAPI {
	way := route.New(o.Proxy)
	client := newAPIClient(o, way.Over(o.HTTPClient))
	return &webAPI{
		Account: receive.NewAccount(Network, o.Common, sameEnd), o: o, way: way, http: client, limiter: newRateLimiter(o.Now),
		api: slack.New(placeholder, slack.OptionAppLevelToken(placeholder), slack.OptionAPIURL(o.APIURL), slack.OptionHTTPClient(client)),
	}
}

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
func (c *webAPI) call(ctx context.Context, method, chat string, run func(ctx context.Context) error) (json.RawMessage, error) {
	if err := c.checkWait(method, chat); err != nil {
		return nil, err
	}
	c.limiter.note(method, chat)
	result, err := exchange.Call(ctx, c.o.SendTimeout, method, run, resultOf)
	var e *channels.Error
	if errors.As(err, &e) && e.Kind == channels.RateLimit {
		scope, counted := limitScope(method, chat)
		c.Waits.Note(scope, counted, e.RetryAfter)
	}
	return result, err
}

// callIfRoom is call for what is for show, when that leaves room for what was said; otherwise it
// fails as RateLimit, and nothing was called.
func (c *webAPI) callIfRoom(ctx context.Context, method, chat string, k class, run func(ctx context.Context) error) (json.RawMessage, error) {
	if err := c.limiter.checkRoom(method, k); err != nil {
		return nil, err
	}
	return c.call(ctx, method, chat, run)
}

// checkWait is an error while Slack wants to hear nothing of a method.
func (c *webAPI) checkWait(method, chat string) error {
	scope, counted := limitScope(method, chat)
	return c.Waits.Check(method, scope, counted)
}

// resultOf returns what the call gave, or a *channels.Error that says whether it may
// have had its effect.
func resultOf(ctx context.Context, method string, x *exchange.Exchange) (json.RawMessage, error) {
	e, answered := x.Error(ctx, method)
	if !answered {
		return nil, e
	}
	var a answer
	known := x.Whole && json.Unmarshal(x.Body, &a) == nil && a.OK != nil
	switch {
	case x.Status == http.StatusTooManyRequests, known && !*a.OK && (a.Error == "ratelimited" || a.Error == "rate_limited"):
		e.Kind, e.RetryAfter, e.Err = channels.RateLimit, retryAfter(x.Retry), nil
		e.Message = markup.Brief(a.Error)
	case !known:
		if x.Foreign(e); x.Status == http.StatusUnauthorized {
			e.Kind = channels.Unauthorized
		}
	case *a.OK:
		return x.Body, nil
	default:
		a.classify(e)
	}
	return nil, e
}

// retryAfter returns what the header says, which counts whole seconds.
func retryAfter(header string) time.Duration {
	if n, err := strconv.Atoi(header); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return time.Second
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
	for kind, words := range errorKinds {
		if slices.Contains(words, a.Error) {
			e.Kind = kind
		}
	}
}

// errorKinds are the errors that say more than that this message is refused.
var errorKinds = map[channels.ErrorKind][]string{
	channels.Unauthorized: {
		"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "org_login_required", "ekm_access_denied",
		"team_access_not_granted", "not_allowed_token_type", "missing_scope", "no_permission", "access_denied", "two_factor_setup_required",
	},
	channels.Gone: {
		"channel_not_found", "not_in_channel", "is_archived", "user_not_found", "user_disabled", "cannot_dm_bot", "messages_tab_disabled",
		"restricted_action", "restricted_action_read_only_channel", "channel_is_limited_access",
		"invalid_channel", "posting_to_channel_denied",
	},
	// Slack: "It's possible some aspect of the operation succeeded before the
	// error was raised."
	channels.Ambiguous: {"internal_error", "fatal_error"},
	channels.Unsent:    {"service_unavailable", "request_timeout", "accesslimited", "team_added_to_org"},
}

// hasErrorCode reports whether Slack refused a call with one of these words.
func hasErrorCode(err error, codes ...string) bool {
	var e *channels.Error
	if !errors.As(err, &e) || e.Status != http.StatusOK {
		return false
	}
	return slices.ContainsFunc(codes, func(c string) bool {
		return e.Message == c || len(e.Message) > len(c) && e.Message[:len(c)] == c && (e.Message[len(c)] == ':' || e.Message[len(c)] == ',')
	})
}

func refusedError(method, why string) error {
	return &channels.Error{Kind: channels.Refused, Op: method, Message: why}
}
