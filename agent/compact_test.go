package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/agent"
	"parley/agent/pressure"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// talk is a history of so many turns with long answers, each about so many tokens, and a
// question that opens the turn t1.
func talk(turns, tokens int) []transcript.Message {
	var ms []transcript.Message
	say := func(turn string, kind transcript.MessageKind, role transcript.Role, text string) {
		ms = append(ms, transcript.Message{
			ID: transcript.MessageID{Turn: turn, Kind: kind, Step: 1}.String(), Role: role, CreatedAt: at(),
			Parts: []transcript.Part{transcript.Text{Text: text}},
		})
	}
	for i := range turns {
		turn := fmt.Sprintf("t0%d", i)
		say(turn, transcript.Opening, transcript.User, fmt.Sprintf("question %d", i))
		say(turn, transcript.Answer, transcript.Assistant, strings.Repeat("abc ", tokens))
	}
	say("t1", transcript.Opening, transcript.User, "and now?")
	return ms
}

// asksForSummary reports whether r is a request for a summary.
func asksForSummary(r llm.Request) bool {
	return strings.HasPrefix(r.Messages[len(r.Messages)-1].Text(), "Provide a detailed but concise summary")
}

// newLong is a fixture whose history fills a window of 10,000 tokens; the model gives this
// answer to a request for a summary.
func newLong(t *testing.T, set *tools.Set, summary ...llmtest.Step) *fixture {
	t.Helper()
	r := newRig(t, set)
	r.turn.Window, r.turn.MaxTokens = 10_000, 500
	r.journal.messages = talk(10, 1000)
	r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
		if asksForSummary(q) {
			return summary
		}
		return text("fine")
	}
	return r
}

// fixedResult is a tool that returns text.
func fixedResult(text string) runFunc {
	return func(context.Context, input, tools.Call) (tools.Result, error) {
		return tools.Result{Content: text}, nil
	}
}

func overlays(ms []transcript.Message) (all []transcript.Overlay) {
	for _, m := range ms {
		if o, ok := m.Overlay(); ok {
			all = append(all, o)
		}
	}
	return all
}

