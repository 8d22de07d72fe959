package overview_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/subagents/overview"
	"parley/tools"
	"parley/transcript"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// book is a store as far as these tools read it. It notes whose history was
// read.
type book struct {
	sessions []sessions.Session // parents before children
	turns    map[sessionkeys.SessionID][]sessions.Turn
	messages map[sessionkeys.SessionID][]transcript.Message
	mu       sync.Mutex
	read     []sessionkeys.SessionID // guarded by mu
	err      error
}

func (b *book) Session(_ context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	for _, s := range b.sessions {
		if s.ID == id {
			return s, b.err
		}
	}
	return sessions.Session{}, sessions.ErrNotFound
}

func (b *book) Tree(_ context.Context, id sessionkeys.SessionID) (tree []sessions.Session, err error) {
	in := map[sessionkeys.SessionID]bool{id: true}
	for _, s := range b.sessions {
		if in[s.ID] || in[s.Parent] {
			in[s.ID] = true
			tree = append(tree, s)
		}
	}
	return tree, b.err
}

func (b *book) TurnsOf(_ context.Context, id sessionkeys.SessionID) ([]sessions.Turn, error) {
	return b.turns[id], b.err
}

func (b *book) Messages(_ context.Context, id sessionkeys.SessionID) ([]transcript.Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = append(b.read, id)
	return b.messages[id], b.err
}

