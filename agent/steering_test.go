package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// steering lets what waits join, as a worker does.
type steering struct {
	j       *journal
	waiting []string
	cuts    chan struct{}
	asked   int // how often Join was called
	err     error
}

func (s *steering) Interrupts() <-chan struct{} { return s.cuts }

func (s *steering) Join(context.Context) (bool, error) {
	s.asked++
	select {
	case <-s.cuts:
	default:
	}
	n := len(s.waiting)
	for i, text := range s.waiting {
		s.j.add([]transcript.Message{{
			ID: fmt.Sprintf("joined %d %d", s.asked, i), Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: text}},
		}})
	}
	s.waiting = nil
	return n > 0, s.err
}

func (r *fixture) steer(waiting ...string) *steering {
	s := &steering{j: r.journal, waiting: waiting, cuts: make(chan struct{}, 1)}
	r.turn.Steering = s
	return s
}

func TestMessagesJoinBeforeEachModelCallButTheFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)),
		calls(llmtest.Call{ID: "c1", Name: "echo"}, llmtest.Call{ID: "c2", Name: "echo"}), text("all of it"))
	s := r.steer("and this", "and that")
	if o := r.run(t, t.Context()); o.Text != "all of it" || o.Steps != 2 {
		t.Errorf("%+v", o)
	}
	if s.asked != 2 { // the second time nothing waits
		t.Errorf("asked %d times", s.asked)
	}
	var roles []transcript.Role
	for _, m := range r.lastRequest().Messages {
		roles = append(roles, m.Role)
	}
	if want := []transcript.Role{transcript.User, transcript.Assistant, transcript.Tool, transcript.User, transcript.User}; !slices.Equal(roles, want) {
		t.Errorf("request %v", roles)
	}
	r.requestsAreSound(t)
}

func TestNothingJoinsTheLastWordsOfATurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), calls(llmtest.Call{ID: "c1", Name: "echo"}), text("as far as I got"))
	s := r.steer("too late")
	r.turn.MaxSteps = 1
	if o := r.run(t, t.Context()); o.Finish != transcript.MaxIterations || s.asked != 0 {
		t.Errorf("%+v, asked %d times", o, s.asked)
	}
}

func TestAJoinThatFailsLeavesTheTurnOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), calls(llmtest.Call{ID: "c1", Name: "echo"}), text("never"))
	s := r.steer()
	s.err = errKilled
	if _, err := r.loop.Run(t.Context(), r.turn, nil); !errors.Is(err, errKilled) || len(r.journal.finished) != 0 {
		t.Errorf("error %v", err)
	}
}

func TestAModelCallThatIsGivenUpIsBookedAndMadeAnewWithWhatJoins(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{})
	r := newRig(t, nil, llmtest.Turn{llmtest.Text("half an ans"), llmtest.Notify(reached), llmtest.Wait(nil)}, text("both"))
	s := r.steer("and this")
	go func() {
		<-reached
		s.cuts <- struct{}{}
	}()
	if o := r.run(t, t.Context()); o.Text != "both" || o.Steps != 1 {
		t.Errorf("%+v", o)
	}
	es := r.journal.ledger()
	if len(es) != 2 || es[0].State != costs.Interrupted || es[0].Amount == 0 || es[1].Call.Step != 1 || es[1].Call.Attempt != 2 {
		t.Errorf("ledger %+v", es)
	}
	if n := len(r.journal.messages); n != 3 {
		t.Errorf("%d messages: the half answer was stored", n)
	}
}

func TestCallsGivenUpForNewMessagesAreNoRetries(t *testing.T) {
	t.Parallel()
	var turns []llmtest.Turn
	var reached []chan struct{}
	for i := range 3 {
		reached = append(reached, make(chan struct{}))
		turns = append(turns, llmtest.Turn{llmtest.Notify(reached[i]), llmtest.Wait(nil)})
	}
	r := newRig(t, nil, append(turns, llmtest.Turn{llmtest.Fail{Kind: llm.Overloaded}}, text("at last"))...)
	r.loop.Retry = llm.Retry{Max: 1, Base: time.Nanosecond, Cap: time.Nanosecond, Window: time.Hour}
	s := r.steer()
	go func() {
		for _, c := range reached {
			<-c
			s.cuts <- struct{}{}
		}
	}()
	if o := r.run(t, t.Context()); o.Text != "at last" {
		t.Errorf("%+v", o)
	}
}

func TestForANewMessageCallsThatHaveNotBegunAreNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, callsThatHaveNotBegun)
}

func callsThatHaveNotBegun(t *testing.T) {
	ran := 0
	var s *steering
	write := func(ctx context.Context, _ input, _ tools.Call) (tools.Result, error) {
		ran++
		s.cuts <- struct{}{}
		synctest.Wait() // whoever would cancel has done so
		if ctx.Err() != nil {
			t.Error("a tool with side effects was cancelled")
		}
		return tools.Result{Content: "done"}, nil
	}
	r := newRig(t, setOf(t, tool(t, "write", tools.Write, write)),
		calls(llmtest.Call{ID: "c1", Name: "write"}, llmtest.Call{ID: "c2", Name: "write"}), text("both"))
	s = r.steer("stop writing")
	if o := r.run(t, t.Context()); o.Text != "both" || ran != 1 {
		t.Errorf("%+v, ran %d times", o, ran)
	}
	wantResult(t, r.journal.results()[0], "c1", "done", false)
	wantResult(t, r.journal.results()[1], "c2", "Not run: a new message came first. Ask again if it is still needed.", false)
	r.requestsAreSound(t)
}

func TestForANewMessageAToolThatMayRunAgainIsCancelled(t *testing.T) {
	t.Parallel()
	var s *steering
	read := func(ctx context.Context, _ input, _ tools.Call) (tools.Result, error) {
		s.cuts <- struct{}{}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), agent.ErrStopped) {
			t.Errorf("cause %v: a sub-agent would leave its turn open", context.Cause(ctx))
		}
		return tools.Result{}, ctx.Err()
	}
	r := newRig(t, setOf(t, tool(t, "read", tools.Read, read)),
		calls(llmtest.Call{ID: "c1", Name: "read"}, llmtest.Call{ID: "c2", Name: "read"}), text("both"))
	s = r.steer("never mind")
	if o := r.run(t, t.Context()); o.Text != "both" {
		t.Errorf("%+v", o)
	}
	if n := len(r.journal.results()); n != 2 {
		t.Errorf("%d results", n)
	}
	r.requestsAreSound(t)
}
