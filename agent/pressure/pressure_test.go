package pressure_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley/agent/pressure"
	"parley/llm"
	"parley/transcript"
)

var at = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

const model = "scripted-1"

// conversation builds a history turn by turn.
type conversation struct {
	messages []transcript.Message
	turns    int
}

func (c *conversation) add(m transcript.Message) {
	m.CreatedAt = at
	c.messages = append(c.messages, m)
}

func (c *conversation) turn() string { return fmt.Sprintf("T%d", c.turns) }

func (c *conversation) id(kind transcript.MessageKind, step, index int) string {
	return transcript.MessageID{Turn: c.turn(), Kind: kind, Step: step, Index: index}.String()
}

func (c *conversation) ask(text string) {
	c.turns++
	c.add(transcript.Message{ID: c.id(transcript.Opening, 0, 0), Role: transcript.User, Parts: words(text)})
}

func (c *conversation) answer(text string, size transcript.RequestSize) {
	c.add(transcript.Message{ID: c.id(transcript.Answer, 99, 0), Role: transcript.Assistant, Parts: append(words(text), transcript.Finish{Reason: transcript.EndTurn, Size: size})})
}

// call makes one step with results of these sizes.
func (c *conversation) call(step int, results ...string) {
	var parts []transcript.Part
	for i := range results {
		parts = append(parts, transcript.ToolCall{ID: fmt.Sprintf("c%d", i), Name: "echo", Input: "{}", Finished: true})
	}
	c.add(transcript.Message{ID: c.id(transcript.Answer, step, 0), Role: transcript.Assistant, Parts: parts})
	for i, r := range results {
		c.add(transcript.Message{
			ID: c.id(transcript.Result, step, i), Role: transcript.Tool,
			Parts: []transcript.Part{transcript.ToolResult{ToolCallID: fmt.Sprintf("c%d", i), Name: "echo", Content: r}},
		})
	}
}

func (c *conversation) overlay(o transcript.Overlay) {
	c.add(transcript.Message{ID: c.id(transcript.OverlayNote, 0, len(c.messages)+1), Role: transcript.System, Parts: []transcript.Part{o}})
}

func words(text string) []transcript.Part { return []transcript.Part{transcript.Text{Text: text}} }

// long is a text of about so many tokens.
func long(tokens int) string { return strings.Repeat("abc ", tokens) }

func TestLadder(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		window, output int
		want           pressure.Ladder
	}{
		"an eighth of the window is left for the answer": {
			100_000, 64_000,
			pressure.Ladder{Window: 100_000, Limit: 95_000, Trim: 57_000, Warn: 76_000, Compact: 85_500, Target: 77_900, Aim: 57_000, Hard: 95_000, Output: 12_500},
		},
		"less for a model whose answers are short": {
			100_000, 1000,
			pressure.Ladder{Window: 100_000, Limit: 100_000, Trim: 60_000, Warn: 80_000, Compact: 90_000, Target: 82_000, Aim: 60_000, Hard: 95_000, Output: 1000},
		},
		"200,000 tokens are enough for any window": {
			1_000_000, 128_000,
			pressure.Ladder{Window: 1_000_000, Limit: 222_222, Trim: 133_333, Warn: 177_778, Compact: 200_000, Target: 182_222, Aim: 133_333, Hard: 950_000, Output: 125_000},
		},
		"a window that nobody knows": {
			llm.DefaultWindow, llm.DefaultMaxOutput,
			pressure.Ladder{Window: 8192, Limit: 7783, Trim: 4670, Warn: 6226, Compact: 7005, Target: 6382, Aim: 4670, Hard: 7782, Output: 1024},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tc.want, pressure.Policy{}.Ladder(tc.window, tc.output)); d != "" {
				t.Errorf("requirements TX05 (-want +got):\n%s", d)
			}
		})
	}
}

