package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"parley/gateway/listeners"
)

// Why a gateway cannot be asked.
var (
	// ErrNoGateway means that no gateway answers on the socket.
	ErrNoGateway = errors.New("no gateway is running")
	// ErrNotYours means that the socket belongs to somebody else.
	ErrNotYours = errors.New("the gateway runs as another user")
)

// Client asks the gateway that runs. It may be used concurrently, and so may the
// clients for one kind of thing that it returns.
type Client struct{ connection }

// connection is where a client asks.
type connection struct {
	socket string
	http   *http.Client
	once   string // the id of the next action; empty: the server gives one
}

// AccessClient asks who may write, and decides about it.
type AccessClient struct{ connection }

// LetterClient asks for dead letters.
type LetterClient struct{ connection }

// LinkedClient asks a network's account that is linked by a code.
type LinkedClient struct {
	connection
	network, channel string
}

// MCPClient asks for MCP servers, their tools and logins.
type MCPClient struct{ connection }

// Access asks who may write.
func (c *Client) Access() AccessClient { return AccessClient{c.connection} }

// DeadLetters asks for what could not be processed.
func (c *Client) DeadLetters() LetterClient { return LetterClient{c.connection} }

// Linked asks the account of that channel on a network; with "", the only one there.
func (c *Client) Linked(network, channel string) LinkedClient {
	return LinkedClient{c.connection, network, channel}
}

// MCP asks for MCP servers.
func (c *Client) MCP() MCPClient { return MCPClient{c.connection} }

// NewClient asks on the socket at path. Nothing is connected before the first
// question.
func NewClient(path string) *Client {
	return &Client{connection{socket: path, http: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := listeners.DialSocket(ctx, path)
			if err != nil {
				return nil, err
			}
			return &clientConn{Conn: conn}, nil
		},
	}}}}
}

// Status asks how the gateway is.
func (c *Client) Status(ctx context.Context) (st Status, err error) {
	err = c.request(ctx, http.MethodGet, "/v1/status", nil, &st)
	return st, err
}

// Reload has the gateway read its configuration again. An [*Error] of kind BadConfig says
// every mistake in it.
func (c *Client) Reload(ctx context.Context) (r Reloaded, err error) {
	err = c.request(ctx, http.MethodPost, reloadPath, nil, &r)
	return r, err
}