// requirements B11, N04, N08, AH01
func TestCompaction(t *testing.T) {
	t.Parallel()
	t.Run("puts a summary in place of old turns, and keeps the history", func(t *testing.T) {
		t.Parallel()
		r := newLong(t, setOf(t, tool(t, "echo", tools.Read, echo)), llmtest.Text("<summary>Ann wants 42.</summary>"))
		before := slices.Clone(r.journal.messages)
		r.turn.MaxSteps = 1 // a summary is none of them
		o := r.run(t, t.Context())
		if o.Text != "fine" || o.Finish != transcript.EndTurn || o.Steps != 2 {
			t.Errorf("the turn ended with %+v", o)
		}
		qs := r.model.Requests()
		if len(qs) != 2 || !asksForSummary(qs[0]) {
			t.Fatalf("%d requests", len(qs))
		}
		first, second := qs[0].Messages, qs[1].Messages
		if len(first) != 15 || first[0].Text() != "question 0" {
			t.Errorf("the summary is made of %d messages, the first %q", len(first), first[0].Text())
		}
		if d := cmp.Diff(qs[0].System, qs[1].System); d != "" {
			t.Errorf("another system message: %s", d)
		}
		if got := second[0].Text(); !strings.HasPrefix(got, "<summary>\n") || !strings.HasSuffix(got, "Ann wants 42.\n</summary>") || strings.Count(got, "<summary>") != 1 {
			t.Errorf("the next request begins with %q", got)
		}
		if len(second) != 8 || second[1].Text() != "question 7" || second[7].Text() != "and now?" {
			t.Errorf("it has %d messages, the second %q", len(second), second[1].Text())
		}
		if d := cmp.Diff(before, r.journal.messages[:len(before)]); d != "" {
			t.Errorf("the history is another (-before +after):\n%s", d)
		}
		var purposes []string
		for _, e := range r.journal.ledger() {
			purposes = append(purposes, fmt.Sprintf("%s, call %s %d", e.Labels.Purpose, e.Call.Purpose, e.Call.Step))
		}
		if d := cmp.Diff([]string{"summary, call summary 1", "root, call root 2"}, purposes); d != "" {
			t.Errorf("the ledger (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"compacting", "compacted", "final"}, r.types()); d != "" {
			t.Errorf("events (-want +got):\n%s", d)
		}
		for _, e := range r.events {
			if e.Type == agent.TextDelta && e.Text != "fine" {
				t.Errorf("%q was shown", e.Text)
			}
		}
	})
	for name, tc := range map[string]struct {
		answer llmtest.Turn
		reason string
	}{
		"an empty summary":           {llmtest.Turn{llmtest.Text("</summary>")}, "empty"},
		"a refusal":                  {llmtest.Turn{llmtest.Text("no"), llmtest.Finish(transcript.Refusal)}, "refused"},
		"a summary that is no less":  {llmtest.Turn{llmtest.Text(strings.Repeat("abc ", 8000))}, "frees nothing"},
		"a provider that is broken":  {llmtest.Turn{llmtest.Fail{Kind: llm.Server}}, "server"},
		"a call in place of a text":  {llmtest.Turn{llmtest.Call{ID: "c", Name: "echo"}}, "empty"},
		"a summary too long to send": {llmtest.Turn{llmtest.Fail{Kind: llm.InvalidRequest}}, "invalid_request"},
	} {
		t.Run("goes on without "+name+", and does not ask again at the next step", func(t *testing.T) {
			t.Parallel()
			r := newLong(t, setOf(t, tool(t, "echo", tools.Read, echo)), tc.answer...)
			r.journal.messages = talk(9, 1000) // which still fits
			asked := 0
			r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
				switch {
				case asksForSummary(q):
					return tc.answer
				case asked < 3:
					asked++
					return calls(llmtest.Call{ID: "c1", Name: "echo"})
				}
				return text("fine")
			}
			if o := r.run(t, t.Context()); o.Text != "fine" {
				t.Errorf("the turn ended with %+v", o)
			}
			all := overlays(r.journal.messages)
			if len(all) != 1 || all[0].Kind != transcript.NoSummary || all[0].Reason != tc.reason || all[0].Trigger != pressure.TriggerAuto {
				t.Errorf("the history has %+v", all)
			}
			summaries := 1
			if tc.answer[0] == (llmtest.Call{ID: "c", Name: "echo"}) { // it is asked again
				summaries = 2
			}
			if n := len(r.model.Requests()); n != 4+summaries {
				t.Errorf("%d requests, %d of them for a summary", n, summaries)
			}
		})
	}
	// requirements B21, TX20: a summary that does not begin to come in time is given up, and
	// the turn goes on without it; one that has begun is awaited, as is one without which the
	// request does not fit.
	for name, tc := range map[string]struct {
		turns  int
		answer func(never, later <-chan struct{}) llmtest.Turn
		kind   transcript.OverlayKind
		reason string
		took   time.Duration
	}{
		"nothing comes": {9, func(never, _ <-chan struct{}) llmtest.Turn {
			return llmtest.Turn{llmtest.Wait(never)}
		}, transcript.NoSummary, "timeout", 30 * time.Second},
		"it has begun": {9, func(_, later <-chan struct{}) llmtest.Turn {
			return llmtest.Turn{llmtest.Text("All of it "), llmtest.Wait(later), llmtest.Text("was a test.")}
		}, transcript.Summarised, "", time.Minute},
		"the request does not fit": {10, func(_, later <-chan struct{}) llmtest.Turn {
			return llmtest.Turn{llmtest.Wait(later), llmtest.Text("All of it was a test.")}
		}, transcript.Summarised, "", time.Minute},
		"it fails again and again": {9, func(_, _ <-chan struct{}) llmtest.Turn {
			return llmtest.Turn{llmtest.Fail{Kind: llm.Overloaded, Status: 529}}
		}, transcript.NoSummary, "overloaded", 28 * time.Second},
	} {
		t.Run("is not waited for longer than the preparation may take: "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newLong(t, nil)
				r.journal.messages = talk(tc.turns, 1000)
				r.loop.Now, r.loop.Wait, r.loop.Preparation = nil, nil, 30*time.Second
				r.loop.Retry = pausing(7 * time.Second)
				never, later := make(chan struct{}), make(chan struct{})
				time.AfterFunc(time.Minute, func() { close(later) })
				r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
					if asksForSummary(q) {
						return tc.answer(never, later)
					}
					return text("fine")
				}
				began := time.Now()
				if o := r.run(t, t.Context()); o.Text != "fine" {
					t.Errorf("the turn ended with %+v", o)
				}
				all := overlays(r.journal.messages)
				if len(all) != 1 || all[0].Kind != tc.kind || all[0].Reason != tc.reason {
					t.Errorf("the history has %+v", all)
				}
				if took := time.Since(began); took != tc.took {
					t.Errorf("it took %s, not %s", took, tc.took)
				}
			})
		})
	}
	t.Run("forbids calls only if the model makes one in place of the summary", func(t *testing.T) {
		t.Parallel()
		r := newLong(t, setOf(t, tool(t, "echo", tools.Read, echo)))
		asked := 0
		r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
			if !asksForSummary(q) {
				return text("fine")
			}
			asked++
			mayCall := q.Choice == llm.Auto && len(q.Tools) == 1 // as before it, for the provider's cache
			if mayCall != (asked == 1) {
				t.Errorf("request %d for a summary has the choice %q of %d tools", asked, q.Choice, len(q.Tools))
			}
			if asked == 1 {
				return calls(llmtest.Call{ID: "c1", Name: "echo"})
			}
			return text("Ann wants 42.")
		}
		if o := r.run(t, t.Context()); o.Text != "fine" || len(r.journal.results()) != 0 {
			t.Errorf("the turn ended with %+v after %d calls of tools", o, len(r.journal.results()))
		}
		if all := overlays(r.journal.messages); asked != 2 || len(all) != 1 || all[0].Summary != "Ann wants 42." {
			t.Errorf("after %d requests the history has %+v", asked, all)
		}
		if n := len(r.journal.ledger()); n != 3 {
			t.Errorf("the ledger has %d calls", n)
		}
	})
	t.Run("does not summarise without money, and leaves the turn to the budget", func(t *testing.T) {
		t.Parallel()
		r := newLong(t, nil, llmtest.Text("s"))
		r.journal.limit = 1
		if o := r.run(t, t.Context()); o.Finish != transcript.Budget {
			t.Errorf("the turn ended with %+v", o)
		}
		if n := len(r.model.Requests()); n != 0 {
			t.Errorf("%d requests were made", n)
		}
	})
	t.Run("ends a turn whose request cannot fit", func(t *testing.T) {
		t.Parallel()
		r := newLong(t, nil, llmtest.Text("s"))
		r.journal.messages = talk(0, 0)
		r.journal.messages[0].Parts = []transcript.Part{transcript.Text{Text: strings.Repeat("abc ", 11_000)}}
		o := r.run(t, t.Context())
		limit, ok := errors.AsType[*agent.ContextLimitError](o.Err)
		if !ok || o.Finish != transcript.ContextLimit || limit.Window != 10_000 || limit.Tokens < 11_000 {
			t.Errorf("the turn ended with %+v: %v", o, o.Err)
		}
		if n := len(r.model.Requests()); n != 0 {
			t.Errorf("%d requests were made", n)
		}
	})
	t.Run("does nothing when it is switched off", func(t *testing.T) {
		t.Parallel()
		r := newLong(t, nil, llmtest.Text("s"))
		r.loop.Pressure.Off = true
		if o := r.run(t, t.Context()); o.Text != "fine" || len(overlays(r.journal.messages)) != 0 {
			t.Errorf("the turn ended with %+v", o)
		}
	})
	t.Run("cuts old results of tools without a model call", func(t *testing.T) {
		t.Parallel()
		n := 0
		big := func(_ llm.Request) llmtest.Turn {
			if n++; n > 8 {
				return text("fine")
			}
			return calls(llmtest.Call{ID: "c1", Name: "read", Input: fmt.Sprintf(`{"text":"%d"}`, n)})
		}
		r := newLong(t, setOf(t, tool(t, "read", tools.Read, fixedResult(strings.Repeat("abc ", 1500)))), llmtest.Text("s"))
		r.journal.messages = talk(0, 0)
		r.model.Reply = func(_ int, q llm.Request) llmtest.Turn { return big(q) }
		if o := r.run(t, t.Context()); o.Text != "fine" {
			t.Errorf("the turn ended with %+v", o)
		}
		all := overlays(r.journal.messages)
		if len(all) == 0 || len(all) > 4 || all[0].Kind != transcript.Trimmed {
			t.Errorf("the history has %+v", all)
		}
		for i, q := range r.model.Requests() {
			if asksForSummary(q) {
				t.Errorf("request %d asks for a summary", i+1)
			}
			if got := llm.Estimate(q); got > 9500 {
				t.Errorf("request %d has %d tokens", i+1, got)
			}
		}
		for _, res := range r.journal.results() {
			if len(res.Content) < 5000 {
				t.Error("the history has lost a result")
			}
		}
	})
	t.Run("shows no more of a result than it may, and stores all", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setOf(t, tool(t, "read", tools.Read, fixedResult(strings.Repeat("abc ", 5000)))), calls(llmtest.Call{ID: "c1", Name: "read"}), text("fine"))
		r.loop.Pressure.ResultBytes = 4000
		r.run(t, t.Context())
		sent := r.lastRequest().Messages[2].Results()[0].Content
		if len(sent) > 4200 || !strings.Contains(sent, "\n[output 3: bytes 2666 to 18666 of 20000 are left out here;") {
			t.Errorf("%d bytes were sent: …%s", len(sent), sent[len(sent)/2:len(sent)/2+200])
		}
		if got := r.journal.results()[0]; len(got.Content) != 20_000 || got.View != 4000 {
			t.Errorf("%d bytes are stored, %d are shown", len(got.Content), got.View)
		}
	})
	t.Run("leaves room for the answer", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, nil, text("fine"))
		r.turn.Window, r.turn.MaxTokens = 10_000, 9_000
		r.journal.messages = talk(5, 1000)
		r.run(t, t.Context())
		if got := r.lastRequest().MaxTokens; got < 4000 || got > 5000 {
			t.Errorf("%d output tokens were asked for", got)
		}
	})
	// The ladder keeps an eighth of it for an answer, which is less than a call is worth
	// making for where only the money is short.
	t.Run("leaves room for the answer in a small window", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, nil, text("fine"))
		r.turn.Window, r.turn.MaxTokens = 4500, 1000
		r.journal.messages = talk(3, 1180)
		r.run(t, t.Context())
		input := int(llm.Estimate(r.lastRequest()))
		if got := r.lastRequest().MaxTokens; got < 562 || got > 900 || got+input > 4500 {
			t.Errorf("%d output tokens were asked for after about %d of input", got, input)
		}
	})
	t.Run("asks once for a summary that comes empty where nothing fits without it", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, nil)
		r.turn.Window, r.turn.MaxTokens = 4500, 1000
		r.journal.messages = talk(6, 1180)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		r.model.Reply = func(n int, _ llm.Request) llmtest.Turn {
			if n == 5 {
				cancel(agent.ErrStopped)
			}
			return text("")
		}
		o := r.run(t, ctx)
		if n := len(r.model.Requests()); n != 1 || o.Finish != transcript.ContextLimit {
			t.Errorf("%d requests were made, and the turn ended with %+v", n, o)
		}
	})
}

