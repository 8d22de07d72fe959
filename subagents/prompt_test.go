package subagents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/agent/prompt"
	"parley/llm/llmtest"
	"parley/subagents"
	"parley/tools/skills"
)

// U05: a child reads the operator's AGENTS.md and TOOLS.md and no other of their files;
// and of the workspace's, which anybody may have made, none.
func TestAChildReadsTheOperatorsFilesAndNoneOfTheWorkspace(t *testing.T) {
	t.Parallel()
	r := newRig(t, parent([]llmtest.Call{spawnCall("c1", "a")}, says))
	r.words["main"] = prompt.Agent{Prompt: "SPOKEN", Instructions: []prompt.File{
		{Name: "AGENTS.md", Text: "the house rules"}, {Name: "TOOLS.md", Text: "the tool notes"}, {Name: "crew.md", Text: "UNSHOWN"},
	}}
	for _, name := range []string{"AGENTS.md", "TOOLS.md", "attachments/AGENTS.md"} {
		path := filepath.Join(r.space, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("SECRET"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.ask("root")
	children := 0
	for _, q := range r.model.Requests() {
		if task, _ := lastUser(q); task != "a" {
			continue
		}
		children++
		all := ""
		for _, b := range q.System {
			all += b.Text + "\n"
		}
		for _, want := range []string{"You are a sub-agent.", "the house rules", "the tool notes", "Today is "} {
			if !strings.Contains(all, want) {
				t.Errorf("%q is not in %q", want, all)
			}
		}
		for _, no := range []string{"SECRET", "UNSHOWN", "SPOKEN", "direct message"} {
			if strings.Contains(all, no) {
				t.Errorf("%q is in %q", no, all)
			}
		}
	}
	if children != 1 {
		t.Errorf("%d requests of a child", children)
	}
}

// A child has the skills of its own agent, as far as its parent has the tool.
func TestAChildHasTheSkillsOfItsAgent(t *testing.T) {
	t.Parallel()
	other := llmtest.Call{ID: "c2", Name: subagents.SpawnName, Input: `{"task":"b","agent":"helper"}`}
	for name, c := range map[string]struct {
		deny []string
		main bool // its child has skills
	}{
		"by default":            {nil, true},
		"the tool is denied":    {[]string{skills.ToolName}, false},
		"another one is denied": {[]string{"read_file"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, parent([]llmtest.Call{spawnCall("c1", "a"), other}, says))
			r.cfg = subagents.Config{Agents: []string{"helper"}, Deny: c.deny}
			r.set = r.tools("read_file", skills.ToolName)
			r.ask("root")
			got := r.offered()
			for task, want := range map[string]bool{"a": c.main, "b": false} {
				shown := false
				for _, q := range r.model.Requests() {
					if last, _ := lastUser(q); last == task {
						shown = strings.Contains(q.System[0].Text, "of-main")
					}
				}
				if got[task] == nil || slices.Contains(got[task], skills.ToolName) != want || shown != want {
					t.Errorf("%s: tools %v, skills shown: %v", task, got[task], shown)
				}
			}
		})
	}
}
