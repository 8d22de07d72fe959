package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
	"parley/tools/mcp/tasks"
)

// Tasks keeps what servers do beyond the time of a call. A call is the same as another when it is of
// the same tool of the server, with the same arguments, in the same session. Its methods are called
// concurrently.
type Tasks interface {
	// Keep notes what a call has begun, over what is kept of the same call. It is durable when it
	// returns nil.
	Keep(ctx context.Context, c tools.Call, server, tool string, o Ongoing) error
	// Find returns what is kept of a call, or nil, and whether it was c itself that began it.
	Find(ctx context.Context, c tools.Call, server, tool string) (o *Ongoing, own bool, err error)
	// Drop forgets what is kept of a call.
	Drop(ctx context.Context, c tools.Call, server, tool string) error
}

// Ongoing is a task of a server.
type Ongoing struct {
	Task     string        // its id
	Answered []string      // which of its questions a person has answered
	TTL      time.Duration // after it the server may forget it; 0: it says nothing of that
}

// Times of a task.
const (
	defaultPoll = 2 * time.Second
	minPoll     = 200 * time.Millisecond
	maxPoll     = 30 * time.Second
	maxTTL      = 365 * 24 * time.Hour
	cancelTime  = 5 * time.Second // to tell a server that a task is not wanted
)

// pollRest returns how long a server is left alone that wants so many milliseconds.
func pollRest(ms int64) time.Duration {
	if ms <= 0 {
		return defaultPoll
	}
	return min(max(time.Duration(min(ms, maxPoll.Milliseconds()))*time.Millisecond, minPoll), maxPoll)
}

// Continues implements [tools.Continuer].
func (t *Tool) Continues(ctx context.Context, c tools.Call) (bool, error) {
	if t.server == nil || t.server.o.Tasks == nil {
		return false, nil
	}
	o, own, err := t.server.o.Tasks.Find(ctx, c, t.name, t.config.Name)
	if err != nil {
		return false, fmt.Errorf("look for a task of the MCP server %s: %w", t.name, err)
	}
	return o != nil && own, nil
}

// pursuit is a call that waits for a task.
type pursuit struct {
	Ongoing

	paid bool // by an earlier call
}

// findTask returns the task that the same call has begun, if it is not known to be over.
func (t *Tool) findTask(ctx context.Context, c tools.Call) (*pursuit, error) {
	if t.server.o.Tasks == nil {
		return nil, nil // there is none
	}
	o, own, err := t.server.o.Tasks.Find(ctx, c, t.name, t.config.Name)
	if err != nil {
		return nil, fmt.Errorf("look for a task of the MCP server %s: %w", t.name, err)
	}
	if o == nil {
		return nil, nil // there is none
	}
	return &pursuit{*o, !own}, nil
}

// begun notes the task with which a server has answered, and waits for it.
func (t *Tool) begun(ctx context.Context, c tools.Call, task *tasks.Task, err error) (tools.Result, error) {
	if err == nil && t.server.o.Tasks == nil {
		err = fmt.Errorf("%w: nobody has said here that tasks are known", tasks.ErrUnfit)
	}
	if err != nil {
		return tools.Result{}, tools.Errorf(tools.Permanent, "interrupted; outcome unknown: the MCP server %s has answered the call of %s in a way that is not known here (%w). "+
			"Whether it was done is not known: look, before you call it again", t.name, t.config.Name, err)
	}
	p := &pursuit{Ongoing: Ongoing{Task: task.ID}}
	if task.TTL != nil {
		p.TTL = min(max(time.Duration(min(*task.TTL, maxTTL.Milliseconds()))*time.Millisecond, minPoll), maxTTL)
	}
	if err := t.keep(ctx, c, p); err != nil {
		t.cancelTask(ctx, task.ID)
		return tools.Result{}, err
	}
	return t.pursue(ctx, c, p, task)
}

func (t *Tool) keep(ctx context.Context, c tools.Call, p *pursuit) error {
	if err := t.server.o.Tasks.Keep(context.WithoutCancel(ctx), c, t.name, t.config.Name, p.Ongoing); err != nil {
		return fmt.Errorf("keep a task of the MCP server %s: %w", t.name, err)
	}
	return nil
}

