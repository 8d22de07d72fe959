package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/mcptest"
)

// refusing makes a server whose tool note notes its text, and answers with an error of a code.
func refusing(code int64) func(mcptest.World) *sdk.Server {
	return func(w mcptest.World) *sdk.Server {
		s := mcptest.New(w)
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
				res, err := next(ctx, method, r)
				if method == "tools/call" {
					return nil, errors.Join(err, &jsonrpc.Error{Code: code, Message: "no more today"})
				}
				return res, err
			}
		})
		return s
	}
}

// A server may answer with the codes by which the library says that a call was not sent. Such a
// call was made, and is not made again.
func TestCallThatIsAnsweredAsIfItWereNotSent(t *testing.T) {
	t.Parallel()
	for _, code := range []int64{-32003, -32004, -32005} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			w := &world{}
			r := open(t, w.runner(refusing(code)), program(t, mcp.ToolConfig{Name: "note", Category: tools.Write}))
			r.consent("note")
			_, err := r.call(t.Context(), "test__note", "x")
			if err == nil || tools.KindOf(err) != tools.Permanent || w.String() != "x" {
				t.Errorf("%v, called for %q", err, w.String())
			}
			if strings.Contains(fmt.Sprint(err), "cannot be reached") {
				t.Errorf("it was called: %v", err)
			}
		})
	}
}