// Sessions lists root sessions.
func (c *Client) Sessions(ctx context.Context, q SessionQuery) (l SessionList, err error) {
	ask := url.Values{}
	setIfGiven(ask, "since", formatTime(q.Since))
	setIfGiven(ask, "channel", q.Channel)
	if q.ByCost {
		ask.Set("sort", "cost")
	}
	if q.Limit != 0 {
		ask.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Skip != 0 {
		ask.Set("skip", strconv.Itoa(q.Skip))
	}
	err = c.request(ctx, http.MethodGet, "/v1/sessions", ask, &l)
	return l, err
}

// Session returns one session in its tree, whose id begins with id; with what was
// said in it when transcript is true.
func (c *Client) Session(ctx context.Context, id string, transcript bool) (d SessionDetail, err error) {
	if err := checkID(id); err != nil {
		return d, err
	}
	ask := url.Values{}
	if transcript {
		ask.Set("transcript", "1")
	}
	err = c.request(ctx, http.MethodGet, "/v1/sessions/"+id, ask, &d)
	return d, err
}

// Overview is Session without what was said, whose states are looked up for the first so many nodes
// of the tree alone: it asks the store a bounded number of questions.
func (c *Client) Overview(ctx context.Context, id string, states int) (d SessionDetail, err error) {
	if err := checkID(id); err != nil {
		return d, err
	}
	err = c.request(ctx, http.MethodGet, "/v1/sessions/"+id, url.Values{"states": {strconv.Itoa(states)}}, &d)
	return d, err
}

// Usage sums the ledger up.
func (c *Client) Usage(ctx context.Context, q UsageQuery) (u UsageReport, err error) {
	by := string(q.By)
	for _, also := range q.Also {
		by += "," + string(also)
	}
	ask := url.Values{"by": {by}}
	setIfGiven(ask, "since", formatTime(q.Since))
	setIfGiven(ask, "until", formatTime(q.Until))
	err = c.request(ctx, http.MethodGet, "/v1/usage", ask, &u)
	return u, err
}

// List calls yield for each dead letter, oldest first, until it returns
// false.
func (c LetterClient) List(ctx context.Context, yield func(DeadLetter) bool) error {
	ask := url.Values{}
	for {
		var page DeadLetterPage
		if err := c.request(ctx, http.MethodGet, "/v1/dead-letters", ask, &page); err != nil {
			return err
		}
		for _, l := range page.Letters {
			if !yield(l) {
				return nil
			}
		}
		if page.Next == 0 {
			return nil
		}
		ask.Set("after", strconv.FormatUint(page.Next, 10))
	}
}

// Show returns the one whose id begins with id; with what is kept of it when
// body is true.
func (c LetterClient) Show(ctx context.Context, id string, body bool) (d DeadLetterDetail, err error) {
	if err := checkID(id); err != nil {
		return d, err
	}
	ask := url.Values{}
	if body {
		ask.Set("body", "1")
	}
	err = c.request(ctx, http.MethodGet, "/v1/dead-letters/"+id, ask, &d)
	return d, err
}

// Redeliver gives a dead letter to the bot again: its message is queued as if
// it had just come, and then the letter is forgotten. Doing it again, whatever
// happened the first time, adds nothing. A letter that cannot be redelivered is
// an [Error] of kind Refused, and stays. place is that of the letter, or 0 to
// look for the one whose id begins with id.
func (c LetterClient) Redeliver(ctx context.Context, id string, place uint64) (DeadLetter, error) {
	return c.change(ctx, http.MethodPost, id, "/redeliver", place)
}

// Drop forgets a dead letter, named as for Redeliver.
func (c LetterClient) Drop(ctx context.Context, id string, place uint64) (DeadLetter, error) {
	return c.change(ctx, http.MethodDelete, id, "", place)
}

func (c LetterClient) change(ctx context.Context, method, id, what string, place uint64) (l DeadLetter, err error) {
	if err := checkID(id); err != nil {
		return l, err
	}
	ask := c.actionQuery(nil)
	if place > 0 {
		ask.Set("place", strconv.FormatUint(place, 10))
	}
	err = c.request(ctx, method, "/v1/dead-letters/"+id+what, ask, &l)
	return l, err
}

func setIfGiven(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// maxAnswer bounds what is read: more than any answer has.
const maxAnswer = 256 << 20

// request sends one question. Its error is an *[Error] when the gateway answered
// one, and ErrNoGateway or ErrNotYours when none can be asked.
func (c connection) request(ctx context.Context, method, path string, query url.Values, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin+20*time.Second)
	defer cancel()
	u := url.URL{Scheme: "http", Host: "gateway", Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return fmt.Errorf("ask the gateway: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreachableError(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = fmt.Errorf("answer larger than %d bytes", maxAnswer)
	}
	if err != nil {
		return fmt.Errorf("read the gateway's answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return decodeError(resp, body)
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("read the gateway's answer: %w", err)
	}
	return nil
}

// readError is the error that the gateway answered with.
func readError(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return fmt.Errorf("read the gateway's answer: %w", err)
	}
	return decodeError(resp, body)
}

func decodeError(resp *http.Response, body []byte) error {
	e := &Error{Status: resp.StatusCode}
	if json.Unmarshal(body, e) == nil && e.Message != "" {
		return e
	}
	e.Kind, e.Message = Failed, "the gateway answered "+resp.Status
	if c := resp.StatusCode; c == http.StatusNotFound || c == http.StatusMethodNotAllowed { // by its router, before any code of ours
		e.Kind = NotFound
		e.Message = fmt.Sprintf("the gateway does not know %s %s: is it as new as this program?", resp.Request.Method, resp.Request.URL.Path)
	}
	return e
}

func (c connection) unreachableError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return ErrNoGateway
	case errors.Is(err, fs.ErrPermission), errors.Is(err, ErrNotYours):
		return fmt.Errorf("%w: only that user and root may use %s", ErrNotYours, c.socket)
	}
	// The address in front says nothing: it is always the same.
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return fmt.Errorf("ask the gateway on %s: %w", c.socket, err)
}