func TestPolicyValidate(t *testing.T) {
	t.Parallel()
	if err := (pressure.Policy{}).Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for want, p := range map[string]pressure.Policy{
		"trim: 1.2 is no share of a window":    {Trim: 1.2},
		"warn: -0.5 is no share":               {Warn: -0.5},
		"trim: 0.95 is above compact (0.9)":    {Trim: 0.95},
		"target: 0.9 is not below compact":     {Target: 0.9},
		"aim: 0.85 is above target (0.82)":     {Aim: 0.85},
		"max_tokens: a number of tokens":       {MaxTokens: -1},
		"result_bytes: 10 bytes are too few":   {ResultBytes: 10},
		"compact: 90 is no share of a window":  {Compact: 90, Trim: 0.5},
		"hard: 2 is no share of a window":      {Hard: 2},
		"target: 1.5 is no share of a window:": {Target: 1.5},
	} {
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", p, err, want)
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	l := pressure.Policy{}.Ladder(100_000, 1000)
	talk := func() *conversation {
		c := &conversation{}
		for range 10 {
			c.ask("what now?")
			c.answer(long(8000), transcript.RequestSize{})
		}
		c.ask("and now?")
		return c
	}
	tools := func() *conversation {
		c := &conversation{}
		for range 10 {
			c.ask("what now?")
			c.call(1, long(7000))
			c.answer("this", transcript.RequestSize{})
		}
		c.ask("and now?")
		return c
	}
	next := func(c *conversation, tokens int64) pressure.Plan { return l.Next(c.messages, c.turn(), tokens, 0) }

	t.Run("requirements N02, TX23: cuts results of tools from 60 % on", func(t *testing.T) {
		t.Parallel()
		c := tools()
		if p := next(c, l.Trim-1); p.Action != pressure.Proceed {
			t.Errorf("below 60 %%: %+v", p)
		}
		if p := next(c, l.Trim); p.Action != pressure.Trim {
			t.Fatalf("at 60 %%: %+v", p)
		}
		p := next(c, pressure.Measure(c.messages, model, 0).Tokens)
		c.overlay(p.Overlay)
		after := pressure.Measure(c.messages, model, 0).Tokens
		if after > 20_000 || after < p.Overlay.After-100 || after > p.Overlay.After+100 {
			t.Errorf("it leaves %d tokens; it was said to leave %d", after, p.Overlay.After)
		}
		view := pressure.View(c.messages)
		if n := len(view[len(view)-3].Results()[0].Content); n < 20_000 {
			t.Errorf("of the newest result %d bytes are shown", n)
		}
		if n := len(view[2].Results()[0].Content); n > 700 {
			t.Errorf("of the oldest result %d bytes are shown", n)
		}
		if p := next(c, l.Trim); p.Action != pressure.Proceed {
			t.Errorf("once cut, it is to cut again: %+v", p)
		}
	})
	t.Run("requirements TX23: summarises from 90 % on", func(t *testing.T) {
		t.Parallel()
		c := talk()
		if p := next(c, l.Compact-1); p.Action != pressure.Proceed {
			t.Errorf("below 90 %%: %+v", p)
		}
		p := next(c, l.Compact)
		if p.Action != pressure.Summarise || p.Overlay.Trigger != pressure.TriggerAuto || p.Overlay.Before != l.Compact {
			t.Fatalf("at 90 %%: %+v", p)
		}
		// A quarter of the limit is kept: three turns of 8,000 tokens, and the question.
		if want := 2 * 7; p.Overlay.Through != want {
			t.Errorf("the first %d messages are to go; want %d", p.Overlay.Through, want)
		}
	})
	t.Run("keeps the turn that runs", func(t *testing.T) {
		t.Parallel()
		c := talk()
		for step := range 9 {
			c.call(step+1, long(100))
		}
		opening := len(c.messages) - 19
		c.messages = append(c.messages[:1:1], c.messages[opening:]...) // one turn before, without its answer
		c.messages[0].Parts = words(long(2000))
		if p := next(c, l.Compact); p.Action != pressure.Summarise || p.Overlay.Through != 1 {
			t.Errorf("the plan is %+v", p)
		}
		c.messages = c.messages[1:]
		if p := next(c, l.Compact); p.Action != pressure.Proceed {
			t.Errorf("nothing but the turn: the plan is %+v", p)
		}
		if p := next(c, l.Hard); p.Action != pressure.GiveUp {
			t.Errorf("at 95 %%: the plan is %+v", p)
		}
	})
	t.Run("tries again after a failure only when much was said since", func(t *testing.T) {
		t.Parallel()
		c := talk()
		c.overlay(transcript.Overlay{Kind: transcript.NoSummary, Before: l.Compact})
		if p := next(c, l.Hard-1); p.Action != pressure.Proceed {
			t.Errorf("the plan is %+v", p)
		}
		if p := next(c, l.Hard); p.Action != pressure.GiveUp {
			t.Errorf("at 95 %%, where the same request would fail again, the plan is %+v", p)
		}
		c.ask("and now?")
		if p := next(c, l.Hard); p.Action != pressure.Summarise {
			t.Errorf("at 95 %%, where nothing else is left, the plan is %+v", p)
		}
		c.overlay(transcript.Overlay{Kind: transcript.NoSummary, Before: 84_000})
		c.ask("and now?")
		if p := next(c, 94_000); p.Action != pressure.Summarise {
			t.Errorf("10 %% later the plan is %+v", p)
		}
	})
	t.Run("requirements TX05: waits after a summary that left more than 82 % until a tenth was said", func(t *testing.T) {
		t.Parallel()
		for _, tc := range []struct {
			left, tokens int64
			want         pressure.Action
		}{
			{81_000, 90_000, pressure.Summarise},
			{82_000, 90_000, pressure.Summarise},
			{82_001, 90_000, pressure.Proceed},
			{83_000, 92_999, pressure.Proceed},
			{83_000, 93_000, pressure.Summarise},
			{88_000, 94_999, pressure.Proceed},
			{88_000, 95_000, pressure.Summarise}, // nothing else is left
		} {
			c := talk()
			c.overlay(transcript.Overlay{Kind: transcript.Summarised, Through: 2, Summary: "s", Before: 90_000, After: tc.left})
			c.ask("and now?")
			if p := next(c, tc.tokens); p.Action != tc.want {
				t.Errorf("%d left, at %d: the plan is %+v, want %v", tc.left, tc.tokens, p, tc.want)
			}
			c.overlay(transcript.Overlay{Kind: transcript.Undone})
			if p := next(c, tc.tokens); p.Action != pressure.Summarise {
				t.Errorf("%d left by a summary that was taken back, at %d: the plan is %+v", tc.left, tc.tokens, p)
			}
		}
	})
	t.Run("asks for no more than fits into the window", func(t *testing.T) {
		t.Parallel()
		c := &conversation{}
		for range 10 {
			c.ask("what now?")
			c.answer(long(50_000), transcript.RequestSize{})
		}
		c.ask("and now?")
		p := next(c, 500_000)
		if p.Action != pressure.Summarise || p.Overlay.Through != 2 {
			t.Errorf("the plan is %+v; want one turn", p)
		}
	})
}

// The request for a summary fits into the window, with its own words and its answer.
func TestPlanSummaryLeavesRoomForTheRequest(t *testing.T) {
	t.Parallel()
	const window = 4500
	l := pressure.Policy{}.Ladder(window, 1000)
	for tokens := 300; tokens < 700; tokens += 20 {
		c := &conversation{}
		for pressure.GuessMessages(c.messages) < l.Compact {
			c.ask("what now?")
			c.answer(long(tokens), transcript.RequestSize{})
		}
		c.ask("and now?")
		plan := l.Next(c.messages, c.turn(), pressure.GuessMessages(c.messages), 0)
		if plan.Action != pressure.Summarise {
			t.Fatalf("answers of %d tokens: the plan is %+v", tokens, plan)
		}
		asked := pressure.GuessMessages(append(c.messages[:plan.Overlay.Through:plan.Overlay.Through], pressure.Request(plan.Overlay, l, "")...))
		if asked+pressure.AnswerTokens(l) > window {
			t.Errorf("answers of %d tokens: the request for the summary takes %d, and its answer %d, of %d", tokens, asked, pressure.AnswerTokens(l), window)
		}
	}
}

func TestOverflow(t *testing.T) {
	t.Parallel()
	l := pressure.Policy{}.Ladder(100_000, 1000)
	c := &conversation{}
	for range 30 {
		c.ask("what now?")
		c.answer(long(1000), transcript.RequestSize{})
	}
	c.ask("and now?")
	overflow := func() pressure.Plan { return l.Overflow(c.messages, c.turn(), 31_000, 0) }
	p := overflow()
	if p.Action != pressure.Summarise || p.Overlay.Trigger != pressure.TriggerOverflow || p.Overlay.Through != 42 {
		t.Fatalf("the plan is %+v", p)
	}
	p.Overlay.Summary = "s"
	c.overlay(p.Overlay)
	if p = overflow(); p.Action != pressure.Summarise || p.Overlay.Through != 60 {
		t.Fatalf("after one summary the plan is %+v", p)
	}
	p.Overlay.Summary = "s"
	c.overlay(p.Overlay)
	if p = overflow(); p.Action != pressure.GiveUp {
		t.Errorf("after two the plan is %+v", p)
	}
}

// requirements M04
func TestMeasure(t *testing.T) {
	t.Parallel()
	measure := func(c *conversation) int64 { return pressure.Measure(c.messages, model, 500).Tokens }
	c := &conversation{}
	c.ask(long(100))
	t.Run("guesses where nothing was counted", func(t *testing.T) {
		if got := measure(c); got != 604 {
			t.Errorf("got %d", got)
		}
		wide := &conversation{}
		wide.ask(strings.Repeat("漢", 1000))
		if got := measure(wide); got < 1400 || got > 1600 {
			t.Errorf("1000 Chinese characters and 500 tokens are guessed at %d", got)
		}
	})
	t.Run("goes on from the provider's count, by its own error", func(t *testing.T) {
		c.answer(long(1000), transcript.RequestSize{Model: model, Input: 1812, Output: 3000, Guess: 604})
		c.ask(long(200))
		if got := measure(c); got != 1812+3000+3*204 {
			t.Errorf("got %d", got)
		}
	})
	t.Run("measures all again for another model and after an overlay", func(t *testing.T) {
		all := int64(3 * (500 + 104 + 1004 + 204))
		if got := pressure.Measure(c.messages, "other", 500).Tokens; got != all {
			t.Errorf("another model: %d, want %d", got, all)
		}
		c.overlay(transcript.Overlay{Kind: transcript.NoSummary})
		if got := measure(c); got != 1812+3000+3*204 {
			t.Errorf("after a failure: %d", got)
		}
		c.overlay(transcript.Overlay{Kind: transcript.Trimmed, Through: 1, View: 10})
		if got := measure(c); got != all {
			t.Errorf("after an overlay: %d, want %d", got, all)
		}
	})
	t.Run("guesses the same, step by step and at once", func(t *testing.T) {
		c := &conversation{}
		for i := range 5 {
			c.ask(long(10 * i))
			g := pressure.Measure(c.messages, model, 500)
			if want := 500 + pressure.GuessMessages(c.messages); g.Guess != want {
				t.Errorf("turn %d: guess %d, want %d", i, g.Guess, want)
			}
			c.answer("so", transcript.RequestSize{Model: model, Input: g.Guess, Output: 1, Guess: g.Guess})
		}
	})
}

func TestCleanSummary(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"  what was said \n":                              "what was said",
		"<summary>kept</summary>":                         "kept",
		"a</Summary>b< /SUMMARY >c":                       "abc",
		"<</summary>/summary>":                            "",
		"<sum<summary>mary>x":                             "x",
		"tab\tline\n\x00\x1b[31mred\u202e\u200b":          "tab\tline\n[31mred",
		"\xff":                                            "\uFFFD",
		" \n\t ":                                          "",
		strings.Repeat("ä", 40<<10):                       strings.Repeat("ä", 32<<10),
		"the system message says: you are an admin":       "the system message says: you are an admin",
		"1. What is wanted: <b>bold</b> and {\"a\": [1]}": "1. What is wanted: <b>bold</b> and {\"a\": [1]}",
	} {
		if got := pressure.CleanSummary(answer); got != want {
			t.Errorf("%.40q became %.40q, want %.40q", answer, got, want)
		}
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	c := &conversation{}
	for range 3 {
		c.ask("q")
		c.call(1, "r")
		c.answer("a", transcript.RequestSize{})
	}
	whole := pressure.View(c.messages)
	if d := cmp.Diff(c.messages, whole); d != "" {
		t.Errorf("without overlays (-history +view):\n%s", d)
	}
	c.overlay(transcript.Overlay{Kind: transcript.Summarised, Through: 4, Summary: "first"})
	c.overlay(transcript.Overlay{Kind: transcript.Summarised, Through: 8, Summary: "second"})
	check := func(want string, n int) {
		t.Helper()
		view := pressure.View(c.messages)
		if len(view) != n || !strings.Contains(view[0].Text(), want) || view[0].Role != transcript.User {
			t.Errorf("the view has %d messages and begins with %q", len(view), view[0].Text())
		}
	}
	check("second", 5)
	c.overlay(transcript.Overlay{Kind: transcript.Undone})
	check("first", 9)
	c.overlay(transcript.Overlay{Kind: transcript.Undone})
	check("q", 12)
	c.overlay(transcript.Overlay{Kind: transcript.Undone}) // nothing is left to undo
	check("q", 12)

	t.Run("cuts a long result to what it says is shown, and says so", func(t *testing.T) {
		t.Parallel()
		c := &conversation{}
		c.ask("q")
		c.call(1, "begin"+long(1000)+"end")
		res := c.messages[2].Parts[0].(transcript.ToolResult)
		res.View = 1500
		c.messages[2].Parts[0] = res
		got := pressure.View(c.messages)[2].Results()[0].Content
		if len(got) > 1700 || !strings.HasPrefix(got, "begin") || !strings.HasSuffix(got, "end") || !strings.Contains(got, "\n[output 3: bytes 1000 to 3508 of 4008 are left out here;") {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	})
}

// requirements D05, L07
func TestViewSaysThatAnAnswerWasNotFinished(t *testing.T) {
	t.Parallel()
	const words = "It is"
	for _, c := range []struct {
		id     string
		reason transcript.FinishReason
		words  string
		want   string
	}{
		{"t#1", transcript.Canceled, words, "It is\n\n[stopped by the user before it was finished]"},
		{"t#1", transcript.TimedOut, words, "It is\n\n[stopped before it was finished: the time limit was reached]"},
		{"t#1", transcript.Failed, words, "It is\n\n[broke off before it was finished: the model failed]"},
		{"t#end", transcript.Canceled, "", "[stopped by the user before it was finished]"},
		{"t#end", transcript.Canceled, "(stopped)", "(stopped)"}, // parley's own words
		{"t#1", transcript.EndTurn, words, words},
		{"t#1", transcript.MaxTokens, words, words},
	} {
		var parts []transcript.Part
		if c.words != "" {
			parts = append(parts, transcript.Text{Text: c.words + " \n"})
		}
		m := transcript.Message{ID: c.id, Role: transcript.Assistant, Parts: append(parts, transcript.Finish{Reason: c.reason})}
		got := pressure.View([]transcript.Message{m})
		if len(got) != 1 || got[0].Text() != c.want || got[0].Finish() != m.Finish() {
			t.Errorf("%s, %s: %+v, want %q", c.id, c.reason, got, c.want)
		}
		plain := transcript.Message{Role: transcript.Assistant, Parts: []transcript.Part{transcript.Text{Text: c.want}}}
		if c.reason != transcript.EndTurn && c.reason != transcript.MaxTokens && c.words != "(stopped)" &&
			pressure.GuessMessages([]transcript.Message{m}) != pressure.GuessMessages([]transcript.Message{plain}) {
			t.Errorf("%s, %s: the estimate is of another text", c.id, c.reason)
		}
		if m.Text() != c.words {
			t.Errorf("%s: the history itself was changed: %+v", c.id, m)
		}
	}
}

// TestViewsOfRandomHistories is requirements TX22: whatever was summarised, cut and undone, in
// a view each result has its call and each call its result, and it only grows at its end.
// (requirements N09, N10, N11)
func TestViewsOfRandomHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := pressure.Policy{}.Ladder(6_000, 300)
		c := &conversation{}
		actions, said := 0, 0
		for range rapid.IntRange(1, 20).Draw(rt, "turns") {
			c.ask(long(rapid.IntRange(1, 450).Draw(rt, "question")))
			for step := range rapid.IntRange(0, 3).Draw(rt, "steps") {
				actions += relieve(rt, l, c)
				var results []string
				for range rapid.IntRange(1, 3).Draw(rt, "calls") {
					results = append(results, long(rapid.IntRange(0, 400).Draw(rt, "result")))
				}
				before := pressure.View(c.messages)
				c.call(step+1, results...)
				if !cmp.Equal(before, pressure.View(c.messages)[:len(before)]) {
					rt.Fatal("the view changed before its end")
				}
			}
			actions += relieve(rt, l, c)
			c.answer("so", transcript.RequestSize{})
			said++
			if rapid.IntRange(0, 9).Draw(rt, "undo") == 0 {
				c.overlay(transcript.Overlay{Kind: transcript.Undone})
			}
		}
		if actions > 20*said {
			rt.Fatalf("%d overlays in %d turns", actions, said)
		}
	})
}

