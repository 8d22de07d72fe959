package transcript_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	. "parley/transcript"
)

const filler = "not run"

func user(s string) Message { return Message{ID: "u", Role: User, Parts: []Part{Text{Text: s}}} }

func asks(ids ...string) Message {
	m := Message{ID: "a", Role: Assistant, CreatedAt: at}
	for _, id := range ids {
		m.Parts = append(m.Parts, ToolCall{ID: id, Name: "bash", Input: "{}", Finished: true})
	}
	return m
}

func answers(ids ...string) Message {
	m := Message{ID: "t", Role: Tool}
	for _, id := range ids {
		m.Parts = append(m.Parts, ToolResult{ToolCallID: id, Name: "bash", Content: "done " + id})
	}
	return m
}

func filled(ids ...string) []Part {
	var ps []Part
	for _, id := range ids {
		ps = append(ps, ToolResult{ToolCallID: id, Name: "bash", Content: filler, IsError: true})
	}
	return ps
}

func TestHistoriesAreCheckedAndRepaired(t *testing.T) {
	t.Parallel()
	withResult := func(m Message, ps ...Part) Message { m.Parts = append(m.Parts, ps...); return m }
	native := func(m Message) Message {
		m.Native = &Native{Provider: "p", Blocks: []json.RawMessage{[]byte(`{}`)}}
		return m
	}
	for _, tc := range []struct {
		name   string
		ms     []Message
		says   string // what Check says; empty: nothing
		repair []Message
	}{
		{"nothing", nil, "", []Message{}},
		{"words only", []Message{user("hi"), asks()}, "", []Message{user("hi")}},
		{"TS03 one batch in one message", []Message{asks("1", "2"), answers("1", "2")}, "", []Message{asks("1", "2"), answers("1", "2")}},
		{
			"one batch, a message per result, in another order",
			[]Message{asks("1", "2"), answers("2"), answers("1"), user("x")},
			"",
			[]Message{asks("1", "2"), answers("2"), answers("1"), user("x")},
		},
		{
			"two batches may use one id",
			[]Message{asks("1"), answers("1"), asks("1"), answers("1")},
			"",
			[]Message{asks("1"), answers("1"), asks("1"), answers("1")},
		},
		{
			"F17 canceled in the middle of a batch",
			[]Message{asks("1", "2", "3"), answers("1")},
			`message 0: a call without a result: id "2"`,
			[]Message{asks("1", "2", "3"), withResult(answers("1"), filled("2", "3")...)},
		},
		{
			"canceled before any result",
			[]Message{user("x"), asks("1"), user("y")},
			`message 1: a call without a result: id "1"`,
			[]Message{user("x"), asks("1"), {Role: Tool, CreatedAt: at, Parts: filled("1")}, user("y")},
		},
		{
			"a result that is there, but not adjacent, does not count",
			[]Message{asks("1"), user("x"), answers("1")},
			`message 0: a call without a result: id "1"`,
			[]Message{asks("1"), {Role: Tool, CreatedAt: at, Parts: filled("1")}, user("x")},
		},
		{
			"an empty message between does not part them",
			[]Message{asks("1"), {Role: User, Parts: []Part{Text{Text: " \n"}, Finish{}}}, answers("1")},
			`message 0: a call without a result`,
			[]Message{asks("1"), answers("1")},
		},
		{
			"compaction took the call",
			[]Message{answers("1"), user("x")},
			"message 0: results without a message that asked for them",
			[]Message{user("x")},
		},
		{
			"a result nobody asked for",
			[]Message{asks("1"), answers("1", "2")},
			`message 1: a result that the message before did not ask for: id "2"`,
			[]Message{asks("1"), answers("1")},
		},
		{
			"a result after words",
			[]Message{user("x"), answers("1")},
			`message 1: a result that the message before did not ask for: id "1"`,
			[]Message{user("x")},
		},
		{
			"the first of two results counts",
			[]Message{asks("1"), answers("1"), withResult(Message{ID: "t", Role: Tool}, filled("1")...)},
			`message 2: a second result: id "1"`,
			[]Message{asks("1"), answers("1")},
		},
		{
			"the first of two calls of one id counts",
			[]Message{asks("1", "1"), answers("1", "1")},
			`message 0: two calls of one id: id "1"`,
			[]Message{asks("1"), answers("1")},
		},
		{
			"a call without an id, alone",
			[]Message{user("x"), asks(""), answers("")},
			"message 1: a call without an id",
			[]Message{user("x")},
		},
		{
			"the native form goes with the call it would bring back",
			[]Message{native(asks("1", "1")), answers("1")},
			`two calls`,
			[]Message{asks("1"), answers("1")},
		},
		{
			"the native form stays with what is in order",
			[]Message{native(asks("1"))},
			"a call without a result",
			[]Message{native(asks("1")), {Role: Tool, CreatedAt: at, Parts: filled("1")}},
		},
		{
			"what the provider said is content, even without parts",
			[]Message{native(asks()), user("x")},
			"",
			[]Message{native(asks()), user("x")},
		},
		{
			"a call of the user",
			[]Message{withResult(user("x"), ToolCall{ID: "1"}), answers("1")},
			`message 0: a call in a message of role user: id "1"`,
			[]Message{user("x")},
		},
		{
			"a result in an assistant message",
			[]Message{withResult(asks("1"), ToolResult{ToolCallID: "1"}), answers("1")},
			`message 0: a result in a message of role assistant: id "1"`,
			[]Message{asks("1"), answers("1")},
		},
		{
			"a call in a tool message",
			[]Message{asks("1"), withResult(answers("1"), ToolCall{ID: "2"})},
			`message 1: a call in a message of role tool: id "2"`,
			[]Message{asks("1"), answers("1")},
		},
		{
			"a tool message without results",
			[]Message{asks("1"), answers("1"), {Role: Tool, Parts: []Part{Text{Text: "x"}}}},
			"message 2: a tool message without results",
			[]Message{asks("1"), answers("1")},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := Check(tc.ms)
			if tc.says == "" && err != nil {
				t.Errorf("Check says %v", err)
			}
			if tc.says != "" && (!errors.Is(err, ErrUnpaired) || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("Check says %v, want %q", err, tc.says)
			}
			if d := cmp.Diff(tc.repair, Repair(tc.ms, filler)); d != "" {
				t.Errorf("Repair (-want +got):\n%s", d)
			}
		})
	}
}

