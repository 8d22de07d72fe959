package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/faultpoint"
	"parley/tools"
)

// prepareCall decides on one call of a tool: it is ready to run, or its result says to
// the model why it does not. It gives nil when ctx ended before that was decided, and
// else the error of the gate or the journal.
func (r *toolRunner) prepareCall(ctx context.Context, b batch, c call) (*preparedCall, error) {
	r.emit(Event{Type: StepStart, Step: b.step, CallID: c.ID, Tool: c.Name})
	args, shown, err := r.arguments(c)
	r.emit(r.announcedCall(b.step, c, args, shown))
	if refusal := r.refusal(b, c, args, err); refusal != "" {
		return &preparedCall{ready: r.refuseCall(b, c, refusal, StatusError)}, nil
	}
	tool, _ := r.turn.Tools.Lookup(c.Name)
	in := r.toolCall(b.step, c, args)
	v, err := r.Gate(ctx, tool, in)
	if ended(ctx) {
		return nil, nil
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("decide on tool %s: %w", c.Name, err)
	case v.Decision == tools.Pending:
		f := r.finishCall(b.step, c, tools.Result{Content: r.Redact(v.Reason)}, StatusWaiting, false)
		return &preparedCall{ready: &f, ask: cmp.Or(v.Ask, fmt.Sprintf(textAsk, c.Name))}, nil
	case v.Decision != tools.Allow:
		f := r.refuseCall(b, c, denial(v.Reason), StatusDenied)
		f.halt, f.told = v.Halt, v.Ask
		return &preparedCall{ready: f}, nil
	}
	again := r.rerunnable(tool, in)
	if !again {
		commit, done := r.commitContext(ctx)
		begun, err := r.Journal.Begin(commit, b.step, c.ID)
		done()
		if err != nil {
			return nil, fmt.Errorf("begin tool %s: %w", c.Name, err)
		}
		if begun {
			begun, err = isOver(ctx, tool, in)
		}
		if err != nil {
			return nil, fmt.Errorf("look for what tool %s has begun: %w", c.Name, err)
		}
		if begun {
			return &preparedCall{ready: r.refuseCall(b, c, resultInterrupted, StatusError)}, nil
		}
		faultpoint.HitOn("agent.tool.begun", c.Name)
	}
	held, refused, err := r.holdPrice(ctx, b, c, tool, in.Price)
	if err != nil || refused != nil {
		return refused, err
	}
	do := admit(ctx, tool, in)
	return &preparedCall{rerunnable: again, held: held, run: func(ctx context.Context) (*finishedCall, error) { return r.invoke(ctx, b, c, tool, in, do) }}, nil
}

// announcedCall returns the event that says what is about to run. (F18)
func (r *toolRunner) announcedCall(step int, c call, args tools.Arguments, shown string) Event {
	e := Event{Type: ToolCalled, Step: step, CallID: c.ID, Tool: c.Name, Args: shown}
	a := r.turn.Tools.Announcement(c.Name)
	e.Doing = a.Doing
	if a.Of != "" {
		e.Of = tools.Truncate(r.Redact(args.Text(a.Of)), maxAnnounced)
	}
	return e
}

// maxAnnounced bounds what of an argument is announced, in bytes.
const maxAnnounced = 4 << 10

// toolFunc is what a call does.
type toolFunc func(ctx context.Context, in tools.Call) (tools.Result, error)

// admit returns the work of a call, after its tool has decided on it, if it wants to.
func admit(ctx context.Context, tool tools.Tool, in tools.Call) toolFunc {
	a, ok := tool.(tools.Admitter)
	if !ok {
		return tool.Run
	}
	var run func(context.Context) (tools.Result, error)
	_, err := callSafely(ctx, in, func(ctx context.Context, in tools.Call) (res tools.Result, err error) {
		run, err = a.Admit(ctx, in)
		return res, err
	})
	return func(ctx context.Context, _ tools.Call) (tools.Result, error) {
		if err != nil {
			return tools.Result{}, err
		}
		return run(ctx)
	}
}

