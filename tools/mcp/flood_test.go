package mcp_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/mcp"
	"parley/tools/mcp/mcptest"
)

// listing makes a server that answers to the n-th question what tools it has by list.
func listing(list func(s *sdk.Server, n int) *sdk.ListToolsResult) func(mcptest.World) *sdk.Server {
	return func(w mcptest.World) *sdk.Server {
		s, n := mcptest.New(w), 0
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
				if method != "tools/list" {
					return next(ctx, method, r)
				}
				if err := w.Note("listed"); err != nil {
					return nil, err
				}
				n++
				return list(s, n), nil
			}
		})
		return s
	}
}

// A server that has another page of tools for each that it is asked for is asked for so many
// only: what it says is kept in memory. Without the bound it is asked for all it has, which is far more.
func TestServerWhoseListNeverEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // a machine may need longer for so many pages than a server has
		w := &world{}
		r := open(t, w.runner(listing(func(_ *sdk.Server, n int) *sdk.ListToolsResult {
			page := &sdk.ListToolsResult{Tools: []*sdk.Tool{{Name: "echo", InputSchema: map[string]any{"type": "object"}}}}
			if n < 4096 {
				page.NextCursor = fmt.Sprint(n)
			}
			return page
		})), program(t, mcp.ToolConfig{Name: "echo"}))
		r.awaitTool("echo", mcp.New)
		r.stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		if n := len(w.notes); n < 100 || n > 1024 {
			t.Errorf("it was asked for %d pages", n)
		}
	})
}

// A server that says at each list of its tools that they have changed is asked now and then.
func TestServerWhoseToolsChangeAllTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		r := open(t, w.runner(listing(func(s *sdk.Server, n int) *sdk.ListToolsResult {
			s.AddTool(&sdk.Tool{Name: fmt.Sprint("tool", n), InputSchema: map[string]any{"type": "object"}}, nil)
			return &sdk.ListToolsResult{Tools: []*sdk.Tool{{Name: "echo", Description: fmt.Sprint(n), InputSchema: map[string]any{"type": "object"}}}}
		})), program(t, mcp.ToolConfig{Name: "echo"}))
		r.awaitTool("echo", mcp.New)
		time.Sleep(time.Minute)
		r.stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		if n := len(w.notes); n < 3 || n > 33 {
			t.Errorf("it was asked %d times in a minute", n)
		}
	})
}