// forget drops what is kept of a task that is over. If that fails the next call finds the task, and
// what it came to, again.
func (t *Tool) forget(ctx context.Context, c tools.Call) {
	if err := t.server.o.Tasks.Drop(context.WithoutCancel(ctx), c, t.name, t.config.Name); err != nil {
		t.server.o.Log.Warn("task of an MCP server not forgotten, the same call finds it again", "server", t.name, "tool", t.config.Name, "error", err)
	}
}

// goOn waits for a task that an earlier call has begun, and gives it what a person has answered.
func (t *Tool) goOn(ctx context.Context, c tools.Call, p *pursuit, answer *given) (tools.Result, error) {
	if answer == nil {
		return t.pursue(ctx, c, p, nil)
	}
	err := t.server.do(ctx, func(ctx context.Context, s *sdk.ClientSession) error {
		return tasks.Answer(ctx, s, p.Task, answer.responses) // worded below
	})
	if err != nil && !isLost(err) { // the server may get it again: it passes over what it has
		err = tools.Unpaid(tools.Errorf(tools.Transient, "the MCP server %s does not take the answer at present, so %s does not go on", t.name, t.config.Name))
	}
	if err == nil {
		for key := range answer.responses {
			p.Answered = append(p.Answered, key)
		}
		err = t.keep(ctx, c, p)
	}
	if err = t.settle(ctx, c, err); err == nil {
		return t.pursue(ctx, c, p, nil)
	}
	if isLost(err) {
		said, _ := answerIn(err)
		t.forget(ctx, c)
		return tools.Result{Content: frame(t.name, said.Message)}, t.lostTask()
	}
	return tools.Result{}, err
}

// isLost reports whether a server says by err that it knows nothing of a task. An error of its own is
// no such word: the task may be there when it is asked again.
func isLost(err error) bool {
	said, ok := answerIn(err)
	return ok && said.Code != jsonrpc.CodeInternalError
}

// pursue asks for a task until it is over or waits for a person, or until the time of the call ends:
// the task goes on then, and the same call finds it again. task is how it is; nil: nobody has asked.
func (t *Tool) pursue(ctx context.Context, c tools.Call, p *pursuit, task *tasks.Task) (tools.Result, error) {
	until := t.callEnds(ctx)
	for {
		var err error
		if task == nil {
			task, err = t.askFor(ctx, p.Task)
		}
		switch {
		case ctx.Err() != nil:
			return t.leave(ctx, c)
		case isLost(err):
			said, _ := answerIn(err)
			t.forget(ctx, c)
			return tools.Result{Content: frame(t.name, said.Message), Unpaid: p.paid}, t.lostTask()
		case err != nil:
			t.server.o.Log.Debug("MCP server not asked for a task", "server", t.name, "tool", t.config.Name, "error", t.server.told(err))
			task = &tasks.Task{Status: tasks.Working} // it is asked for again
		}
		if res, over, err := t.outcome(ctx, c, p, task); over {
			res.Unpaid = res.Unpaid || p.paid
			return res, err
		}
		rest := pollRest(task.Poll)
		if !until.IsZero() {
			if rest = min(rest, time.Until(until)); rest <= 0 {
				return t.stillWorks(p, task), nil
			}
		}
		pause := time.NewTimer(rest)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
		task = nil
	}
}

// callEnds returns when a call has to say how its task stands; zero: there is no bound.
func (*Tool) callEnds(ctx context.Context) time.Time {
	end, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	return end.Add(-min(time.Until(end)/10, cancelTime))
}

// askFor asks how a task is.
func (t *Tool) askFor(ctx context.Context, id string) (task *tasks.Task, err error) {
	err = t.server.do(ctx, func(ctx context.Context, s *sdk.ClientSession) error {
		task, err = tasks.Get(ctx, s, id)
		return err // the caller words it
	})
	return task, err
}

