package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/agent"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// goOn runs another turn on the same history, of "go on", and returns what the model was asked.
func (r *fixture) goOn(t *testing.T) llm.Request {
	t.Helper()
	r.journal.add([]transcript.Message{{ID: "t2-user", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "go on"}}}})
	r.journal.finished, r.journal.steps, r.journal.tries = nil, 0, 0
	r.turn.ID, r.turn.Steps, r.turn.Tries = "t2", 0, 0
	o, err := r.loop.Run(t.Context(), r.turn, r.emit)
	if err != nil || o.Finish != transcript.EndTurn || o.Text != "next" {
		t.Fatalf("the next turn: %+v, %v", o, err)
	}
	r.journal.sound(t)
	r.requestsAreSound(t)
	return r.lastRequest()
}

// said is who said what in a request, without results of tools.
func said(q llm.Request) (lines []string) {
	for _, m := range q.Messages {
		if m.Role != transcript.Tool {
			lines = append(lines, string(m.Role)+": "+m.Text())
		}
	}
	return lines
}

// D05, L07, T05, S04
func TestAHalfAnswerIsKeptAndTheNextTurnKnowsOfIt(t *testing.T) {
	t.Parallel()
	const stopped = "[stopped by the user before it was finished]"
	const late = "[stopped before it was finished: the time limit was reached]"
	const failed = "[broke off before it was finished: the model failed]"
	begun := llmtest.Turn{llmtest.Text("The first reason"), llmtest.Text(" is\n")}
	half := "The first reason is"
	call := llmtest.Call{ID: "c1", Name: "echo", Input: `{"text":"a"}`}
	work := calls(call)
	for name, c := range map[string]struct {
		turns  []llmtest.Turn // the last is stopped by cause, or fails
		cause  error
		finish transcript.FinishReason
		said   []string
		text   string
	}{
		"a person's stop": {
			turns: []llmtest.Turn{begun}, cause: agent.ErrStopped, finish: transcript.Canceled,
			said: []string{"assistant: " + half + "\n\n" + stopped},
		},
		"the time limit": {
			turns: []llmtest.Turn{begun}, cause: agent.ErrTurnTimeout, finish: transcript.TimedOut,
			said: []string{"assistant: " + half + "\n\n" + late}, text: half + "\n\n(This took too long, so I stopped.)",
		},
		"a lost connection": {
			turns: []llmtest.Turn{append(begun[:2:2], llmtest.Cut{})}, finish: transcript.Failed,
			said: []string{"assistant: " + half + "\n\n" + failed},
			text: half + "\n\n(The answer broke off. I could not reach the model. Please try again later.)",
		},
		"the last retry's": {
			turns: []llmtest.Turn{busy(), append(begun[:2:2], llmtest.Fail{Kind: llm.Overloaded})}, finish: transcript.Failed,
			said: []string{"assistant: " + half + "\n\n" + failed},
			text: half + "\n\n(The answer broke off. The model is too busy at the moment. Please try again later.)",
		},
		"a call behind the words": {
			turns: []llmtest.Turn{append(begun[:2:2], call, llmtest.Cut{})}, finish: transcript.Failed,
			said: []string{"assistant: " + half + "\n\n" + failed},
			text: half + "\n\n(The answer broke off. I could not reach the model. Please try again later.)",
		},
		"no words": {
			turns: []llmtest.Turn{{llmtest.Thinking("hm")}}, cause: agent.ErrStopped,
		},
		"nothing but a call": {
			turns: []llmtest.Turn{{call, llmtest.Cut{}}}, text: "The answer broke off. I could not reach the model. Please try again later.",
		},
		"words after tools": {
			turns: []llmtest.Turn{work, begun}, cause: agent.ErrStopped, finish: transcript.Canceled,
			said: []string{"assistant: ", "assistant: " + half + "\n\n" + stopped},
		},
		"no words after tools": {
			turns: []llmtest.Turn{work, {}}, cause: agent.ErrStopped, finish: transcript.Canceled,
			said: []string{"assistant: ", "assistant: " + stopped},
		},
		"no answer after tools": {
			turns: []llmtest.Turn{work, {llmtest.Fail{Kind: llm.Auth, Status: 401}}}, finish: transcript.Failed,
			said: []string{"assistant: ", "assistant: " + failed}, text: "The model cannot be used at the moment. Please tell the operator.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			reached := make(chan struct{})
			turns := append([]llmtest.Turn(nil), c.turns...)
			if last := len(turns) - 1; c.cause != nil {
				turns[last] = append(turns[last][:len(turns[last]):len(turns[last])], llmtest.Notify(reached), llmtest.Wait(nil))
			}
			r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), append(turns, text("next"))...)
			r.loop.Retry = llm.Retry{}
			go func() {
				select {
				case <-reached:
					cancel(c.cause)
				case <-t.Context().Done():
				}
			}()
			o := r.run(t, ctx)
			if o.Text != c.text || c.cause != nil && !errors.Is(o.Err, c.cause) {
				t.Errorf("%+v", o)
			}
			last := r.journal.messages[len(r.journal.messages)-1]
			if last.Finish().Reason != c.finish || last.Native != nil || c.finish != "" && len(last.Calls()) > 0 {
				t.Errorf("the history ends with %+v", last)
			}
			before := agent.RequestMessages(r.journal.messages)
			sent := r.goOn(t)
			want := append(append([]string{"user: hello"}, c.said...), "user: go on")
			if d := cmp.Diff(want, said(sent)); d != "" {
				t.Errorf("the next request (-want +got):\n%s", d)
			}
			// The provider's cache holds what came before.
			if d := cmp.Diff(before, sent.Messages[:len(before)]); d != "" {
				t.Errorf("the request does not begin as the history was shown before (-before +now):\n%s", d)
			}
		})
	}
}

// L07
func TestAnAnswerWhoseCallsWereCancelledIsMarked(t *testing.T) {
	t.Parallel()
	for _, k := range []int{1, 2} { // the first is running, or was the last to run
		ctx, cancel := context.WithCancelCause(t.Context())
		ran := 0
		work := func(_ context.Context, _ input, _ tools.Call) (tools.Result, error) {
			if ran++; ran == k {
				cancel(agent.ErrStopped)
			}
			return tools.Result{Content: "real"}, nil
		}
		r := newRig(t, setOf(t, tool(t, "work", tools.Write, work)),
			calls(llmtest.Call{ID: "c1", Name: "work"}, llmtest.Call{ID: "c2", Name: "work"}), text("next"))
		r.run(t, ctx)
		last := r.journal.messages[len(r.journal.messages)-1]
		if last.Role != transcript.Assistant || last.Finish().Reason != transcript.Canceled || len(r.journal.results()) != 2 {
			t.Errorf("%d ran: %+v", k, last)
		}
		if got := strings.Join(said(r.goOn(t)), "; "); got != "user: hello; assistant: ; assistant: [stopped by the user before it was finished]; user: go on" {
			t.Errorf("%d ran: %s", k, got)
		}
	}
}

// A whole answer that came while a person said stop is not delivered: what of it was shown is kept.
func TestAnAnswerThatWasStoppedAtItsLastByteIsHalf(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	r := newRig(t, nil, text("whole"), text("next"))
	r.loop.Prices = pricesThen{func() { cancel(agent.ErrStopped) }}
	r.run(t, ctx)
	if got := said(r.goOn(t)); len(got) != 3 || got[1] != "assistant: whole\n\n[stopped by the user before it was finished]" {
		t.Errorf("%q", got)
	}
}
