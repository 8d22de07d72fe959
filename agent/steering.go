package agent

import (
	"context"
	"fmt"

	"parley/transcript"
)

// Steering is what a person says while their turn runs.
type Steering interface {
	// Join commits what waits behind the history, in order, and says whether
	// there was anything. It is called before each model call of a turn but its
	// first, again as long as something joins, and before the first when it is interrupted before it begins; never while
	// a tool call waits for its result, and not before the last words of a turn
	// that may not go on: what waits then is a turn of its own. Its error ends the
	// turn like one of the Journal.
	Join(ctx context.Context) (joined bool, err error)
	// Interrupts has a value when what waits is to join now: the model call
	// under way is given up and booked, tools that may run again are cancelled,
	// tools with side effects end, calls that have not begun are not run, and the
	// turn goes on with what joins. nil: never.
	Interrupts() <-chan struct{}
}

// errInterrupted ends what is given up for a new message. Sub-agents take it for
// a stop: their results are not wanted any more.
var errInterrupted = fmt.Errorf("a new message came first: %w", ErrStopped)

// join lets what waits join the turn, and reports whether there was anything: the history
// has it then.
func (r *run) join(ctx context.Context, history []transcript.Message) (joined bool, err error) {
	if r.turn.Steering == nil || r.steps+r.tries == 0 && !r.interrupted {
		return false, nil
	}
	r.interrupted = false // whatever joins: else no call would ever be made
	if n := len(history); n > 0 && history[n-1].Role == transcript.Assistant {
		return false, nil // an answer that the model goes on with itself
	}
	if joined, err = r.turn.Steering.Join(ctx); err != nil {
		return false, fmt.Errorf("let messages join: %w", err)
	}
	return joined, nil
}

func (r *requester) interrupts() <-chan struct{} {
	if r.turn.Steering == nil {
		return nil
	}
	return r.turn.Steering.Interrupts()
}

// isInterrupted reports whether something is to join now.
func (r *requester) isInterrupted() bool {
	select {
	case <-r.interrupts():
		r.interrupted = true
	default:
	}
	return r.interrupted
}

// withInterrupt gives a context that ends when something is to join now. stop
// must be called; then r.cut says whether it did.
func (r *requester) withInterrupt(ctx context.Context) (_ context.Context, stop func()) {
	c := r.interrupts()
	if c == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over, ended := make(chan struct{}), make(chan bool)
	go func() {
		select {
		case <-c:
			cancel(errInterrupted)
			ended <- true
		case <-over:
			ended <- false
		}
	}()
	stopped := false
	return ctx, func() {
		if stopped {
			return
		}
		stopped = true
		close(over)
		r.interrupted = <-ended || r.interrupted
		cancel(nil)
	}
}

// supersede gives results to the calls of b, which are not run any more.
func (r *run) supersede(ctx context.Context, b batch) error {
	return r.commitResults(ctx, r.skippedResults(b.step, b.calls, resultSuperseded, false))
}

// commitResults commits results, and tells them.
func (r *run) commitResults(ctx context.Context, fs []finishedCall) error {
	commit, done := r.commitContext(ctx)
	defer done()
	if err := r.Journal.Append(commit, callMessages(fs)...); err != nil {
		return fmt.Errorf("store results of tools: %w", err)
	}
	for _, e := range callEvents(fs) {
		r.emit(e)
	}
	return nil
}

// settleAbandoned books a model call that was given up for a new message.
func (r *run) settleAbandoned(ctx context.Context, a *attempt) error {
	if a == nil {
		return nil
	}
	if err := r.settle(ctx, a); err != nil {
		return err
	}
	r.uncounted++
	r.report(a)
	r.emit(Event{Type: Interrupted, Step: a.settlement.Entry.Call.Step})
	return nil
}
