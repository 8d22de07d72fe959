package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a server asks becomes questions of a chat, one after the other, and the answers the values that
// it wants; what does not fit a chat is asked of nobody. (SEP-1034, SEP-1330, SEP-2322)
func TestForm(t *testing.T) {
	t.Parallel()
	type row struct {
		schema  string
		choices string // of the first question, joined
		answer  string // several: joined by |
		want    string // the response, as JSON; empty: nobody is asked
	}
	for name, r := range map[string]row{
		"an agreement":            {`{"type":"object","properties":{}}`, "yes, no", "yes", `{"action":"accept"}`},
		"a refusal":               {`{"type":"object","properties":{}}`, "yes, no", "no", `{"action":"decline"}`},
		"no schema":               {`null`, "yes, no", "yes", `{"action":"accept"}`},
		"a boolean":               {`{"properties":{"sure":{"type":"boolean"}}}`, "yes, no, no answer", "no", `{"action":"accept","content":{"sure":false}}`},
		"no answer":               {`{"properties":{"sure":{"type":"boolean"}}}`, "yes, no, no answer", "no answer", `{"action":"decline"}`},
		"words":                   {`{"properties":{"name":{"type":"string"}}}`, "", "Ann", `{"action":"accept","content":{"name":"Ann"}}`},
		"no words":                {`{"properties":{"name":{"type":"string"}}}`, "", "No answer", `{"action":"decline"}`},
		"a number":                {`{"properties":{"n":{"type":"integer"}}}`, "", "12", `{"action":"accept","content":{"n":12}}`},
		"no number":               {`{"properties":{"n":{"type":"integer"}}}`, "", "a few", `{"action":"accept","content":{"n":"a few"}}`},
		"a choice":                {`{"properties":{"c":{"type":"string","enum":["red","blue"]}}}`, "red, blue, no answer", "blue", `{"action":"accept","content":{"c":"blue"}}`},
		"a titled choice":         {`{"properties":{"c":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"b"}]}}}`, "r, b, no answer", "r", `{"action":"accept","content":{"c":"r"}}`},
		"the rest has defaults":   {`{"properties":{"a":{"type":"string"},"b":{"type":"number","default":1.5},"c":{"type":"string"}},"required":["a"]}`, "", "x", `{"action":"accept","content":{"a":"x","b":1.5}}`},
		"all has defaults":        {`{"properties":{"a":{"type":"string","default":"x"},"b":{"type":"boolean","default":true}}}`, "yes, no", "yes", `{"action":"accept","content":{"a":"x","b":true}}`},
		"two things":              {`{"properties":{"a":{"type":"string"},"b":{"type":"boolean"},"c":{"type":"number"}},"required":["a","b"]}`, "", "x|yes", `{"action":"accept","content":{"a":"x","b":true}}`},
		"no answer to the second": {`{"properties":{"a":{"type":"string"},"b":{"type":"string","default":"z"},"c":{"type":"number"}},"required":["a","c"]}`, "", "x|no answer", `{"action":"decline"}`},
		"six things":              {`{"properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{}},"required":["a","b","c","d","e","f"]}`, "", "", ""},
		"a list":                  {`{"properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}}`, "", "", ""},
		"more choices than fit":   {`{"properties":{"c":{"type":"string","enum":["1","2","3","4","5","6","7","8"]}}}`, "", "", ""},
		"a schema that is no one": {`{"properties":7}`, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := readForm(sdk.InputRequestMap{"r1": &sdk.ElicitParams{Message: "Please say.", RequestedSchema: json.RawMessage(r.schema)}})
			if r.want == "" {
				if !errors.Is(err, ErrNobody) {
					t.Errorf("somebody is asked %+v, %v", f, err)
				}
				return
			}
			f.State = "s1"
			if q := f.question(); err != nil || strings.Join(q.Choices, ", ") != r.choices || !strings.HasPrefix(q.Text, "Please say.") {
				t.Errorf("asks %+v, %v", q, err)
			}
			answers := strings.Split(r.answer, "|")
			var g *given
			for i, answer := range answers {
				if q := f.question(); len(answers) > 1 && !strings.Contains(q.Text, fmt.Sprintf("(%d of %d)", i+1, len(answers))) {
					t.Errorf("asks %+v", q)
				}
				if g, f = f.fill(answer); (g != nil) != (i == len(answers)-1) {
					t.Fatalf("after %q the server gets %+v", answer, g)
				}
			}
			got, err := json.Marshal(g.responses["r1"])
			if err != nil || g.state != "s1" || len(g.responses) != 1 {
				t.Errorf("%+v, %v", g, err)
			}
			var a, b any
			if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal([]byte(r.want), &b)); err != nil {
				t.Fatal(err)
			}
			if cmp.Diff(b, a) != "" {
				t.Errorf("the server gets %s, want %s", got, r.want)
			}
		})
	}
	t.Run("the last question shows what else is sent", func(t *testing.T) {
		t.Parallel()
		f, err := readForm(sdk.InputRequestMap{"r1": &sdk.ElicitParams{Message: "Please say.", RequestedSchema: json.RawMessage(
			`{"properties":{"a":{"type":"string"},"b":{"type":"number","default":1.5},"c":{"type":"string"},"d":{"default":"all"}},"required":["a","c"]}`)}})
		if q := f.question(); err != nil || q.Text != "Please say.\na:\n(1 of 2)" {
			t.Errorf("asks %q, %v", q.Text, err)
		}
		_, f = f.fill("x")
		memo, err := json.Marshal(f) // as it comes back with the next answer
		if err == nil {
			f = form{}
			err = json.Unmarshal(memo, &f)
		}
		if q := f.question(); err != nil || q.Text != "Please say.\nc:\n(2 of 2)\nalso sent: b: 1.5\nalso sent: d: all" {
			t.Errorf("asks %q, %v", q.Text, err)
		}
	})
	for name, requests := range map[string]sdk.InputRequestMap{
		"nothing":  {},
		"a page":   {"r": &sdk.ElicitParams{Mode: "url", Message: "x", URL: "https://example.org"}},
		"a model":  {"r": &sdk.CreateMessageParams{}}, //nolint:staticcheck // servers may still ask for it
		"two asks": {"r": &sdk.ElicitParams{Message: "x"}, "s": &sdk.ElicitParams{Message: "y"}},
	} {
		if q, err := readForm(requests); !errors.Is(err, ErrNobody) {
			t.Errorf("%s: somebody is asked %+v, %v", name, q, err)
		}
	}
}