func (r *toolRunner) toolCall(step int, c call, args tools.Arguments) tools.Call {
	return tools.Call{
		ID: c.ID, Name: c.Name, Arguments: args.JSON(),
		Session: r.turn.Session, Key: r.turn.Key, Turn: r.turn.ID, Step: step, Workspace: r.turn.Workspace,
		Dir: r.turn.Dir, Env: slices.Clone(r.turn.Env), Price: r.turn.Tools.Price(c.Name), Progress: func(string) {},
	}
}

// rerunnable reports whether the call may run again after a crash.
func (r *toolRunner) rerunnable(tool tools.Tool, in tools.Call) bool {
	if tool.Category(in) == tools.Read {
		return true
	}
	t, ok := tool.(tools.Resumable)
	return ok && t.Resumable()
}

// isOver reports whether nothing is left to be gone on with of a call that had begun before a crash.
func isOver(ctx context.Context, tool tools.Tool, in tools.Call) (bool, error) {
	t, ok := tool.(tools.Continuer)
	if !ok {
		return true, nil
	}
	goesOn, err := t.Continues(ctx, in)
	return !goesOn, err
}

// arguments decodes what the model wrote, once, and says how it is shown: as
// the value that will be used, or raw where it is no JSON object. (F10)
func (r *toolRunner) arguments(c call) (a tools.Arguments, shown string, err error) {
	a, err = tools.DecodeArguments(c.Input)
	if err != nil {
		raw, _ := json.Marshal(map[string]string{"_raw": strings.ToValidUTF8(c.Input, "\uFFFD")})
		return a, r.Redact(tools.Truncate(string(raw), r.ToolOutput)), err
	}
	return a, r.Redact(a.String()), nil
}

// refusal returns what the model reads about a call that cannot run; "" when it
// can.
func (r *toolRunner) refusal(b batch, c call, args tools.Arguments, decoding error) string {
	if why := r.invalidReason(c, args, decoding); why != "" {
		return why
	}
	return b.failures.refusal(c.ToolCall)
}

// invalidReason returns what the model reads about a call that cannot run, whatever calls
// came before it, and "" for one that can.
func (r *take) invalidReason(c call, args tools.Arguments, decoding error) string {
	set := r.turn.Tools
	if c.index >= maxCalls {
		return fmt.Sprintf("Error: not run: of one answer the first %d calls are run; ask again for the rest, as far as it is needed", maxCalls)
	}
	if _, ok := set.Lookup(c.Name); !ok {
		return unknownTool(c.Name, set.Nearest(c.Name))
	}
	switch {
	case c.truncated:
		return resultCut
	case decoding != nil:
		return "Error: " + decoding.Error()
	}
	if why, ok := refusedReason(c); ok {
		return why
	}
	if err := set.Check(c.Name, args); err != nil {
		return "Error: " + err.Error()
	}
	return ""
}

// unknownTool returns the text of F08 and F09 with the names that come close.
func unknownTool(name string, near []string) string {
	const longest = 64
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) > longest {
		name = tools.Truncate(name, longest)
	}
	s := fmt.Sprintf("Error: Unknown tool '%s'", name)
	if len(near) > 0 {
		s += ". Did you mean: " + strings.Join(near, ", ") + "?"
	}
	return s
}

func denial(reason string) string {
	if reason == "" {
		return "Error: Permission denied"
	}
	return "Error: Permission denied: " + reason
}

// refuseCall returns the result of a call that did not run.
func (r *toolRunner) refuseCall(b batch, c call, text, status string) *finishedCall {
	f := r.finishCall(b.step, c, tools.Result{Content: r.Redact(text)}, status, true)
	return &f
}