// outcome returns what a task has come to, and whether the call is over with it.
func (t *Tool) outcome(ctx context.Context, c tools.Call, p *pursuit, task *tasks.Task) (res tools.Result, over bool, err error) {
	switch task.Status {
	case tasks.Working:
		return res, false, nil
	case tasks.InputRequired:
		asked := sdk.InputRequestMap{}
		for key, one := range task.Inputs {
			if !slices.Contains(p.Answered, key) {
				asked[key] = one
			}
		}
		if len(asked) == 0 { // the server has not looked at the answers yet
			return res, false, nil
		}
		res, err = t.ask(ctx, c, asked, "", p.Task)
		return res, true, err
	case tasks.Completed:
		t.forget(ctx, c)
		done, err := task.CallResult()
		if err != nil {
			return res, true, t.lostTask()
		}
		res, err = t.finished(done)
		return res, true, err
	case tasks.Failed:
		t.forget(ctx, c)
		fault := task.Error
		if fault == nil {
			fault = &tasks.Fault{}
		}
		return tools.Result{Content: frame(t.name, strings.TrimSpace(task.Message+"\n"+fault.Message))}, true,
			tools.Errorf(tools.Permanent, "%s of the MCP server %s failed with the error %d", t.config.Name, t.name, fault.Code)
	case tasks.Cancelled:
		t.forget(ctx, c)
		return tools.Result{Content: frame(t.name, task.Message)}, true,
			tools.Errorf(tools.Permanent, "the MCP server %s has given up %s. What it has done by then is not known: look, before you call it again", t.name, t.config.Name)
	}
	t.forget(ctx, c)
	return res, true, t.lostTask()
}

// lostTask is the error of a call whose task the server does not know, or words in a way that nobody
// understands.
func (t *Tool) lostTask() error {
	return tools.Errorf(tools.Permanent, "interrupted; outcome unknown: the MCP server %s does not say any more what became of %s, which it had begun. "+
		"Whether it was done is not known: look, before you call it again", t.name, t.config.Name)
}

// stillWorks is the result of a call whose task goes on after it.
func (t *Tool) stillWorks(p *pursuit, task *tasks.Task) tools.Result {
	text := fmt.Sprintf("The MCP server %s has begun %s and still works on it. It goes on by itself. The same call, with the same arguments, begins nothing anew: it tells what has become of this one. "+
		"Say that it takes longer, and make that call later, when somebody asks or when you need it.", t.name, t.config.Name)
	if task.Message != "" {
		text += "\n" + frame(t.name, task.Message)
	}
	return tools.Result{Content: text, Unpaid: p.paid}
}

// leave ends the wait for a task when its call is ended. Where a person said stop nobody wants it any
// more; else another call goes on with it.
func (t *Tool) leave(ctx context.Context, c tools.Call) (tools.Result, error) {
	cause := context.Cause(ctx)
	if !errors.Is(cause, tools.ErrStopped) {
		return tools.Result{}, cause
	}
	t.abandon(ctx, c)
	return tools.Result{Content: t.cutShort()}, cause
}

// abandon tells a server that the task of a call is not wanted any more, and forgets it.
func (t *Tool) abandon(ctx context.Context, c tools.Call) {
	p, err := t.findTask(context.WithoutCancel(ctx), c)
	if err != nil {
		t.server.o.Log.Warn("task of an MCP server not given up", "server", t.name, "tool", t.config.Name, "error", err)
	}
	if p == nil {
		return
	}
	t.cancelTask(ctx, p.Task)
	t.forget(ctx, c)
}

// cancelTask tells a server that a task is not wanted any more. The server need not stop it.
func (t *Tool) cancelTask(ctx context.Context, id string) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	err := t.server.do(limited, func(ctx context.Context, s *sdk.ClientSession) error { return tasks.Cancel(ctx, s, id) }) // told below
	if err != nil {
		t.server.o.Log.Warn("MCP server not told to give up a task", "server", t.name, "tool", t.config.Name, "error", t.server.told(err))
	}
}

// do asks something of the session that is up, or that soon is.
func (s *server) do(ctx context.Context, ask func(context.Context, *sdk.ClientSession) error) error {
	now, err := s.await(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(now.ctx, func() { cancel(errEnded) })()
	err = ask(ctx, now.ClientSession)
	if err != nil && !answered(err) && ctx.Err() == nil {
		if errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing) || s.c.URL == "" {
			now.end(fmt.Errorf("%w: %w", errEnded, err))
		}
		s.relist.Send() // whether it is still there
	}
	return err
}
