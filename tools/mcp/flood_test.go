package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
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

// unlisted makes a server that answers a question what tools it has, the first apart, only if refuse
// returns nil. It has the tool slow, which takes a minute and says at its beginning that the tools have
// changed.
func unlisted(slow *atomic.Bool, refuse func(ctx context.Context) error) func(mcptest.World) *sdk.Server {
	return func(w mcptest.World) *sdk.Server {
		s, n := mcptest.New(w), 0
		type text struct {
			Text string `json:"text"`
		}
		sdk.AddTool(s, &sdk.Tool{Name: "slow"}, func(ctx context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
			slow.Store(true)
			defer slow.Store(false)
			s.AddTool(&sdk.Tool{Name: "another", InputSchema: map[string]any{"type": "object"}}, nil)
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, ctx.Err()
		})
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
				if method == "tools/list" {
					if n++; n > 1 {
						if err := refuse(ctx); err != nil {
							return nil, err
						}
					}
				}
				return next(ctx, method, r)
			}
		})
		return s
	}
}

var errBusy = errors.New("too many requests")

// A server that does not say what tools it has while it does something is asked again, and what it
// does is not broken off.
func TestServerThatListsNothingDuringACall(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(ctx context.Context) error{
		"it is slow": func(ctx context.Context) error {
			select {
			case <-time.After(30 * time.Second):
			case <-ctx.Done():
			}
			return ctx.Err()
		},
		"it refuses": func(context.Context) error { return errBusy },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, slow := &world{}, &atomic.Bool{}
				r := open(t, w.runner(unlisted(slow, func(ctx context.Context) error {
					if slow.Load() {
						return refuse(ctx)
					}
					return nil
				})), program(t, mcp.ToolConfig{Name: "slow", Category: tools.Write}))
				r.consent("slow")
				if got, err := r.call(t.Context(), "test__slow", "well done"); err != nil || !strings.Contains(got, "well done") {
					t.Errorf("the call gives %q, %v", got, err)
				}
				time.Sleep(time.Minute)
				r.stop()
				if n := len(w.born); n != 1 || !strings.Contains(r.log.String(), "it is asked again") {
					t.Errorf("%d starts\n%s", n, r.log)
				}
			})
		})
	}
}

// A server that does not say what tools it has, and has no call under way, is asked once more.
func TestServerThatListsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ refused, starts int }{"once": {1, 1}, "twice": {2, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, n := &world{}, 0
				r := open(t, w.runner(unlisted(&atomic.Bool{}, func(context.Context) error {
					if n++; n > c.refused {
						return nil
					}
					return errBusy
				})), program(t, mcp.ToolConfig{Name: "echo"}))
				r.awaitTool("echo", mcp.New)
				time.Sleep(8 * time.Minute) // it is asked after five
				r.stop()
				if len(w.born) != c.starts {
					t.Errorf("%d starts\n%s", len(w.born), r.log)
				}
			})
		})
	}
}
