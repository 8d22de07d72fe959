package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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
func (c *Client) Status(ctx context.Context) (Status, error) {
	return askFor[Status](ctx, c.connection, http.MethodGet, "/v1/status", nil)
}

// Reload has the gateway read its configuration again. An [*Error] of kind BadConfig says
// every mistake in it.
func (c *Client) Reload(ctx context.Context) (Reloaded, error) {
	return askFor[Reloaded](ctx, c.connection, http.MethodPost, reloadPath, nil)
}

// Sessions lists root sessions.
func (c *Client) Sessions(ctx context.Context, q SessionQuery) (SessionList, error) {
	ask := dropEmpty(url.Values{"since": {formatTime(q.Since)}, "channel": {q.Channel}})
	if q.ByCost {
		ask.Set("sort", "cost")
	}
	if q.Limit != 0 {
		ask.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Skip != 0 {
		ask.Set("skip", strconv.Itoa(q.Skip))
	}
	return askFor[SessionList](ctx, c.connection, http.MethodGet, "/v1/sessions", ask)
}

// Session returns one session in its tree, whose id begins with id; with what was
// said in it when transcript is true.
func (c *Client) Session(ctx context.Context, id string, transcript bool) (SessionDetail, error) {
	return askFor[SessionDetail](ctx, c.connection, http.MethodGet, "/v1/sessions/"+id, flagQuery("transcript", transcript), id)
}

// Overview is Session without what was said, whose states are looked up for the first so many nodes
// of the tree alone: it asks the store a bounded number of questions.
func (c *Client) Overview(ctx context.Context, id string, states int) (SessionDetail, error) {
	return askFor[SessionDetail](ctx, c.connection, http.MethodGet, "/v1/sessions/"+id, url.Values{"states": {strconv.Itoa(states)}}, id)
}

// Usage sums the ledger up.
func (c *Client) Usage(ctx context.Context, q UsageQuery) (UsageReport, error) {
	by := string(q.By)
	for _, also := range q.Also {
		by += "," + string(also)
	}
	return askFor[UsageReport](ctx, c.connection, http.MethodGet, "/v1/usage",
		dropEmpty(url.Values{"by": {by}, "since": {formatTime(q.Since)}, "until": {formatTime(q.Until)}}))
}

// List calls yield for each dead letter, oldest first, until it returns
// false.
func (c LetterClient) List(ctx context.Context, yield func(DeadLetter) bool) error {
	ask := url.Values{}
	for {
		page, err := askFor[DeadLetterPage](ctx, c.connection, http.MethodGet, "/v1/dead-letters", ask)
		if err != nil {
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
func (c LetterClient) Show(ctx context.Context, id string, body bool) (DeadLetterDetail, error) {
	return askFor[DeadLetterDetail](ctx, c.connection, http.MethodGet, "/v1/dead-letters/"+id, flagQuery("body", body), id)
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

func (c LetterClient) change(ctx context.Context, method, id, what string, place uint64) (DeadLetter, error) {
	ask := c.actionQuery(url.Values{})
	if place > 0 {
		ask.Set("place", strconv.FormatUint(place, 10))
	}
	return askFor[DeadLetter](ctx, c.connection, method, "/v1/dead-letters/"+id+what, ask, id)
}

// actionQuery returns q with the id of the client's action.
func (c connection) actionQuery(q url.Values) url.Values {
	q.Set("once", c.once)
	return dropEmpty(q)
}

// dropEmpty returns q without the parameters that are empty.
func dropEmpty(q url.Values) url.Values {
	maps.DeleteFunc(q, func(_ string, values []string) bool { return values[0] == "" })
	return q
}

// flagQuery returns the parameters of a question of which one is a flag.
func flagQuery(name string, set bool) url.Values {
	if set {
		return url.Values{name: {"1"}}
	}
	return url.Values{}
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// maxAnswer bounds what is read: more than any answer has.
const maxAnswer = 256 << 20

// askFor sends one question, and returns its answer. ids are those that the question names: it is
// not sent when one of them can be none.
func askFor[T any](ctx context.Context, c connection, method, path string, query url.Values, ids ...string) (answer T, err error) {
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return answer, err
		}
	}
	err = c.request(ctx, method, path, query, &answer)
	return answer, err
}

// request sends one question. Its error is that of open, or says that the answer cannot be read.
func (c connection) request(ctx context.Context, method, path string, query url.Values, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin+20*time.Second)
	defer cancel()
	return c.send(ctx, method, path, query, nil, answer)
}

// send is request with a body, for as long as ctx allows.
func (c connection) send(ctx context.Context, method, path string, query url.Values, body io.Reader, answer any) error {
	resp, err := c.open(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := readAnswer(resp)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("read the gateway's answer: %w", err)
	}
	return nil
}

// open sends a question, and returns its answer, which the caller reads and closes. Its error is an
// *[Error] when the gateway answered one, and ErrNoGateway or ErrNotYours when none can be asked.
func (c connection) open(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Response, error) {
	u := url.URL{Scheme: "http", Host: "gateway", Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("ask the gateway: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachableError(err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := readAnswer(resp)
	if err != nil {
		return nil, err
	}
	return nil, decodeError(resp, text)
}

// copyAnswer writes an answer as it comes. what names it, and cut is the error when the gateway ends
// before it does.
func (c connection) copyAnswer(ctx context.Context, path string, query url.Values, to io.Writer, what string, cut error) error {
	resp, err := c.open(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	kept := &errorKeeper{to: to}
	if _, err := io.Copy(kept, resp.Body); err != nil {
		if kept.failed != nil {
			return fmt.Errorf("write the %s: %w", what, kept.failed)
		}
		return fmt.Errorf("%w: %w", cut, err)
	}
	return nil
}

// errorKeeper hands on what is written, and keeps the error of that: who copies to it then knows
// that it was not reading that failed.
type errorKeeper struct {
	to     io.Writer
	failed error
}

func (k *errorKeeper) Write(b []byte) (n int, err error) {
	n, k.failed = k.to.Write(b)
	return n, k.failed // the caller says what failed
}

// readAnswer reads the whole of an answer.
func readAnswer(resp *http.Response) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = fmt.Errorf("answer larger than %d bytes", maxAnswer)
	}
	if err != nil {
		return nil, fmt.Errorf("read the gateway's answer: %w", err)
	}
	return text, nil
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
