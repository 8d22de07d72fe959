package wire

import (
	"context"
	"net/http"
	"time"

	"parley/llm"
)

// Ask gets what stands below the base URL at path, as Exchange.Fetch does, and what the server's
// clock says meanwhile. The error is an *llm.Error.
func (c *Client) Ask(ctx context.Context, path string) (body []byte, pong llm.Pong, err error) {
	endpoint, err := llm.Endpoint(c.setup.BaseURL, path)
	if err != nil {
		return nil, pong, &llm.Error{Kind: llm.Other, Provider: c.setup.Provider, Model: c.setup.Model, Err: err}
	}
	x := c.Begin(ctx)
	defer x.End()
	began := time.Now()
	body, err = x.get(endpoint, c.header)
	pong.Took = time.Since(began)
	if at, failed := http.ParseTime(x.header.Get("Date")); failed == nil {
		pong.Clock = at.UTC()
	}
	if err != nil {
		fault := x.Fault(err)
		fault.Provider, fault.Model = c.setup.Provider, c.setup.Model
		return nil, pong, fault
	}
	return body, pong, nil
}
