package signal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"parley/channels/internal/markup"
	"parley/channels/internal/route"
)

// httpCaller calls a daemon over HTTP.
type httpCaller struct {
	base   string
	limit  int64
	client *http.Client
	ids    ids
}

func newHTTPCaller(o Options, base string) *httpCaller {
	return &httpCaller{base: base, limit: o.MaxAnswer, client: &http.Client{
		Transport:     route.New(o.Proxy),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (p *httpCaller) call(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	id, text, err := p.ids.newRequest(method, params)
	if err != nil {
		return nil, err
	}
	var left atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { left.Store(true) }})
	lost := func(err error) (json.RawMessage, error) {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return nil, &lostError{left.Load(), err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/api/v1/rpc", bytes.NewReader(text))
	if err != nil {
		return lost(fmt.Errorf("make the request: %w", err))
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return lost(fmt.Errorf("reach signal-cli: %w", err))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, p.limit+1))
	switch {
	case err != nil:
		return lost(fmt.Errorf("read the answer of signal-cli: %w", err))
	case int64(len(body)) > p.limit:
		return lost(errTooLarge)
	case resp.StatusCode != http.StatusOK:
		if !mayHaveActed(resp.StatusCode) {
			left.Store(false)
		}
		return lost(unexpectedAnswer(resp, body))
	}
	var r response
	if json.Unmarshal(body, &r) != nil || !matchesID(r.ID, id) && string(r.ID) != "null" && len(r.ID) > 0 {
		return lost(errGarbage)
	}
	return r.outcome()
}

// unexpectedAnswer reports what came instead of an answer.
func unexpectedAnswer(resp *http.Response, text []byte) error {
	if resp.StatusCode == http.StatusProxyAuthRequired {
		return errors.New(route.NoCredentials)
	}
	return fmt.Errorf("%w: HTTP %d, %s: %s", errGarbage, resp.StatusCode, markup.Brief(resp.Header.Get("Content-Type")), markup.Brief(string(text)))
}

func (p *httpCaller) closeIdle() { p.client.CloseIdleConnections() }
func (p *httpCaller) close()     { p.closeIdle() }
