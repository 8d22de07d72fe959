package signal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"parley/channels/internal/markup"
	"parley/channels/internal/transfer"
)

// caller makes the calls of JSON-RPC to a daemon, any number at once. Errors
// are of one of three kinds: *rpcError, an answer that says no; *lostError, no
// usable answer; or the context's own, before anything left.
type caller interface {
	call(ctx context.Context, method string, params map[string]any) (json.RawMessage, error)
	// exchange makes a call that carries a file, or whose answer does, on a
	// connection of its own. It sends the request and has its answer read, and
	// nothing of the request is read after it returned. An error that is not read's
	// is a *lostError.
	exchange(ctx context.Context, request *transfer.Body, read func(*bufio.Reader) error) error
	// closeIdle closes connections on which nobody waits for an answer, if it keeps such.
	closeIdle()
	close()
}

// rpcError is an answer that says no.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		Response sendResult `json:"response"`
	} `json:"data"`
}

func (e *rpcError) Error() string {
	return "signal-cli refuses (" + strconv.Itoa(e.Code) + "): " + markup.Brief(e.Message)
}

// lostError is a call without a usable answer. left says whether the request
// may have reached the daemon.
type lostError struct {
	mayHaveLeft bool
	err         error
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

var (
	errTimeout  = errors.New("signal-cli gave no answer in time")
	errTooLarge = errors.New("the answer of signal-cli is too large")
	errGarbage  = errors.New("answer of signal-cli is not JSON-RPC")
	errCut      = errors.New("the connection to signal-cli was cut")
)

// request is one call on the wire.
type request struct {
	Version string         `json:"jsonrpc"`
	ID      string         `json:"id"`
	Method  string         `json:"method"`
	Params  map[string]any `json:"params,omitempty"`
}

// response is an answer, or a notification, which has a method.
type response struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// outcome returns what an answer says. A data field of an unknown form makes no
// error unreadable.
func (r *response) outcome() (json.RawMessage, error) {
	if len(r.Error) == 0 || string(r.Error) == "null" {
		if r.Result == nil {
			return nil, &lostError{true, errGarbage}
		}
		return r.Result, nil
	}
	var e rpcError
	if json.Unmarshal(r.Error, &e) != nil {
		var plain struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		if err := json.Unmarshal(r.Error, &plain); err != nil {
			return nil, &lostError{true, errGarbage}
		}
		e = rpcError{Code: plain.Code, Message: plain.Message}
	}
	return nil, &e
}

// ids gives each call of a client an id of its own.
type ids struct{ last atomic.Uint64 }

func (i *ids) newRequest(method string, params map[string]any) (id string, line []byte, err error) {
	id = strconv.FormatUint(i.last.Add(1), 10)
	line, err = json.Marshal(request{"2.0", id, method, params})
	if err != nil {
		return "", nil, &lostError{false, fmt.Errorf("make the request: %w", err)}
	}
	return id, append(line, '\n'), nil
}

// matchesID reports whether a raw id of an answer is id.
func matchesID(raw json.RawMessage, id string) bool {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s == id
	}
	return string(raw) == id
}

// newCaller returns the client for the daemon at o.URL, which CheckURL accepts.
func newCaller(o Options) caller {
	u, _ := url.Parse(o.URL)
	if u.Scheme == "unix" || u.Scheme == "tcp" {
		return newSocketCaller(o, u)
	}
	return newHTTPCaller(o, strings.TrimRight(o.URL, "/"))
}