func TestMergeJoinsToolMessagesAndNothingElse(t *testing.T) {
	t.Parallel()
	one, two := answers("1"), answers("2")
	one.ID, two.ID = "t1", "t2"
	joined := answers("1", "2")
	joined.ID = "t1"
	in := []Message{user("a"), user("b"), asks("1", "2"), one, two, asks("3"), answers("3"), user("c"), user("d"), asks(), asks()}
	want := []Message{user("a"), user("b"), asks("1", "2"), joined, asks("3"), answers("3"), user("c"), user("d"), asks(), asks()}
	before := deep(in)
	got := Merge(in)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(before, in); d != "" {
		t.Errorf("Merge changed its input (-before +after):\n%s", d)
	}
	if d := cmp.Diff(got, Merge(got)); d != "" {
		t.Errorf("merging twice changes more (-once +twice):\n%s", d)
	}
}

func TestRepairAndMergeDoNotWriteBehindASharedSlice(t *testing.T) {
	t.Parallel()
	room := make([]Part, 1, 8)
	room[0] = ToolResult{ToolCallID: "1", Name: "bash"}
	behind := room[:8]
	ms := []Message{asks("1", "2"), {ID: "t", Role: Tool, Parts: room}}
	Repair(ms, filler)
	Merge([]Message{ms[1], answers("2")})
	for i, p := range behind[1:] {
		if p != nil {
			t.Errorf("place %d behind the caller's parts holds %v", i+1, p)
		}
	}
}

// deep copies ms so far that nothing is shared.
func deep(ms []Message) []Message {
	out := make([]Message, len(ms))
	for i, m := range ms {
		m.Parts = append([]Part(nil), m.Parts...)
		if m.Native != nil {
			n := *m.Native
			m.Native = &n
		}
		out[i] = m
	}
	return out
}