// tooLong is what a provider says of a request that does not fit, before any of it is paid.
var tooLong = llmtest.Fail{Kind: llm.ContextLength, Status: 400}

func TestOverflow(t *testing.T) {
	t.Parallel()
	t.Run("summarises and goes on after a provider refused a request for its length", func(t *testing.T) {
		t.Parallel()
		r := newLong(t, nil, llmtest.Text("kept"))
		r.journal.messages = talk(5, 1000) // by the estimate it fits
		r.model.Reply = func(n int, q llm.Request) llmtest.Turn {
			switch {
			case n == 1:
				return llmtest.Turn{tooLong}
			case asksForSummary(q):
				return text("kept")
			}
			return text("fine")
		}
		if o := r.run(t, t.Context()); o.Text != "fine" {
			t.Errorf("the turn ended with %+v", o)
		}
		if all := overlays(r.journal.messages); len(all) != 1 || all[0].Trigger != pressure.TriggerOverflow || all[0].Before < 10_000 {
			t.Errorf("the history has %+v", all)
		}
	})
	t.Run("asks for a summary of less when that request is too long, too", func(t *testing.T) {
		t.Parallel()
		r := newLong(t, nil)
		r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
			switch {
			case len(q.Messages) > 10:
				return llmtest.Turn{tooLong}
			case asksForSummary(q):
				return text("kept")
			}
			return text("fine")
		}
		if o := r.run(t, t.Context()); o.Text != "fine" {
			t.Errorf("the turn ended with %+v", o)
		}
	})
	t.Run("ends the turn when there is no money for the summary, and books the refused request once", func(t *testing.T) {
		t.Parallel()
		r := newLong(t, nil)
		r.journal.messages = talk(5, 1000)
		r.model.Reply = func(int, llm.Request) llmtest.Turn {
			r.journal.mu.Lock()
			defer r.journal.mu.Unlock()
			r.journal.limit = 1
			return llmtest.Turn{tooLong}
		}
		if o := r.run(t, t.Context()); o.Finish != transcript.ContextLimit {
			t.Errorf("the turn ended with %+v", o)
		}
		if n := len(r.journal.ledger()); n != 1 {
			t.Errorf("%d rows in the ledger", n)
		}
	})
	t.Run("gives up when nothing helps", func(t *testing.T) {
		t.Parallel()
		r := newLong(t, nil)
		r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
			if asksForSummary(q) {
				return text("kept")
			}
			return llmtest.Turn{tooLong}
		}
		if o := r.run(t, t.Context()); o.Finish != transcript.ContextLimit {
			t.Errorf("the turn ended with %+v", o)
		}
		if n := len(r.model.Requests()); n > 6 {
			t.Errorf("%d requests were made", n)
		}
	})
}

