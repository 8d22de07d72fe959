package transcript_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	. "parley/transcript"
)

var at = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// requirements F20
func TestPartsAreStoredAsTypeAndData(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		parts []Part
		want  string
	}{
		{"S05 the example of the specification", []Part{
			Text{Text: "Hello"},
			ToolCall{ID: "tc_1", Name: "bash", Input: `{"command":"ls"}`, Finished: true},
			ToolResult{ToolCallID: "tc_1", Name: "bash", Content: "file1.txt\nfile2.txt"},
			Finish{Reason: EndTurn, Time: time.Unix(1234567890, 0).UTC()},
		}, `[{"type":"text","data":{"text":"Hello"}},` +
			`{"type":"tool_call","data":{"id":"tc_1","name":"bash","input":"{\"command\":\"ls\"}","finished":true}},` +
			`{"type":"tool_result","data":{"tool_call_id":"tc_1","name":"bash","content":"file1.txt\nfile2.txt","is_error":false}},` +
			`{"type":"finish","data":{"reason":"end_turn","time":1234567890}}]`},
		{"S03 the other parts", []Part{
			Reasoning{Thinking: "hm"},
			Binary{Path: "a.png", MIMEType: "image/png"},
			Binary{MIMEType: "text/plain", Data: []byte("hi")},
			ImageURL{URL: "https://example.org/a?b=1&c=2", Detail: "low"},
			ToolResult{ToolCallID: "1", Name: "x", Content: "no", Metadata: "m", IsError: true},
		}, `[{"type":"reasoning","data":{"thinking":"hm"}},` +
			`{"type":"binary","data":{"path":"a.png","mime_type":"image/png"}},` +
			`{"type":"binary","data":{"mime_type":"text/plain","data":"aGk="}},` +
			`{"type":"image_url","data":{"url":"https://example.org/a?b=1&c=2","detail":"low"}},` +
			`{"type":"tool_result","data":{"tool_call_id":"1","name":"x","content":"no","metadata":"m","is_error":true}}]`},
		{"markup is not escaped", []Part{Text{Text: "<b>&</b>"}}, `[{"type":"text","data":{"text":"<b>&</b>"}}]`},
		{"no time", []Part{Finish{Reason: Canceled}}, `[{"type":"finish","data":{"reason":"canceled","time":0}}]`},
		{"no parts", nil, `[]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b, err := MarshalParts(tc.parts)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, string(b)); d != "" {
				t.Errorf("stored (-want +got):\n%s", d)
			}
			back, err := UnmarshalParts(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.parts, back); d != "" {
				t.Errorf("read again (-want +got):\n%s", d)
			}
		})
	}
}

func TestASparseResultIsRead(t *testing.T) {
	t.Parallel()
	ps, err := UnmarshalParts([]byte(`[{"type":"tool_result","data":{"tool_call_id":"tc_1","content":"x"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Part{ToolResult{ToolCallID: "tc_1", Content: "x"}}, ps); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestUnknownPartsAreKeptByteForByte(t *testing.T) {
	t.Parallel()
	const stored = `[{"type":"text","data":{"text":"a"}},` +
		`{"type":"hologram","data":{ "z":1.50,  "a":"<\u003c\/>", "big":12345678901234567890, "z":2 }},` +
		`{"type":"marker"},{"type":"nothing","data":null}]`
	ps, err := UnmarshalParts([]byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	b, err := MarshalParts(ps)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(stored, string(b)); d != "" {
		t.Errorf("written again (-want +got):\n%s", d)
	}

	m := Message{ID: "1", Role: Assistant, Parts: ps, CreatedAt: at, Native: &Native{
		Provider: "anthropic", Model: "m", Blocks: []json.RawMessage{[]byte(`{"type": "thinking",  "signature":"a<b\u0026"}`)},
	}}
	one, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Message
	if err := json.Unmarshal(one, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, back); d != "" {
		t.Errorf("the message came back changed (-want +got):\n%s", d)
	}
	two, err := json.Marshal([]Message{m})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(two, []byte(`"big":12345678901234567890`)) {
		t.Errorf("json.Marshal changed the number: %s", two)
	}
}

func TestReadingDoesNotKeepTheCallersBuffer(t *testing.T) {
	t.Parallel()
	b := []byte(`[{"type":"hologram","data":{"a":1}}]`)
	ps, err := UnmarshalParts(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] = 'x'
	}
	if d := cmp.Diff([]Part{Unknown{Type: "hologram", Data: json.RawMessage(`{"a":1}`)}}, ps); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAMessageIsOneObject(t *testing.T) {
	t.Parallel()
	m := Message{ID: "m1", Role: Assistant, Model: "claude", CreatedAt: at, Parts: []Part{Text{Text: "hi"}}}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"m1","role":"assistant","parts":[{"type":"text","data":{"text":"hi"}}],"model":"claude","created_at":"2026-11-21T12:00:00Z"}`
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var back Message
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, back); d != "" {
		t.Errorf("came back (-want +got):\n%s", d)
	}
}

func TestWhatIsNoPartIsRefused(t *testing.T) {
	t.Parallel()
	for name, ps := range map[string][]Part{
		"nil":                       {nil},
		"pointer":                   {&Text{Text: "x"}},
		"unknown without a type":    {Unknown{Data: json.RawMessage(`{}`)}},
		"unknown of a known type":   {Unknown{Type: "text", Data: json.RawMessage(`{}`)}},
		"unknown with broken data":  {Unknown{Type: "x", Data: json.RawMessage(`{`)}},
		"unknown that breaks out":   {Unknown{Type: "x", Data: json.RawMessage(`1},{"type":"y"`)}},
		"unknown with empty data":   {Unknown{Type: "x", Data: json.RawMessage{}}},
		"the second part is at bad": {Text{}, nil},
	} {
		if b, err := MarshalParts(ps); err == nil {
			t.Errorf("%s: written as %s", name, b)
		}
		if b, err := (Message{Parts: ps}).MarshalJSON(); err == nil {
			t.Errorf("%s: message written as %s", name, b)
		}
	}
	if b, err := (Message{Native: &Native{Blocks: []json.RawMessage{[]byte(`{`)}}}).MarshalJSON(); err == nil {
		t.Errorf("a broken native block was written as %s", b)
	}
	for name, s := range map[string]string{
		"not JSON":                     `[`,
		"not a list":                   `{}`,
		"more behind the list":         `[] []`,
		"part is a word":               `["text"]`,
		"part is null":                 `[null]`,
		"part without a type":          `[{"data":{}}]`,
		"part with a member of a kind": `[{"type":"x","data":1,"meta":2}]`,
		"known part without data":      `[{"type":"text"}]`,
		"known part with null data":    `[{"type":"text","data":null}]`,
		"known part of another shape":  `[{"type":"text","data":{"text":1}}]`,
		"finish with a fraction":       `[{"type":"finish","data":{"time":1.5}}]`,
		"binary that is not base64":    `[{"type":"binary","data":{"data":"%"}}]`,
	} {
		if ps, err := UnmarshalParts([]byte(s)); err == nil {
			t.Errorf("%s: read as %v", name, ps)
		}
		m := Message{ID: "before"}
		if err := json.Unmarshal([]byte(`{"id":"after","parts":`+s+`}`), &m); err == nil || m.ID != "before" {
			t.Errorf("%s: message read as %+v, %v", name, m, err)
		}
	}
}

// requirements B07
func TestWordsAndCallsAreReadFromTheParts(t *testing.T) {
	t.Parallel()
	m := Message{Role: Assistant, Parts: []Part{
		Reasoning{Thinking: "secret"}, Text{Text: "  one"}, ToolCall{ID: "b"}, Text{Text: "two\n"}, ToolCall{ID: "a"}, Finish{},
	}}
	if got := m.Text(); got != "one\ntwo" {
		t.Errorf("words are %q", got)
	}
	if d := cmp.Diff([]ToolCall{{ID: "b"}, {ID: "a"}}, m.Calls()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	if m := (Message{}); m.Text() != "" || m.Calls() != nil || m.Results() != nil {
		t.Errorf("an empty message has words %q, calls %v, results %v", m.Text(), m.Calls(), m.Results())
	}
}

func FuzzUnmarshalParts(f *testing.F) {
	for _, s := range []string{
		`[]`, `null`, `[{"type":"text","data":{"text":"Hello"}}]`,
		`[{"type":"finish","data":{"reason":"end_turn","time":1234567890}}]`,
		`[{"type":"finish","data":{"time":-62135596800}}]`, `[{"type":"finish","data":{"time":9223372036854775807}}]`,
		`[{"type":"hologram","data":{ "a" : [1, "<"] }}]`, `[{"type":"x"}]`, `[{"tYpe":"binary","dAtA":{"dAtA":""}}]`, `[{"TYPE":"x","Data":1,"data":2}]`,
		`[{"type":"binary","data":{"data":"aGk=","mime_type":"x"}}]`,
		`[{"type":"tool_call","data":{"id":"\ud800","input":"\u2028"}}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		one, err := UnmarshalParts(b)
		if err != nil {
			return
		}
		stored, err := MarshalParts(one)
		if err != nil {
			t.Fatalf("%q was read as %v and cannot be written: %v", b, one, err)
		}
		two, err := UnmarshalParts(stored)
		if err != nil {
			t.Fatalf("%q, written as %s: %v", b, stored, err)
		}
		if d := cmp.Diff(one, two, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%q, written as %s (-first +again):\n%s", b, stored, d)
		}
		if again, err := MarshalParts(two); err != nil || !bytes.Equal(stored, again) {
			t.Fatalf("%s is written again as %s, %v", stored, again, err)
		}
	})
}

func FuzzUnmarshalMessage(f *testing.F) {
	f.Add([]byte(`{"id":"1","role":"user","parts":[{"type":"text","data":{"text":"x"}}],"created_at":"2026-11-21T12:00:00Z"}`))
	f.Add([]byte(`{"native":{"provider":"p","blocks":[ {"a": 1}, null]},"parts":null}`))
	f.Add([]byte(`{"native":null,"created_at":"0001-01-01T00:00:00+23:59"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var one, two Message
		if json.Unmarshal(b, &one) != nil {
			return
		}
		stored, err := one.MarshalJSON()
		if err != nil {
			if strings.Contains(err.Error(), "year outside of range") || strings.Contains(err.Error(), "timezone hour outside of range") {
				return
			}
			t.Fatalf("%q was read as %+v and cannot be written: %v", b, one, err)
		}
		if err := json.Unmarshal(stored, &two); err != nil {
			t.Fatalf("%q, written as %s: %v", b, stored, err)
		}
		if again, err := two.MarshalJSON(); err != nil || !bytes.Equal(stored, again) {
			t.Fatalf("%s is written again as %s, %v", stored, again, err)
		}
	})
}
