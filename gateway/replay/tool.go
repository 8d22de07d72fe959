package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/subagents"
	"parley/tools"
	"parley/transcript"
)

// given is a tool that does not run: it gives what it gave.
type given struct {
	tools.Tool
	s *stage
}

var (
	_ tools.Parallel  = given{}
	_ tools.Resumable = given{}
	_ tools.Timed     = given{}
	_ tools.Aliased   = given{}
	_ tools.Checker   = given{}
)

// given is set with every tool replaced, but for those that start sub-agents:
// what these do is compared itself.
func (s *stage) given(set *tools.Set) *tools.Set {
	var all []tools.Tool
	for _, name := range set.Names() {
		if t, ok := set.Lookup(name); ok && name != subagents.SpawnName && name != subagents.SendName {
			all = append(all, given{t, s})
		}
	}
	return set.Bind(all...)
}

func (g given) Parallel() bool {
	p, ok := g.Tool.(tools.Parallel)
	return ok && p.Parallel()
}

func (g given) Resumable() bool {
	r, ok := g.Tool.(tools.Resumable)
	return ok && r.Resumable()
}

func (g given) Aliases() []string {
	if a, ok := g.Tool.(tools.Aliased); ok {
		return a.Aliases()
	}
	return nil
}

func (g given) Check(a tools.Arguments) error {
	if c, ok := g.Tool.(tools.Checker); ok {
		return c.Check(a)
	}
	return nil
}

// Timeout implements [tools.Timed]: there is none.
func (given) Timeout(tools.Call) time.Duration { return -1 }

var errNoResult = errors.New("the recording has no result of this call")

// Run implements [tools.Tool].
func (g given) Run(ctx context.Context, c tools.Call) (tools.Result, error) {
	was, at, ok := g.s.script.result(c.Turn, c.Step, c.ID)
	if !ok {
		if t, known := g.s.script.turns[c.Turn]; known && t.State != "done" {
			g.s.end(c.Turn)
			<-ctx.Done()
			return tools.Result{}, fmt.Errorf("%w: %w", tools.ErrUnfinished, errEnds)
		}
		g.s.differ(ToolCalls, fmt.Sprintf("call %s of %s in turn %s", c.ID, c.Name, c.Turn), "it is made now, and was not in the recording")
		return tools.Result{}, errNoResult
	}
	g.s.reach(at)
	g.s.feedUntil(at)
	text, isError := strings.CutPrefix(was.Content, "Error: ")
	switch {
	case !was.IsError:
		return tools.Result{Content: was.Content, Metadata: was.Metadata}, nil
	case isError:
		return tools.Result{Metadata: was.Metadata}, errors.New(text) //nolint:err113 // as it was
	}
	g.s.cancel(ctx, c.Turn) // only the end of a turn words a result so
	return tools.Result{}, context.Cause(ctx)
}

// result is what a call gave, and when.
func (s *script) result(turn string, step int, call string) (res transcript.ToolResult, at time.Time, ok bool) {
	prefix := fmt.Sprintf("%s#%d.", turn, step)
	for id, m := range s.messages {
		if !strings.HasPrefix(id, prefix) {
			continue
		}
		for _, r := range m.Results() {
			if r.ToolCallID == call {
				return r, m.CreatedAt, true
			}
		}
	}
	return res, at, false
}