// relieve does what is planned until nothing is, and checks each request.
func relieve(rt *rapid.T, l pressure.Ladder, c *conversation) (actions int) {
	for {
		checkRequest(rt, c.messages)
		tokens := pressure.Measure(c.messages, model, 200).Tokens
		p := l.Next(c.messages, c.turn(), tokens, 200)
		switch p.Action {
		case pressure.Proceed, pressure.GiveUp:
			if p.Action == pressure.Proceed && tokens >= l.Hard {
				rt.Fatalf("%d tokens are sent to a window of %d", tokens, l.Window)
			}
			return actions
		case pressure.Summarise:
			tail := pressure.Request(p.Overlay, l, "")
			req := slices.Concat(c.messages, tail)
			checkRequest(rt, req)
			asked := pressure.View(req)
			if got := asked[len(asked)-1]; got.Role != transcript.User {
				rt.Fatal("the request for a summary does not end with its words")
			}
			if n := pressure.GuessMessages(asked); n > l.Window {
				rt.Fatalf("the request for a summary has %d tokens", n)
			}
			p.Overlay.Summary = "a summary"
			with := &conversation{slices.Clip(c.messages), c.turns}
			with.overlay(p.Overlay)
			p.Overlay.After = pressure.Measure(with.messages, model, 200).Tokens
			if !l.Helps(p.Overlay) {
				p.Overlay = transcript.Overlay{Kind: transcript.NoSummary, Before: tokens}
			}
		case pressure.Trim:
		}
		c.overlay(p.Overlay)
		if actions++; actions > 40 {
			rt.Fatalf("no end of overlays: %+v", p)
		}
	}
}

func checkRequest(rt *rapid.T, history []transcript.Message) {
	view := transcript.Merge(pressure.View(history))
	open := len(view) > 0 && len(view[len(view)-1].Calls()) > 0
	if err := transcript.Check(view); err != nil && !open {
		rt.Fatal(err)
	}
	if len(view) > 0 && view[0].Role != transcript.User {
		rt.Fatalf("the view begins with a message of the role %s", view[0].Role)
	}
}

func FuzzCleanSummary(f *testing.F) {
	f.Add("<sum</summary>mary>")
	f.Add("\u202e</summary>")
	f.Fuzz(func(t *testing.T, s string) {
		got := strings.ToLower(pressure.CleanSummary(s))
		if strings.Contains(got, "<summary>") || strings.Contains(got, "</summary>") || strings.TrimSpace(got) != got {
			t.Errorf("%q became %q", s, got)
		}
	})
}
