package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/channels"
	"parley/channels/internal/exchange"
	"parley/channels/internal/markup"
)

// answer is the envelope of every answer of the Bot API.
type answer struct {
	OK          *bool           `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Description string          `json:"description"`
	ErrorCode   int             `json:"error_code"`
	Parameters  struct {
		RetryAfter      int64 `json:"retry_after"`
		MigrateToChatID int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// call runs a method that the library does not offer and gives its result. Nil
// params are sent as an empty object, since Telegram reads a JSON body as an
// object or not at all, and refuses null (tdlib, HttpReader::parse_json_parameters).
// Its error is a *channels.Error.
func (c *Channel) call(ctx context.Context, method string, params map[string]any) (json.RawMessage, *exchange.Exchange, error) {
	if params == nil {
		params = map[string]any{}
	}
	ctx, x := exchange.With(ctx)
	if err := c.post(ctx, method, params); err != nil && x.Err == nil && x.Status == 0 {
		return nil, x, &channels.Error{Kind: channels.Refused, Op: method, Err: err}
	}
	result, err := resultOf(ctx, method, x)
	return result, x, err
}

// post posts params as JSON. What came of it is in the exchange of ctx. The library would
// post a form, field by field through a pipe, and reads the whole message that comes back.
func (c *Channel) post(ctx context.Context, method string, params any) error {
	content, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode the parameters: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.APIURL+"/bot"+placeholder+"/"+method, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("post: %w", err)
	}
	return resp.Body.Close() // it was read
}

// callLibrary runs one of the library's calls and judges it by what went over the
// wire, not by what the library says of it.
func (c *Channel) callLibrary(ctx context.Context, method string, run func(ctx context.Context) error) (json.RawMessage, error) {
	return exchange.Call(ctx, c.o.SendTimeout, method, run, resultOf)
}

// resultOf returns what the call gave, or an *channels.Error that says whether it may
// have had its effect.
func resultOf(ctx context.Context, method string, x *exchange.Exchange) (json.RawMessage, error) {
	e, answered := x.Error(ctx, method)
	if !answered {
		return nil, e
	}
	var a answer
	if !x.Whole || json.Unmarshal(x.Body, &a) != nil || a.OK == nil {
		withoutAnswer(x, e)
		return nil, e
	}
	if *a.OK {
		return a.Result, nil
	}
	e.Status = a.ErrorCode
	if e.Status == 0 {
		e.Status = x.Status
	}
	e.Message = markup.Brief(a.Description)
	a.classify(e)
	return nil, e
}

// withoutAnswer judges an answer that the Bot API did not give: something in
// between did, or the answer was cut off.
func withoutAnswer(x *exchange.Exchange, e *channels.Error) {
	x.Foreign(e)
	if x.Status == http.StatusTooManyRequests {
		e.Kind, e.RetryAfter = channels.RateLimit, time.Second
		if n, err := strconv.Atoi(x.Retry); err == nil && n > 0 {
			e.RetryAfter = seconds(int64(n))
		}
	}
}

// classify says what an error of the Bot API means for the message.
func (a *answer) classify(e *channels.Error) {
	words := strings.ToLower(a.Description)
	switch {
	case e.Status == http.StatusTooManyRequests:
		e.Kind = channels.RateLimit
		e.RetryAfter = seconds(max(a.Parameters.RetryAfter, 1))
	case a.Parameters.MigrateToChatID != 0:
		e.Kind, e.MovedTo = channels.Moved, strconv.FormatInt(a.Parameters.MigrateToChatID, 10)
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusNotFound:
		// Telegram Bot API: a token of a wrong form is answered with Not Found.
		e.Kind = channels.Unauthorized
	case e.Status == http.StatusForbidden, e.Status == http.StatusBadRequest && isChatClosed(words):
		e.Kind = channels.Gone
	case strings.Contains(words, "immediately deleted"): // the message was sent, and another bot deleted it
		e.Kind = channels.Refused
	case e.Status == http.StatusInternalServerError && strings.HasSuffix(words, ": restart"): // the server says so to all calls under way
		e.Kind = channels.Ambiguous
	case e.Status == http.StatusConflict, e.Status >= 500:
		e.Kind = channels.Unsent
	default:
		e.Kind = channels.Refused
	}
}

// isChatClosed: the words of a 400 that speak of the chat and not of the message.
func isChatClosed(words string) bool {
	return slices.ContainsFunc([]string{
		"chat not found", "peer_id_invalid", "chat_write_forbidden", "user_is_blocked", "group chat was deactivated",
		"not enough rights to send text messages", "have no rights to send a message",
	}, func(w string) bool { return strings.Contains(words, w) })
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
