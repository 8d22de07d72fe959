package activity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/agent"
	"parley/gateway/activity"
	"parley/sessionkeys"
	"parley/transcript"
)

func called(id, doing, of, args string) agent.Event {
	return agent.Event{Type: agent.ToolCalled, Turn: "t", Step: 1, CallID: id, Tool: "tool", Doing: doing, Of: of, Args: args}
}

func ended(e agent.Event, status string) agent.Event {
	e.Type, e.Status = agent.StepComplete, status
	return e
}

// below makes an event one of the turn k of a sub-agent that the turn t started.
func below(e agent.Event) agent.Event {
	e.Turn, e.Parent, e.Depth = "k", "t", 1
	return e
}

func feed(l activity.Level, es ...agent.Event) *activity.Feed {
	f := activity.New(l, func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") })
	for _, e := range es {
		f.Observe(e)
	}
	return f
}

func retries(wait time.Duration) agent.Event { return agent.Event{Type: agent.Retrying, Wait: wait} }

// requirements F18, F19, AC03
func TestTheLineSaysWhatRuns(t *testing.T) {
	t.Parallel()
	read, spawn := called("1", "Reading", "notes.md", `{"path":"notes.md"}`), called("2", "Asking a sub-agent", "weather", "{}")
	spawned := below(agent.Event{Type: agent.SubagentSpawned, CallID: "2", Text: "weather"})
	look := below(called("1", "Listing the files", "", "{}"))
	for name, c := range map[string]struct {
		events []agent.Event
		want   string
	}{
		"nothing":                      {nil, ""},
		"words":                        {[]agent.Event{{Type: agent.TextDelta, Text: "hi"}}, ""},
		"a call":                       {[]agent.Event{read}, "Reading `notes.md` …"},
		"a tool without words":         {[]agent.Event{called("1", "", "", "{}")}, "Using `tool` …"},
		"progress":                     {[]agent.Event{read, {Type: agent.ToolProgress, Turn: "t", Step: 1, CallID: "1", Text: "300 files"}}, "Reading `notes.md` … `300 files`"},
		"what a call gave is read":     {[]agent.Event{read, ended(read, "ok")}, "Reading `notes.md` ✓ · thinking …"},
		"what failed is read":          {[]agent.Event{read, ended(read, "timeout")}, "Reading `notes.md` ✗ · thinking …"},
		"then come words":              {[]agent.Event{read, ended(read, "ok"), {Type: agent.TextDelta, Text: "hi"}}, ""},
		"the other of two runs":        {[]agent.Event{read, spawn, ended(spawn, "ok")}, "Reading `notes.md` …"},
		"a sub-agent":                  {[]agent.Event{spawn, spawned}, "Sub-agent `weather` is at work …"},
		"a sub-agent's call":           {[]agent.Event{spawn, spawned, look}, "Sub-agent `weather`: Listing the files …"},
		"a sub-agent thinks":           {[]agent.Event{spawn, spawned, look, ended(look, "ok")}, "Sub-agent `weather`: Listing the files ✓ · thinking …"},
		"a sub-agent's words are not":  {[]agent.Event{spawn, spawned, below(agent.Event{Type: agent.TextDelta, Text: "hi"})}, "Sub-agent `weather` is at work …"},
		"a sub-agent waits":            {[]agent.Event{spawn, spawned, below(retries(2 * time.Second))}, "Sub-agent `weather`: The model did not answer, trying again in 2s …"},
		"a stranger is not shown":      {[]agent.Event{look, below(retries(0))}, ""},
		"a wait":                       {[]agent.Event{retries(8 * time.Second)}, "The model did not answer, trying again in 8s …"},
		"another model":                {[]agent.Event{{Type: agent.FellBack}}, "Asking another model …"},
		"the end of a budget":          {[]agent.Event{{Type: agent.BudgetExceeded}}, "The budget is used up …"},
		"no money for a tool":          {[]agent.Event{{Type: agent.BudgetExceeded, Tool: "web_search"}}, "The budget does not allow `web_search` …"},
		"a summary is being made":      {[]agent.Event{{Type: agent.Compacting, Overlay: &transcript.Overlay{Before: 90_000}}}, "Compacting: 90k tokens …"},
		"a summary was made":           {[]agent.Event{{Type: agent.Compacted, Overlay: &transcript.Overlay{Kind: transcript.Summarised, Before: 90_000, After: 41_000}}}, "Compacting: 90k to 41k tokens"},
		"thoughts are not for a line":  {[]agent.Event{{Type: agent.ReasoningDelta, Text: "hm, well"}}, ""},
		"a call behind a wait is seen": {[]agent.Event{retries(0), read}, "Reading `notes.md` …"},
	} {
		f := feed(activity.Brief, c.events...)
		if got := f.Line(); got != c.want || f.Text() != c.want {
			t.Errorf("%s: %q, %q, want %q", name, got, f.Text(), c.want)
		}
		if off := feed(activity.Off, c.events...); off.Line() != "" || off.Text() != "" {
			t.Errorf("%s: with off %q", name, off.Text())
		}
	}
}

// requirements F18, E02, W04
func TestTheListHasTheStepsAndThoseOfSubAgentsBelow(t *testing.T) {
	t.Parallel()
	read, spawn := called("1", "Reading", "a.md", `{"limit":3,"path":"a.md"}`), called("2", "Asking a sub-agent", "weather", `{"label":"weather","task":"look"}`)
	look := below(called("1", "Listing the files", "", "{}"))
	f := feed(activity.Full, read, ended(read, "error"), spawn,
		below(agent.Event{Type: agent.SubagentSpawned, CallID: "2", Text: "weather"}), look, ended(look, "ok"),
		below(called("2", "Reading", "b", `{"path":"b"}`)),
		agent.Event{Type: agent.ReasoningDelta, Text: "I wonder what it f"}, below(agent.Event{Type: agent.ReasoningDelta, Text: "not shown "}))
	want := "- ✗ Reading `a.md` `{\"limit\":3,\"path\":\"a.md\"}` (error)\n" +
		"- … Asking a sub-agent `weather` `{\"label\":\"weather\",\"task\":\"look\"}`\n" +
		"  - ✓ Listing the files\n" +
		"  - … Reading `b` `{\"path\":\"b\"}`\n\n" +
		"Thinking: `I wonder what it`"
	if diff := cmp.Diff(want, f.Text()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What a model writes decides neither how long it gets nor how it looks, and hides no
// secret.
func TestWhatAModelWroteIsOnlyQuoted(t *testing.T) {
	t.Parallel()
	for of, want := range map[string]string{
		"@ann <!channel> **b** [x](https://e.org)": "`@ann <!channel> **b** [x](https://e.org)`",
		"a`b``c":                "`a'b''c`",
		"one\ntwo\t\r\n# three": "`one two # three`",
		"hunter2":               "`[secret]`",
		"hun\u200bter\u20602\ufe0f \u202eabc\u0000\x1b": "`[secret] abc`",
		strings.Repeat("é", 100):                        "`" + strings.Repeat("é", 59) + "…`",
		strings.Repeat("x", 57) + "hunter2":             "`" + strings.Repeat("x", 57) + "[s…`",
		" \u200b ":                                      "",
	} {
		want = strings.TrimSpace("Reading "+want) + " …"
		if got := feed(activity.Brief, called("1", "Reading", of, "{}")).Line(); got != want {
			t.Errorf("%q is shown as %q, want %q", of, got, want)
		}
	}
}

func TestAListIsBounded(t *testing.T) {
	t.Parallel()
	f := activity.New(activity.Full, nil)
	spawn := called("s", "Asking", "", "{}")
	f.Observe(spawn)
	f.Observe(below(agent.Event{Type: agent.SubagentSpawned, CallID: "s"}))
	for range 500 { // the known ones are forgotten
		f.Observe(below(called("c", "Reading", "", `{"x":"`+strings.Repeat("y ", 1000)+`"}`)))
		f.Observe(agent.Event{Type: agent.ReasoningDelta, Text: strings.Repeat("word ", 200)})
	}
	text := f.Text()
	if n := strings.Count(text, "\n"); n > 16 || len(text) > 4000 || !strings.HasPrefix(text, "- … ") {
		t.Errorf("%d lines, %d bytes: %s", n, len(text), text)
	}
}

func TestALevelIsOneOfThree(t *testing.T) {
	t.Parallel()
	c := activity.Config{}.Defaults()
	if c.In(sessionkeys.DM) != activity.Brief || c.In(sessionkeys.Group) != activity.Off || c.Validate() != nil {
		t.Errorf("%+v", c)
	}
	err := activity.Config{Direct: "loud", Groups: activity.Full}.Validate()
	if err == nil || !strings.Contains(err.Error(), `direct: "loud" is none of off, brief, full`) {
		t.Error(err)
	}
}