func key(t *testing.T, agents ...string) sessionkeys.Key {
	t.Helper()
	k, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: "1"})
	for _, a := range agents {
		if err == nil {
			k, err = k.Child(a)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// family is root ─ a ─ c, root ─ b, and a stranger with a child.
func family(t *testing.T) *book {
	t.Helper()
	return &book{
		sessions: []sessions.Session{
			{ID: "root", Root: "root", Key: key(t), Messages: 7, Own: 1e10, Subtree: 6e10, Held: 5e9, Unpriced: 2},
			{ID: "other", Root: "other", Key: key(t), Title: "secret plans"},
			{ID: "a", Root: "root", Parent: "root", Depth: 1, Role: "task", Key: key(t, "task"), Title: "look at the \"logs\"\n- boss", Messages: 1, Own: 2e10, Subtree: 5e10},
			{ID: "b", Root: "root", Parent: "root", Depth: 1, Role: "task", Key: key(t, "task"), Title: strings.Repeat("é", 300)},
			{ID: "x", Root: "other", Parent: "other", Depth: 1, Role: "task", Key: key(t, "task"), Title: "more secret plans"},
			{ID: "c", Root: "root", Parent: "a", Depth: 2, Role: "task", Key: key(t, "task", "task"), Own: 3e10, Subtree: 3e10},
		},
		turns: map[sessionkeys.SessionID][]sessions.Turn{
			"root": {{State: sessions.Done, Outcome: transcript.EndTurn}, {State: sessions.Open}},
			"a":    {{State: sessions.Done, Outcome: transcript.Failed, Steps: 3}},
			"c":    {{State: sessions.Open}},
		},
		messages: map[sessionkeys.SessionID][]transcript.Message{
			"a":     {said(transcript.User, "look"), said(transcript.Assistant, "looked")},
			"other": {said(transcript.User, "the secret")},
			"x":     {said(transcript.User, "the other secret")},
		},
	}
}

func said(r transcript.Role, text string) transcript.Message {
	return transcript.Message{Role: r, Parts: []transcript.Part{transcript.Text{Text: text}}}
}

func options(b *book) overview.Options {
	return overview.Options{Store: b, Model: func(_ context.Context, s sessions.Session) (string, error) {
		return "the model of " + s.Key.Agent(), nil
	}}
}

// use calls a tool as the loop does.
func use(t *testing.T, o overview.Options, session, tool, args string) (string, error) {
	t.Helper()
	ts, err := overview.New(o)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tools.NewSet(ts...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := tools.DecodeArguments(args)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Check(tool, a); err != nil {
		return "", err
	}
	found, _ := set.Lookup(tool)
	call := tools.Call{Name: tool, Arguments: a.JSON(), Session: sessionkeys.SessionID(session), Turn: "t"}
	if c := found.Category(call); c != tools.Read {
		t.Errorf("%s is of category %s", tool, c)
	}
	r, err := found.Run(t.Context(), call)
	return r.Content, err
}

func must(t *testing.T, o overview.Options, session, tool, args string) string {
	t.Helper()
	text, err := use(t, o, session, tool, args)
	if err != nil {
		t.Fatalf("%s of %s: %v", tool, session, err)
	}
	return text
}

func TestTheToolsHaveTheirNamesAndASchemaWithoutAnythingElse(t *testing.T) {
	t.Parallel()
	ts, err := overview.New(options(family(t)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	size := 0
	for _, tool := range ts {
		d := tool.Definition()
		names = append(names, d.Name)
		size += len(d.Name) + len(d.Description) + len(d.Schema)
	}
	if d := cmp.Diff(overview.Names(), names); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if size > 1500 {
		t.Errorf("they take %d bytes of every prompt", size)
	}
	for _, name := range names {
		if _, err := use(t, options(family(t)), "root", name, `{"else":1}`); err == nil {
			t.Errorf("%s takes a parameter that it does not have", name)
		}
	}
}

func TestASessionKnowsItselfAndWhatItMayStillSpend(t *testing.T) {
	t.Parallel()
	b := family(t)
	o := options(b)
	want := `Session root: main, depth 0
Agent: main, model the model of main
Messages: 7
Cost: $0.0100, with sub-agents $0.0600, and $0.0050 held for calls under way (without 2 calls whose price is unknown)`
	if d := cmp.Diff(want, must(t, o, "root", "session_status", `{}`)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	for left, want := range map[string]string{"$1.00 today": "\nLeft to spend: $1.00 today", "": "\nLeft to spend: not limited"} {
		o.Left = func(_ context.Context, s sessions.Session, turn string) (string, error) {
			if s.ID != "a" || turn != "t" {
				t.Errorf("asked for %s in %s", s.ID, turn)
			}
			return left, nil
		}
		got := must(t, o, "a", "session_status", `{}`)
		if !strings.HasSuffix(got, want) || !strings.HasPrefix(got, "Session a: task, depth 1, started by root\n") {
			t.Errorf("%q", got)
		}
	}
}

func TestASessionIsToldWhomItMayStart(t *testing.T) {
	t.Parallel()
	o := options(family(t))
	if got := must(t, o, "root", "agents_list", `{}`); got != "This session may not start any agent." {
		t.Errorf("%q", got)
	}
	o.Agents = func(s sessions.Session) []overview.Agent {
		if s.Depth > 0 {
			return nil
		}
		return []overview.Agent{{Name: "task", Model: "p/small", About: "reads and searches"}, {Name: "main", Model: "p/big"}}
	}
	if got := must(t, o, "root", "agents_list", `{}`); got != "task: p/small, reads and searches\nmain: p/big" {
		t.Errorf("%q", got)
	}
	if got := must(t, o, "a", "agents_list", `{}`); got != "This session may not start any agent." {
		t.Errorf("a child: %q", got)
	}
}

func TestASessionListsItselfAndWhatIsBelow(t *testing.T) {
	t.Parallel()
	o := options(family(t))
	long := `"` + strings.Repeat("é", 50) + `…"`
	want := `Costs are own, then with sub-agents.
root main, running, 7 messages, $0.0100, $0.0600 (this one)
  a task "look at the \"logs\"\n- boss", ended (error), 1 message, $0.0200, $0.0500
    c task, running, 0 messages, $0.0300, $0.0300
  b task ` + long + `, not started, 0 messages, $0.00, $0.00`
	if d := cmp.Diff(want, must(t, o, "root", "sessions_list", `{}`)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if got := must(t, o, "root", "sessions_list", `{"offset":2,"limit":2}`); !strings.Contains(got, "\n  a task") || strings.Contains(got, "root main") || !strings.HasSuffix(got, "\n[2 to 3 of 4 shown; go on with offset 4]") {
		t.Errorf("a window: %q", got)
	}
	if got := must(t, o, "a", "sessions_list", `{}`); strings.Contains(got, "root") || strings.Contains(got, "\n  b") || !strings.Contains(got, "\na task") || !strings.Contains(got, "\n  c task") {
		t.Errorf("a child lists %q", got)
	}
	if _, err := use(t, o, "root", "sessions_list", `{"offset":5}`); err == nil || err.Error() != "offset 5 is past the end: there are 4 sessions" {
		t.Errorf("past the end: %v", err)
	}
	for _, args := range []string{`{"offset":0}`, `{"limit":0}`, `{"limit":101}`} {
		if _, err := use(t, o, "root", "sessions_list", args); err == nil {
			t.Errorf("%s passed", args)
		}
	}
}

func TestAStrangersSessionIsRefusedAsOneThatDoesNotExist(t *testing.T) {
	t.Parallel()
	b := family(t)
	var words []string
	for _, c := range [][2]string{
		{"root", "none"}, {"root", "other"}, {"root", "x"}, {"a", "root"}, {"a", "b"}, {"a", "other"}, {"c", "a"}, {"other", "root"}, {"other", "a"}, {"root", " a"}, {"root", "A"},
	} {
		text, err := use(t, options(b), c[0], "sessions_history", fmt.Sprintf(`{"session":%q}`, c[1]))
		if err == nil || !errors.Is(err, tools.ErrPermanent) {
			t.Fatalf("%s saw %s: %q, %v", c[0], c[1], text, err)
		}
		words = append(words, err.Error())
	}
	if len(slices.Compact(words)) != 1 {
		t.Errorf("refused in different words: %q", words)
	}
	if len(b.read) > 0 {
		t.Errorf("the histories of %v were read", b.read)
	}
}

func TestAHistoryIsBoundedAndCannotGiveOrders(t *testing.T) {
	t.Parallel()
	b := family(t)
	b.messages["c"] = []transcript.Message{
		said(transcript.User, "find it and obey"),
		{Role: transcript.Assistant, Parts: []transcript.Part{
			transcript.Reasoning{Thinking: "hidden thought"},
			transcript.ToolCall{ID: "1", Name: "grep", Input: `{"pattern":"` + strings.Repeat("p", 5000) + `"}`},
		}},
		{Role: transcript.Tool, Parts: []transcript.Part{transcript.ToolResult{ToolCallID: "1", Name: "grep", Content: strings.Repeat("o", 5000), IsError: true}}},
		{Role: transcript.Assistant, Parts: []transcript.Part{transcript.Text{Text: strings.Repeat("w", 5000)}, transcript.Binary{Path: "x"}}},
		{Role: transcript.Assistant},
		{Role: transcript.System, Parts: []transcript.Part{transcript.Overlay{Kind: transcript.Summarised, Through: 2, Summary: "they look"}}},
		{Role: transcript.System, Parts: []transcript.Part{transcript.Overlay{Kind: transcript.Trimmed, Through: 3, View: 512}}},
		{Role: transcript.System, Parts: []transcript.Part{transcript.Overlay{Kind: transcript.Undone}}},
		{Role: transcript.System, Parts: []transcript.Part{transcript.Overlay{Kind: transcript.NoSummary}}},
	}
	got := must(t, options(b), "a", "sessions_history", `{"session":"c"}`)
	for _, want := range []string{
		"What session c said, untrusted, up to the mark ", ":\n#1 user: find it and obey\n", "\n#2 assistant: calls grep {\"pattern\":\"ppp", "\n#3 tool: error of grep: ooo",
		"[an attachment]", "\n#5 assistant: [no words]\n",
		"\n#6 system: [a summary stands for messages 1 to 2: they look]\n#7 system: [long outputs up to message 3 are shortened]\n" +
			"#8 system: [the last summary was taken back]\n#9 system: [a summary failed]\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "hidden thought") || len(got) > 4000 {
		t.Errorf("%d bytes: %q", len(got), got)
	}

	b.messages["c"] = nil
	if got := must(t, options(b), "c", "sessions_history", `{}`); got != "[nothing was said yet]" {
		t.Errorf("an empty one: %q", got)
	}
	for n := range 90 {
		b.messages["c"] = append(b.messages["c"], said(transcript.User, fmt.Sprintf("word %d %s", n+1, strings.Repeat("x", 1500))))
	}
	// Read from the first to the last, in pieces as they are offered.
	next, seen := 1, 0
	for next > 0 {
		got := must(t, options(b), "a", "sessions_history", fmt.Sprintf(`{"session":"c","offset":%d,"limit":100}`, next))
		if len(got) > 17<<10 {
			t.Fatalf("one answer has %d bytes", len(got))
		}
		for n := next; strings.Contains(got, fmt.Sprintf("#%d user: word %d ", n, n)); n++ {
			seen++
		}
		_, rest, more := strings.Cut(got, "go on with offset ")
		if next = 0; more {
			if _, err := fmt.Sscanf(rest, "%d]", &next); err != nil || next != seen+1 {
				t.Fatalf("%d seen, then %q", seen, rest)
			}
		}
	}
	if seen != 90 {
		t.Errorf("%d of 90 messages were shown", seen)
	}
	if got := must(t, options(b), "c", "sessions_history", `{"offset":88}`); !strings.Contains(got, "#88 ") || strings.Contains(got, "#87 ") || strings.Contains(got, "go on") {
		t.Errorf("the end: %q", got)
	}
	if _, err := use(t, options(b), "c", "sessions_history", `{"offset":91}`); err == nil || err.Error() != "offset 91 is past the end: there are 90 messages" {
		t.Errorf("past the end: %v", err)
	}
}

func TestAStoreThatIsAwayIsToldAndLoggedApart(t *testing.T) {
	t.Parallel()
	b := family(t)
	b.err = errors.New("disk /dev/sda1 is on fire")
	o := options(b)
	o.Left = func(context.Context, sessions.Session, string) (string, error) { return "", b.err }
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	for _, name := range overview.Names() {
		log.Reset()
		args := `{}`
		if name == overview.OutputName {
			args = `{"output":1}`
		}
		if _, err := use(t, o, "root", name, args); err == nil || err.Error() != "the sessions cannot be read at present" || tools.KindOf(err) != tools.Transient {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(log.String(), "on fire") || !strings.Contains(log.String(), name) {
			t.Errorf("%s: the log has %q", name, log.String())
		}
	}
}

func TestWhatASessionDidIsTheSumOfItsTurns(t *testing.T) {
	t.Parallel()
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	done := sessions.Turn{State: sessions.Done, Outcome: transcript.EndTurn, OpenedAt: at(0), EndedAt: at(3), Steps: 2}
	again := sessions.Turn{State: sessions.Done, Outcome: transcript.Canceled, OpenedAt: at(5), EndedAt: at(6), Steps: 1}
	open := sessions.Turn{State: sessions.Open, OpenedAt: at(7), Steps: 4}
	for name, c := range map[string]struct {
		turns []sessions.Turn
		want  overview.Activity
		took  time.Duration
	}{
		"none":  {nil, overview.Activity{State: overview.Fresh}, 0},
		"ended": {[]sessions.Turn{done}, overview.Activity{State: overview.Ended, Outcome: transcript.EndTurn, Began: at(0), Ended: at(3), Calls: 2}, 3 * time.Minute},
		"twice": {[]sessions.Turn{done, again}, overview.Activity{State: overview.Ended, Outcome: transcript.Canceled, Began: at(0), Ended: at(6), Calls: 3}, 6 * time.Minute},
		"open":  {[]sessions.Turn{done, open}, overview.Activity{State: overview.Running, Began: at(0), Calls: 6}, 10 * time.Minute},
	} {
		got := overview.ActivityOf(c.turns)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
		if took := got.Duration(at(10)); took != c.took {
			t.Errorf("%s took %s, want %s", name, took, c.took)
		}
	}
}

func TestATreeIsDrawnParentFirstWithSiblingsInOrder(t *testing.T) {
	t.Parallel()
	b := family(t)
	ids := func(ss []sessions.Session) (all []string) {
		for _, s := range ss {
			all = append(all, string(s.ID))
		}
		return all
	}
	tree, err := b.Tree(t.Context(), "root")
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(overview.SortTree(tree, nil)); !slices.Equal(got, []string{"root", "a", "c", "b"}) {
		t.Errorf("as they stood: %v", got)
	}
	cheapest := func(a, b sessions.Session) int { return int((a.Subtree - b.Subtree) / costs.Amount(1e9)) }
	if got := ids(overview.SortTree(tree, cheapest)); !slices.Equal(got, []string{"root", "b", "a", "c"}) {
		t.Errorf("the cheapest first: %v", got)
	}
	if got := ids(overview.SortTree(tree[1:], nil)); !slices.Equal(got, []string{"a", "c", "b"}) {
		t.Errorf("without their root: %v", got)
	}
}
