package mcp_test

import (
	"context"
	"errors"
	"testing"

	"parley/costs"
	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/mcptest"
)

// asked is people who were asked, and how far that is.
type asked struct {
	state mcp.ReplyState
	err   error
}

func (asked) Ask(context.Context, tools.Call, mcp.Question) error { return nil }

func (a asked) TakeUp(context.Context, tools.Call, string, string) (mcp.Reply, error) {
	return mcp.Reply{State: a.state, Memo: []byte("{}")}, a.err
}

// A call that is answered without its server, because a person has not said yet what that wants to
// know, costs nothing. One that the server answered, be it with a question, does.
func TestACallThatAsksNoServerCostsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		people asked
		unpaid bool
	}{
		"the person has not answered":           {asked{state: mcp.Awaited}, true},
		"the person did not answer in time":     {asked{state: mcp.TimedOut}, true},
		"nobody knows whether they answered":    {asked{err: errors.New("no store")}, true},
		"nobody was asked, so the server is":    {asked{}, false},
		"the person answered, so the server is": {asked{state: mcp.Given}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{}
			r := openFor(t, c.people, w.runner(mcptest.New), program(t, mcp.ToolConfig{Name: "ask", Category: tools.Read}))
			r.consent("ask")
			res, err := r.offered("test__ask").Run(t.Context(), tools.Call{Name: "test__ask", Arguments: []byte("{}"), Price: costs.USD})
			if (err != nil) != (c.people.err != nil) {
				t.Fatalf("%+v, %v", res, err)
			}
			if unpaid := errors.Is(err, tools.ErrUnpaid) || err == nil && res.Unpaid; unpaid != c.unpaid {
				t.Errorf("unpaid: %v; %+v, %v", unpaid, res, err)
			}
		})
	}
}
