package prompt_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/agent/prompt"
	"parley/llm"
	"parley/sessionkeys"
	"parley/tools"
)

var update = flag.Bool("update", false, "write the golden files")

func key(t *testing.T, kind sessionkeys.Kind, peer string) sessionkeys.Key {
	t.Helper()
	k, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "42", Kind: kind, Peer: peer})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// set is one with the tool to read skills.
func set(t *testing.T) *tools.Set {
	t.Helper()
	tool, err := tools.New("skill", "Read a skill.", nil, func(context.Context, struct{}, tools.Call) (tools.Result, error) { return tools.Result{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	s, err := tools.NewSet(tool)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// everything is an agent to which its operator says all that there is to say.
var everything = prompt.Agent{
	Prompt: "\nYou answer for the kitchen crew of the Blue Heron.\n",
	Instructions: []prompt.File{
		{Name: "AGENTS.md", Text: "# House rules\n\nThe menu is fixed on Mondays.\n"},
		{Name: "TOOLS.md", Text: "The handbook lies in /srv/handbook.\n", Size: 40_000},
		{Name: "empty.md", Text: "\n"},
		{Name: "crew.md", Text: "Call people by their first names."},
	},
	SkillTool: "skill",
	Skills: []prompt.Skill{
		{Name: "opening-hours", Description: "Says when the Blue Heron is open."},
		{Name: "table-plan", Description: "Knows which table seats how many."},
	},
}

// show writes blocks as they stand in the golden files.
func show(bs []llm.SystemBlock) string {
	var b strings.Builder
	for _, s := range bs {
		b.WriteString("--- ")
		if s.Cache {
			b.WriteString("cached ")
		}
		b.WriteString("---\n" + s.Text + "\n")
	}
	return b.String()
}

func TestTheWholeSystemMessage(t *testing.T) {
	t.Parallel()
	var nothing prompt.Agent
	with := set(t)
	for name, got := range map[string][]llm.SystemBlock{
		"full":            everything.Full(with, key(t, sessionkeys.Group, "-5"), noon),
		"full-default":    nothing.Full(with, key(t, sessionkeys.DM, "1"), noon),
		"full-no-tools":   everything.Full(nil, key(t, sessionkeys.DM, "1"), noon),
		"minimal":         everything.Minimal(with, noon),
		"minimal-default": nothing.Minimal(nil, noon),
	} {
		file := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(show(got)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), show(got)); d != "" {
			t.Errorf("%s (-update writes it):\n%s", name, d)
		}
	}
}

// Providers cache a prefix byte for byte.
// (requirements B19)
func TestTheStableBlockIsTheSameInEveryConversationAtEveryTime(t *testing.T) {
	t.Parallel()
	for _, a := range []prompt.Agent{{}, {Prompt: "  some\nlines \n"}, everything} {
		want := [2]llm.SystemBlock{a.Full(set(t), key(t, sessionkeys.DM, "1"), noon)[0], a.Minimal(set(t), noon)[0]}
		for _, k := range []sessionkeys.Key{key(t, sessionkeys.DM, "2"), key(t, sessionkeys.Group, "-5")} {
			for hour := range 48 {
				at := noon.Add(time.Duration(hour) * time.Hour).In(time.FixedZone("x", 3600*(hour%24-12)))
				for i, bs := range [][]llm.SystemBlock{a.Full(set(t), k, at), a.Minimal(set(t), at)} {
					if len(bs) != 2 || bs[0] != want[i] || !bs[0].Cache || bs[1].Cache {
						t.Fatalf("at %s: %+v, not %+v", at, bs, want[i])
					}
				}
			}
		}
	}
}

func TestTheVolatileBlockSaysWhereAndWhen(t *testing.T) {
	t.Parallel()
	text := func(k sessionkeys.Key, at time.Time) string { return prompt.Agent{}.Full(nil, k, at)[1].Text }
	late := time.Date(2026, 5, 1, 23, 30, 0, 0, time.FixedZone("west", -3600*2))
	if got := text(key(t, sessionkeys.Group, "-5"), late); !strings.Contains(got, "in a group over telegram") || !strings.Contains(got, "Saturday, 2 May 2026") {
		t.Errorf("%q", got)
	}
	// Within a day the whole message stays the same.
	for hour := range 12 {
		if text(key(t, sessionkeys.DM, "1"), noon) != text(key(t, sessionkeys.DM, "2"), noon.Add(time.Duration(hour)*time.Hour-time.Second)) {
			t.Errorf("it changes after %d hours of a day", hour)
		}
	}
}

// The budget of a system message to which the operator adds nothing: each turn pays for it.
func TestTheDefaultSystemMessageIsSmall(t *testing.T) {
	t.Parallel()
	const budget = 900 // bytes; about 200 tokens
	var a prompt.Agent
	for name, bs := range map[string][]llm.SystemBlock{
		"full": a.Full(set(t), key(t, sessionkeys.Group, "-5"), noon), "minimal": a.Minimal(set(t), noon),
	} {
		if n := len(bs[0].Text) + len(bs[1].Text); n > budget {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

// Skills are shown to those who can read them.
func TestWithoutTheToolNoSkillIsListed(t *testing.T) {
	t.Parallel()
	for _, bs := range [][]llm.SystemBlock{everything.Full(nil, key(t, sessionkeys.DM, "1"), noon), everything.Minimal(nil, noon)} {
		if strings.Contains(bs[0].Text, "opening-hours") {
			t.Errorf("%q", bs[0].Text)
		}
	}
	none := everything
	none.Skills = nil
	if got := none.Full(set(t), key(t, sessionkeys.DM, "1"), noon)[0].Text; strings.Contains(got, "kill") {
		t.Errorf("%q", got)
	}
}

// AD04, ruling 15: a goal stands quoted in the volatile block, on one line, before the date.
func TestAGoalLeavesTheStableBlockAsItIs(t *testing.T) {
	t.Parallel()
	key, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "1", Kind: sessionkeys.DM, Peer: "2"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	none, some := prompt.Agent{Prompt: "p"}, prompt.Agent{Prompt: "p", Goal: "paint \"it\"\nnow"}
	without, with := none.Full(nil, key, now), some.Full(nil, key, now)
	if without[0] != with[0] || len(with) != 2 || with[1].Cache {
		t.Errorf("the stable block is %+v", with[0])
	}
	if got := with[1].Text; !strings.Contains(got, `in their words: "paint \"it\"\nnow"`) || !strings.HasSuffix(got, "2026 (UTC).") {
		t.Errorf("the volatile block is %q", got)
	}
	if minimal := some.Minimal(nil, now); strings.Contains(minimal[0].Text+minimal[1].Text, "paint") {
		t.Error("a sub-agent is told the goal")
	}
}

// AI04: that plan mode is on stands in the volatile block, also of a sub-agent, before the date.
func TestPlanModeLeavesTheStableBlockAsItIs(t *testing.T) {
	t.Parallel()
	none, on := prompt.Agent{Prompt: "p"}, prompt.Agent{Prompt: "p", Plan: true}
	for _, c := range [][2][]llm.SystemBlock{
		{none.Full(nil, key(t, sessionkeys.DM, "1"), noon), on.Full(nil, key(t, sessionkeys.DM, "1"), noon)},
		{none.Minimal(nil, noon), on.Minimal(nil, noon)},
	} {
		without, with := c[0], c[1]
		if without[0] != with[0] || strings.Contains(without[1].Text, "Plan mode") {
			t.Errorf("without it %+v, with it %+v", without, with[0])
		}
		if got := with[1].Text; !strings.Contains(got, "Plan mode is on: ") || !strings.HasSuffix(got, "2026 (UTC).") {
			t.Errorf("the volatile block is %q", got)
		}
	}
}
