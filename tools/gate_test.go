package tools_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/tools"
)

func ofCategory(t *testing.T, c tools.Category) tools.Tool {
	t.Helper()
	return mustNew(t, "deploy", func(struct{}) tools.Category { return c }, echo[struct{}])
}

func answer(d tools.Decision, err error) tools.Gate {
	return func(context.Context, tools.Tool, tools.Call) (tools.Verdict, error) {
		return tools.Verdict{Decision: d}, err
	}
}

func TestTheFirstGateThatObjectsDecides(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		gates []tools.Gate
		want  tools.Decision
		err   error
	}{
		"none":             {nil, tools.Allow, nil},
		"all allow":        {[]tools.Gate{answer(tools.Allow, nil), answer(tools.Allow, nil)}, tools.Allow, nil},
		"deny then ask":    {[]tools.Gate{answer(tools.Allow, nil), answer(tools.Deny, nil), answer(tools.Pending, nil)}, tools.Deny, nil},
		"ask then deny":    {[]tools.Gate{answer(tools.Pending, nil), answer(tools.Deny, nil)}, tools.Pending, nil},
		"error then allow": {[]tools.Gate{answer(tools.Allow, boom), answer(tools.Allow, nil)}, tools.Allow, boom},
	} {
		v, err := tools.ChainGates(c.gates...)(t.Context(), nil, tools.Call{})
		if v.Decision != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", name, v.Decision, err)
		}
	}
}

// reasoned is a tool that says why.
type reasoned struct {
	tools.Tool
	why string
}

func (r reasoned) Reason(tools.Call) string { return r.why }

func TestGatesTellTheReasonOfACategory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gate tools.Gate
		want string
	}{
		"category":    {tools.CategoryGate(tools.Read), "deploy is a tool of category admin, which is not allowed here"},
		"interactive": {tools.InteractiveGate(nil), "deploy needs a person's approval, and there is nobody to ask"},
		"job":         {tools.JobGate(nil, false), "deploy may not run in a scheduled job"},
	} {
		for why, want := range map[string]string{"": c.want, "it leaves the workspace": c.want + ": it leaves the workspace"} {
			v, err := c.gate(t.Context(), reasoned{ofCategory(t, tools.Admin), why}, tools.Call{Name: "deploy"})
			if err != nil || v.Decision != tools.Deny || v.Reason != want {
				t.Errorf("%s: %+v, %v, want %q", name, v, err, want)
			}
		}
	}
}

func TestGatesDecideByCategory(t *testing.T) {
	t.Parallel()
	ask := tools.InteractiveGate(answer(tools.Pending, nil))
	for _, c := range []struct {
		name string
		gate tools.Gate
		cat  tools.Category
		want tools.Decision
	}{
		{"read allowed", tools.CategoryGate(tools.Read), tools.Read, tools.Allow},
		{"write not allowed", tools.CategoryGate(tools.Read), tools.Write, tools.Deny},
		{"nothing allowed", tools.CategoryGate(), tools.Read, tools.Deny},
		{"unknown category", tools.CategoryGate(tools.Read, tools.Write, tools.Admin), "", tools.Deny},
		{"interactive read", ask, tools.Read, tools.Allow},
		{"interactive write", ask, tools.Write, tools.Allow},
		{"interactive admin", ask, tools.Admin, tools.Pending},
		{"interactive unknown", ask, "else", tools.Pending},
		{"interactive admin with nobody to ask", tools.InteractiveGate(nil), tools.Admin, tools.Deny},
		{"interactive unknown with nobody to ask", tools.InteractiveGate(nil), "", tools.Deny},
		{"interactive write with nobody to ask", tools.InteractiveGate(nil), tools.Write, tools.Allow},
		{"job read", tools.JobGate(nil, false), tools.Read, tools.Allow},
		{"job write", tools.JobGate(nil, true), tools.Write, tools.Deny},
		{"job write listed", tools.JobGate([]string{"deploy"}, false), tools.Write, tools.Allow},
		{"S6.14 job admin", tools.JobGate(nil, true), tools.Admin, tools.Deny},
		{"S6.14 job admin listed", tools.JobGate([]string{"deploy"}, false), tools.Admin, tools.Deny},
		{"S6.14 job admin listed and allowed", tools.JobGate([]string{"deploy"}, true), tools.Admin, tools.Allow},
	} {
		v, err := c.gate(t.Context(), ofCategory(t, c.cat), tools.Call{Name: "deploy"})
		if err != nil || v.Decision != c.want || v.Decision == tools.Deny && v.Reason == "" {
			t.Errorf("%s: %+v, %v, want %v", c.name, v, err, c.want)
		}
	}
}

// F24
func TestErrorsHaveAKind(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	p := tools.Errorf(tools.Permanent, "no: %w", cause)
	for name, c := range map[string]struct {
		err  error
		want tools.Kind
	}{
		"permanent":         {p, tools.Permanent},
		"wrapped permanent": {fmt.Errorf("more: %w", p), tools.Permanent},
		"transient":         {tools.Errorf(tools.Transient, "busy"), tools.Transient},
		"any other":         {cause, tools.Transient},
	} {
		if got := tools.KindOf(c.err); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if p.Error() != "no: cause" || !errors.Is(p, cause) {
		t.Errorf("%v", p)
	}
}

func TestS6_3_LongOutputIsCutWithANotice(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("€", 100_000)
	got := tools.Truncate(long, 0)
	if len(got) > tools.DefaultOutput || len(got) < tools.DefaultOutput-100 || !utf8.ValidString(got) {
		t.Fatalf("%d bytes, valid %v", len(got), utf8.ValidString(got))
	}
	if !strings.HasSuffix(got, "of 300000 bytes shown]") {
		t.Errorf("ends with %q", got[len(got)-60:])
	}
	for limit := range 200 {
		if s := tools.Truncate(long, limit); limit > 0 && (len(s) > limit || !utf8.ValidString(s)) {
			t.Fatalf("limit %d: %d bytes, %q", limit, len(s), s)
		}
	}
	if s := tools.Truncate("short", 5); s != "short" {
		t.Errorf("got %q", s)
	}
	if s := tools.Truncate("a\xffb", 0); s != "a\uFFFDb" {
		t.Errorf("got %q", s)
	}
}