// histories are any messages whatever, over few ids, so that they often meet.
func histories() *rapid.Generator[[]Message] {
	id := rapid.SampledFrom([]string{"", "1", "2", "3"})
	part := rapid.Custom(func(t *rapid.T) Part {
		switch rapid.IntRange(0, 6).Draw(t, "part") {
		case 0:
			return Text{Text: rapid.SampledFrom([]string{"", " ", "words"}).Draw(t, "text")}
		case 1:
			return Finish{Reason: EndTurn}
		case 2:
			return Unknown{Type: "hologram", Data: json.RawMessage(`{}`)}
		case 3, 4:
			return ToolCall{ID: id.Draw(t, "call"), Name: "bash"}
		default:
			return ToolResult{ToolCallID: id.Draw(t, "result"), Content: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "content")}
		}
	})
	message := rapid.Custom(func(t *rapid.T) Message {
		m := Message{
			Role:  rapid.SampledFrom([]Role{System, User, Assistant, Assistant, Tool, Tool}).Draw(t, "role"),
			Parts: rapid.SliceOfN(part, 0, 4).Draw(t, "parts"),
		}
		if m.Role == Assistant && rapid.Bool().Draw(t, "native") {
			m.Native = &Native{Provider: "p"}
		}
		return m
	})
	return rapid.SliceOfN(message, 0, 8)
}

// valid are histories in order, without empty messages.
func valid() *rapid.Generator[[]Message] {
	return rapid.Custom(func(t *rapid.T) []Message {
		var ms []Message
		for range rapid.IntRange(0, 5).Draw(t, "batches") {
			ms = append(ms, user("x"))
			ids := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3", "4"}), 0, 4, rapid.ID[string]).Draw(t, "ids")
			m := asks(ids...)
			m.Parts = append(m.Parts, Text{Text: "words"})
			ms = append(ms, m)
			ids = rapid.Permutation(ids).Draw(t, "order")
			if rapid.Bool().Draw(t, "one message") && len(ids) > 0 {
				ms = append(ms, answers(ids...))
				continue
			}
			for _, id := range ids {
				ms = append(ms, answers(id))
			}
		}
		return ms
	})
}

func TestEveryRepairedHistoryIsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := histories().Draw(t, "history")
		before := deep(ms)
		once := Repair(ms, filler)
		if err := Check(once); err != nil {
			t.Fatalf("after Repair: %v\n%+v", err, once)
		}
		if !reflect.DeepEqual(before, deep(ms)) {
			t.Fatalf("Repair changed its input:\n%s", cmp.Diff(before, ms))
		}
		if twice := Repair(once, "other"); !reflect.DeepEqual(once, twice) {
			t.Fatalf("repairing twice changes more (-once +twice):\n%s", cmp.Diff(once, twice))
		}
		if err := Check(Merge(once)); err != nil {
			t.Fatalf("merged after Repair: %v", err)
		}
		switch a, b := Check(ms), Check(Merge(ms)); {
		case a == nil && b != nil:
			t.Fatalf("in order, but merged: %v", b)
		case a != nil && b == nil && !strings.Contains(a.Error(), "a tool message without results"):
			t.Fatalf("merged in order, but before: %v", a)
		}
	})
}

func TestAHistoryInOrderIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := valid().Draw(t, "history")
		if err := Check(ms); err != nil {
			t.Fatal(err)
		}
		if got := Repair(ms, filler); len(ms) > 0 && !reflect.DeepEqual(ms, got) {
			t.Fatalf("(-before +after):\n%s", cmp.Diff(ms, got))
		}
	})
}

func TestRepairKeepsTheFirstResultOfEveryCall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := valid().Draw(t, "history")
		if len(ms) == 0 {
			return
		}
		cut := rapid.IntRange(0, len(ms)-1).Draw(t, "cut")
		torn := append(deep(ms[:cut]), deep(ms[cut+1:])...)
		kept := map[string]int{}
		for _, m := range torn {
			for _, r := range m.Results() {
				kept[r.ToolCallID]++
			}
		}
		for _, m := range Repair(torn, filler) {
			for _, r := range m.Results() {
				if !r.IsError {
					kept[r.ToolCallID]--
				}
			}
		}
		lost := 0
		for id, n := range kept {
			if n < 0 {
				t.Fatalf("Repair invented a result of %s", id)
			}
			lost += n
		}
		if orphans := len(ms[cut].Calls()); lost > orphans {
			t.Fatalf("%d results are lost, only %d calls were taken", lost, orphans)
		}
	})
}
