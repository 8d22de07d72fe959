package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/policy"
	"parley/gateway/recording"
	"parley/gateway/schedule"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/subagents"
	"parley/tools"
	"parley/tools/files"
	"parley/transcript"
)

// recordedTool is a tool that does not run: it gives what it gave.
type recordedTool struct {
	tools.Tool
	s *player
}

var (
	_ tools.Parallel  = recordedTool{}
	_ tools.Resumable = recordedTool{}
	_ tools.Timed     = recordedTool{}
	_ tools.Aliased   = recordedTool{}
	_ tools.Checker   = recordedTool{}
)

// replaceTools is set with every tool replaced, but for those that start sub-agents,
// as what these do is compared itself, and for the one that ends a turn, which does nothing
// else.
func (s *player) replaceTools(set *tools.Set) *tools.Set {
	var all []tools.Tool
	kept := []string{subagents.SpawnName, subagents.SendName, tools.DoneName}
	for _, name := range set.Names() {
		if t, ok := set.Lookup(name); ok && !slices.Contains(kept, name) {
			all = append(all, recordedTool{t, s})
		}
	}
	return set.Bind(all...)
}

func (g recordedTool) Parallel() bool {
	p, ok := g.Tool.(tools.Parallel)
	return ok && p.Parallel()
}

func (g recordedTool) Resumable() bool {
	r, ok := g.Tool.(tools.Resumable)
	return ok && r.Resumable()
}

func (g recordedTool) Aliases() []string {
	if a, ok := g.Tool.(tools.Aliased); ok {
		return a.Aliases()
	}
	return nil
}

func (g recordedTool) Check(a tools.Arguments) error {
	if c, ok := g.Tool.(tools.Checker); ok {
		return c.Check(a)
	}
	return nil
}

// Reason implements [tools.Reasoner].
func (g recordedTool) Reason(c tools.Call) string {
	if r, ok := g.Tool.(tools.Reasoner); ok {
		return r.Reason(c)
	}
	return ""
}

// Petition implements [tools.Petitioner].
func (g recordedTool) Petition(c tools.Call) (tools.Petition, error) {
	return approvals.Petition(g.Tool, c) // the tool's own words
}

// newRequest makes a request for permission under the code by which people have answered it.
func (s *player) newRequest(turn string, now time.Time, timeout time.Duration) approvals.Request {
	r := approvals.New(now, timeout)
	for _, was := range s.script.r.Sessions[0].Approvals {
		if was.Turn != turn {
			continue
		}
		r.ID, r.Code = was.ID, was.Code
		if was.By.Operator && !s.script.saysDecision(was.ID) { // of an older version, which queued no decisions
			r = r.Decide(was.By, was.State != approvals.Denied, "", was.DecidedAt)
		}
	}
	return r
}

// saysDecision reports whether a message of the recording carries a decision about that request.
func (s *script) saysDecision(request string) bool {
	return slices.ContainsFunc(s.r.Envelopes, func(e recording.Envelope) bool {
		var m channels.Message
		return json.Unmarshal(e.Body, &m) == nil && m.Decision != nil && m.Decision.Request == request
	})
}

// access returns who may permit calls and who is a guest, by channel instance. Everybody else was
// let in before they were recorded.
func (s *player) access() map[string]policy.Access {
	setup, m := s.script.r.Header.Setup, map[string]policy.Access{}
	for name, ids := range setup.Approvers {
		m[name] = policy.Access{Everyone: true, Approvers: ids}
	}
	for name, ids := range setup.Guests {
		m[name] = policy.Access{Everyone: true, Approvers: m[name].Approvers, Roles: policy.RoleLists{Guest: ids}}
	}
	return m
}

// privateQuestions returns the channel instances where only those were shown questions in groups
// who could decide.
func (s *player) privateQuestions() map[string]bool {
	m := map[string]bool{}
	for _, name := range s.script.r.Header.Setup.PrivateQuestions {
		m[name] = true
	}
	return m
}

