package mcp_test

import (
	"context"
	"errors"
	"slices"
	"strings"
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

func (asked) Settle(context.Context, tools.Call, string, string, bool) error { return nil }

func (a asked) TakeUp(context.Context, tools.Call, string, string) (mcp.Reply, error) {
	return mcp.Reply{State: a.state, Memo: []byte("{}")}, a.err
}

// keeper is a person who has answered, and notes what became of the answer.
type keeper struct {
	asked
	settled []bool // whether it was used
}

func (k *keeper) Settle(_ context.Context, _ tools.Call, _, _ string, used bool) error {
	k.settled = append(k.settled, used)
	return nil
}

// What a person has answered is used up by a call that their server may have got, and kept, which the
// model reads, when it was surely not, or may be made twice.
func TestAnAnswerOutlivesAServerThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		category tools.Category
		tool     string
		gone     bool // before the call: the operator has not consented to what the server has
		used     bool
	}{
		"the server answered":                 {tools.Write, "ask", false, true},
		"the server was not asked":            {tools.Write, "echo", true, false},
		"it died, and may have done it":       {tools.Write, "die", false, true},
		"it died, and what it does is a read": {tools.Read, "die", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := &world{}, &keeper{asked: asked{state: mcp.Given}}
			r := openFor(t, k, w.runner(mcptest.New), program(t, mcp.ToolConfig{Name: c.tool, Category: c.category}, mcp.ToolConfig{Name: "swap", Category: tools.Read}))
			r.consent(c.tool, "swap")
			tool := r.offered("test__" + c.tool)
			if c.gone {
				if _, err := r.offered("test__swap").Run(t.Context(), tools.Call{Name: "test__swap", Arguments: []byte(`{"text":"x"}`)}); err != nil {
					t.Fatal(err)
				}
				r.awaitTool(c.tool, mcp.Changed)
				k.settled = nil
			}
			_, err := tool.Run(t.Context(), tools.Call{Name: "test__" + c.tool, Arguments: []byte(`{"text":"x"}`)})
			if !slices.Equal(k.settled, []bool{c.used}) {
				t.Errorf("used: %v; %v", k.settled, err)
			}
			if kept := err != nil && strings.Contains(err.Error(), "What the person has answered is kept"); kept == c.used {
				t.Errorf("the model reads: %v", err)
			}
		})
	}
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