// TestACompactionThatDiesAnywhereIsPaidOnce dies at each operation of the journal, before
// and after its change.
func TestACompactionThatDiesAnywhereIsPaidOnce(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 8; at++ {
		for _, applied := range []bool{false, true} {
			r := newLong(t, nil, llmtest.Text("kept"))
			r.journal.killAt, r.journal.applied = at, applied
			o, err := r.loop.Run(t.Context(), r.turn, r.emit)
			if errors.Is(err, errKilled) && len(r.journal.finished) == 0 {
				r.turn = r.journal.resume(r.turn)
				r.journal.killAt = 0
				o, err = r.loop.Run(t.Context(), r.turn, r.emit)
			}
			if err != nil && len(r.journal.finished) == 0 {
				t.Fatalf("dies at %d: %v", at, err)
			}
			r.journal.sound(t)
			summaries := 0
			for _, e := range r.journal.ledger() {
				if e.Labels.Purpose == costs.Summary && e.Outcome == "ok" {
					summaries++
				}
			}
			if all := overlays(r.journal.messages); len(all) != 1 || all[0].Kind != transcript.Summarised || summaries != 1 {
				t.Errorf("dies at %d (after: %v): overlays %+v, %d summaries booked, %+v", at, applied, all, summaries, o)
			}
		}
	}
}

// pausing tries again after a pause.
type pausing time.Duration

func (a pausing) Next(int, time.Duration, error) (time.Duration, bool) { return time.Duration(a), true }