// jobs returns the job whose run was recorded, as the configuration that had it run.
func (s *player) jobs() map[string]schedule.Job {
	m := map[string]schedule.Job{}
	for name, j := range s.script.r.Header.Setup.Jobs {
		if len(s.script.roots) == 0 {
			continue
		}
		t := s.script.roots[0]
		m[name] = schedule.Job{
			Name: name, Channel: t.Channel, To: t.From, Key: s.script.key, Enabled: true,
			Tools: j.Tools, AllowAdmin: j.AllowAdmin, MaxIterations: j.MaxIterations, MaxCost: j.MaxCost,
		}
	}
	return m
}

// Timeout implements [tools.Timed]: there is none.
func (recordedTool) Timeout(tools.Call) time.Duration { return -1 }

var errNoResult = errors.New("call without a result in the recording")

// Run implements [tools.Tool].
func (g recordedTool) Run(ctx context.Context, c tools.Call) (tools.Result, error) {
	was, at, ok := g.s.script.result(c.Turn, c.Step, c.ID)
	if !ok {
		if t, known := g.s.script.turns[c.Turn]; known && t.State != "done" {
			g.s.markEnded(c.Turn)
			<-ctx.Done()
			return tools.Result{}, fmt.Errorf("%w: %w", tools.ErrUnfinished, errEnds)
		}
		g.s.addDifference(ToolCalls, fmt.Sprintf("call %s of %s in turn %s", c.ID, c.Name, c.Turn), "made now, not in the recording")
		return tools.Result{}, errNoResult
	}
	g.s.advanceClock(at)
	text, isError := strings.CutPrefix(was.Content, "Error: ")
	switch {
	case !was.IsError:
		if c.Name == files.SendName {
			if err := g.s.sendFile(ctx, c); err != nil {
				return tools.Result{}, err
			}
		}
		return tools.Result{Content: was.Content, Metadata: was.Metadata, Unpaid: g.s.script.wasUnpaid(c)}, nil
	case isError:
		err := errorAgain(was, text)
		if g.s.script.wasUnpaid(c) {
			err = tools.Unpaid(err)
		}
		return tools.Result{Metadata: was.Metadata}, err
	}
	g.s.cancel(ctx, c.Turn) // only the end of a turn words a result so
	return tools.Result{}, context.Cause(ctx)
}

// errorAgain returns the error that gave a recorded result, of the same kind. Where the
// result was cut it has no hint, and gets none.
func errorAgain(was transcript.ToolResult, text string) error {
	if rest, ok := strings.CutSuffix(text, tools.TransientHint); ok {
		return tools.Errorf(tools.Transient, "%s", rest)
	}
	if tools.Kind(was.Kind) == tools.Permanent {
		return tools.Errorf(tools.Permanent, "%s", text)
	}
	return errors.New(text) // as it was
}

// sendFile queues the file that a call sent, for the answer's place. Its content is
// in no recording.
func (s *player) sendFile(ctx context.Context, c tools.Call) error {
	id := sessionkeys.FileID(c.Session, c.Turn, c.Step, c.ID)
	was := s.script.answers[id]
	if was == nil || was.File == nil {
		return nil // the call said that it was, and it was not; there is nothing to compare
	}
	t, err := s.o.Store.Turn(ctx, c.Turn)
	if err == nil {
		_, err = s.o.Store.Notice(ctx, sessions.InboxID{}, []sessions.Outgoing{{
			ID: id, Channel: t.Channel, Session: t.Session, Turn: t.ID, To: t.From, ReplyTo: t.ReplyTo, At: s.clock(),
			File: &sessions.File{Name: was.File.Name, MIME: was.File.MIME, Size: was.File.Size, Object: id},
		}}, s.clock())
	}
	if err != nil {
		return fmt.Errorf("%w: send the file of call %s again: %w", tools.ErrUnfinished, c.ID, err)
	}
	return nil
}

// result returns what a call gave, and when.
func (s *script) result(turn string, step int, call string) (res transcript.ToolResult, at time.Time, ok bool) {
	for text, m := range s.messages {
		id, ok := transcript.ParseMessageID(text)
		if !ok || id.Kind != transcript.Result || id.Turn != turn || id.Step != step {
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