// invoke runs the tool and makes a result of whatever comes of it: an error, a
// timeout and a panic are answers for the model too. It gives nil when ctx
// ended the tool, and an error when the tool cannot say how it ended.
func (r *toolRunner) invoke(ctx context.Context, b batch, c call, tool tools.Tool, in tools.Call, do toolFunc) (*finishedCall, error) {
	var returned atomic.Bool // progress after the end is nobody's
	pace := progressPace{now: r.Now}
	in.Progress = func(text string) {
		if !returned.Load() && pace.allows() {
			r.emit(Event{Type: ToolProgress, Step: b.step, CallID: c.ID, Tool: c.Name, Text: r.Redact(text)})
		}
	}
	limit := r.timeout(tool, in)
	limited, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		limited, cancel = context.WithTimeoutCause(ctx, limit, tools.ErrTimeout)
	}
	defer cancel()
	began := r.Now()
	res, err := callSafely(limited, in, do)
	faultpoint.HitOn("agent.tool.effect", c.Name) // it happened, and nobody has noted it yet
	took := r.Now().Sub(began)
	returned.Store(true)

	res.Content, res.Metadata = r.Redact(res.Content), r.Redact(res.Metadata)
	said, status := res, StatusOK
	switch {
	case err == nil:
		said.Content = cmp.Or(tools.Truncate(res.Content, r.ToolOutput), resultEmpty)
	case ended(ctx):
		return r.cutShort(ctx, b, c, err), nil
	case errors.Is(err, tools.ErrUnfinished):
		return nil, err
	default:
		status = StatusError
		if errors.Is(context.Cause(limited), tools.ErrTimeout) {
			late := fmt.Errorf("the tool took longer than %s and was stopped", limit)
			if errors.Is(err, tools.ErrUnpaid) {
				late = tools.Unpaid(late)
			}
			status, err = StatusTimeout, late
		}
		said.Content = tools.Truncate(r.toolError(c, res.Content, err), r.ToolOutput)
	}
	f := r.finishCall(b.step, c, said, status, err != nil)
	f.setKind(err)
	f.unpaid = f.unpaid || err == nil && res.Unpaid
	f.events[0].Began, f.events[0].Took = began, took
	if err == nil && res.Done {
		f.done = &res
	}
	return &f, nil
}

// cutShort returns the result of a call that ended with err because ctx did. It is nil but for a turn
// that is over and an err that is tools.ErrUnpaid: such a call is settled, and costs nothing.
func (r *toolRunner) cutShort(ctx context.Context, b batch, c call, err error) *finishedCall {
	if !endsTurn(ctx) || !errors.Is(err, tools.ErrUnpaid) {
		return nil
	}
	f := r.finishCall(b.step, c, tools.Result{Content: resultCanceled}, StatusCancelled, true)
	f.unpaid = true
	return &f
}

// progressEvery is how long it is at least between two reports of one call. Those between
// are dropped: people see less than that.
const progressEvery = 200 * time.Millisecond

// progressPace bounds the reports of one call. (F19)
type progressPace struct {
	now func() time.Time

	mu   sync.Mutex // guards last
	last time.Time
}

func (p *progressPace) allows() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if !p.last.IsZero() && now.Sub(p.last) < progressEvery {
		return false
	}
	p.last = now
	return true
}

// timeout returns how long the tool may take; 0: as long as the turn.
func (r *toolRunner) timeout(tool tools.Tool, in tools.Call) time.Duration {
	if t, ok := tool.(tools.Timed); ok {
		switch own := t.Timeout(in); {
		case own < 0:
			return 0
		case own > 0:
			return own
		}
	}
	return r.ToolTimeout
}

// toolError words an error for the model, with what the tool had said before.
func (r *take) toolError(c call, content string, err error) string {
	text := "Error: " + strings.TrimPrefix(r.Redact(err.Error()), "Error: ")
	if p, ok := errors.AsType[*PanicError](err); ok {
		text = resultPanic
		r.log.Error("tool panicked", "tool", c.Name, "error", err, "stack", string(p.Stack))
		r.emit(Event{Type: Problem, Text: textInternal, CallID: c.ID, Tool: c.Name, Err: err})
	}
	if content != "" {
		text += "\n\n" + content
	}
	if errors.Is(err, tools.ErrTransient) {
		text += tools.TransientHint
	}
	return text
}

func callSafely(ctx context.Context, in tools.Call, do toolFunc) (res tools.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = tools.Result{}, &PanicError{v, debug.Stack()}
		}
	}()
	return do(ctx, in)
}
