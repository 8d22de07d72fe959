package subagents_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"parley/llm"
	"parley/llm/llmtest"
	"parley/subagents"
)

// offered are the tools of the requests of each task.
func (r *fixture) offered() map[string][]string {
	m := map[string][]string{}
	for _, q := range r.model.Requests() {
		task, _ := lastUser(q)
		m[task] = nil
		for _, d := range q.Tools {
			m[task] = append(m[task], d.Name)
		}
	}
	return m
}

var everyTool = []string{
	"read_file", "list_directory", "glob", "grep", "view", "write_file", "skill", "bash", "set_working_directory", "message", "gateway", "agents_list", "whatsapp_login",
	"session_status", "cron", "memory_search", "memory_get", "sessions_list", "sessions_history",
}

// TX14, U05-U07: at depth 0, 1 and the last, each tool is either shown and runs,
// or neither.
func TestWhatIsDeniedIsNeitherShownNorRun(t *testing.T) {
	t.Parallel()
	looks := []string{"read_file", "list_directory", "glob", "grep", "view"}
	for name, c := range map[string]struct {
		cfg          subagents.Config
		middle, leaf []string
	}{
		"by default": {
			subagents.Config{},
			append(slices.Clone(looks), "skill", "sessions_list", "sessions_history", "sessions_spawn"), append(slices.Clone(looks), "skill"),
		},
		"one level": {subagents.Config{MaxDepth: 1}, append(slices.Clone(looks), "skill"), nil},
		"the operator's list, less what is denied": {
			subagents.Config{Tools: append(slices.Clone(everyTool), "sessions_spawn", "sessions_send"), Deny: []string{"bash", "view"}},
			[]string{"read_file", "list_directory", "glob", "grep", "write_file", "skill", "sessions_list", "sessions_history", "sessions_spawn"},
			[]string{"read_file", "list_directory", "glob", "grep", "write_file", "skill"},
		},
		"lifted one by one": {
			subagents.Config{Tools: []string{"glob", "sessions_spawn"}, AlsoAllow: []string{"memory_get", "sessions_send", "cron"}, Deny: []string{"cron"}},
			[]string{"glob", "memory_get", "sessions_spawn", "sessions_send"},
			[]string{"glob", "memory_get"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := append(slices.Clone(everyTool), "sessions_spawn", "sessions_send", "agent")
			r := newRig(t, nil)
			r.cfg = c.cfg
			r.set = r.tools(everyTool...)
			var mu sync.Mutex
			tried := map[string]bool{}
			r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
				mu.Lock()
				defer mu.Unlock()
				task, _ := lastUser(q)
				if task == "root" || task == "middle" {
					if n := "spawned by " + task; !tried[n] {
						tried[n] = true
						return llmtest.Turn{spawnCall("s", map[string]string{"root": "middle", "middle": "leaf"}[task])}
					}
				}
				if task != "root" && !tried[task] {
					tried[task] = true
					var t llmtest.Turn
					for i, tool := range all {
						if tool != "sessions_spawn" && tool != "agent" {
							t = append(t, llmtest.Call{ID: fmt.Sprint(i), Name: tool})
						}
					}
					return t
				}
				return text("ok")
			}
			r.ask("root")
			got := r.offered()
			if len(got["root"]) != len(everyTool)+2 {
				t.Errorf("the root has %v", got["root"])
			}
			for task, want := range map[string][]string{"middle": c.middle, "leaf": c.leaf} {
				if !slices.Equal(got[task], want) {
					t.Errorf("the %s is shown %v, not %v", task, got[task], want)
				}
			}
			for _, s := range r.tree()[1:] {
				shown := got[map[int]string{1: "middle", 2: "leaf"}[s.Depth]]
				for _, res := range r.results(s.ID) {
					if res.Name == "sessions_spawn" || res.Name == "sessions_send" {
						continue // runs, and says what is wrong with the call
					}
					if ran := res.Content == "ran "+res.Name; ran != slices.Contains(shown, res.Name) {
						t.Errorf("depth %d: %s: %q", s.Depth, res.Name, res.Content)
					}
				}
			}
			if c.leaf == nil && len(r.tree()) != 2 {
				t.Errorf("a leaf spawned")
			}
		})
	}
}

// I8: over random configurations and trees the rights of a child are among its
// parent's.
func TestTheRightsOfAChildAreAmongItsParents(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	some := func(rng *rand.Rand, from []string) []string {
		var s []string
		for _, x := range from {
			if rng.IntN(2) == 0 {
				s = append(s, x)
			}
		}
		return s
	}
	deniable := []string{"gateway", "agents_list", "session_status", "cron", "memory_search", "memory_get", "sessions_send"}
	for n := range 15 {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		depth := 1 + rng.IntN(3)
		r := newRig(t, func(q llm.Request) llmtest.Turn {
			task, answered := lastUser(q)
			if answered {
				return text("ok")
			}
			return llmtest.Turn{spawnCall("a", task+"a"), spawnCall("b", task+"b")}
		})
		r.cfg = subagents.Config{
			MaxDepth: depth, Tools: append(some(rng, everyTool), "sessions_spawn"), Deny: some(rng, everyTool), AlsoAllow: some(rng, deniable),
		}
		r.set = r.tools(some(rng, everyTool)...)
		r.ask("r")
		if rng.IntN(2) == 0 { // another configuration changes nothing for those that are there
			r.cfg = subagents.Config{MaxDepth: 5, Tools: everyTool}
		}
		got := r.offered()
		for task, tools := range got {
			if task == "r" {
				continue
			}
			for _, tool := range tools {
				if !slices.Contains(got[task[:len(task)-1]], tool) {
					t.Errorf("%s has %s, its parent has not; %+v", task, tool, r.cfg)
				}
				if slices.Contains(r.cfg.Deny, tool) || tool == "message" || tool == "sessions_spawn" && len(task) > depth {
					t.Errorf("%s has %s; %+v", task, tool, r.cfg)
				}
			}
		}
		for _, s := range r.tree() {
			if s.Depth > depth {
				t.Errorf("a child at depth %d of %d", s.Depth, depth)
			}
		}
	}
}

// I8: a child that was made with few rights hands on no more, also when the
// configuration has become wider since.
func TestAChildHandsOnNoMoreThanItWasGiven(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var call llmtest.Call
	sending(r, &call)
	reply := r.model.Reply
	r.model.Reply = func(n int, q llm.Request) llmtest.Turn {
		if task, answered := lastUser(q); task == "hand it on" && !answered {
			return llmtest.Turn{spawnCall("g1", "below")}
		}
		return reply(n, q)
	}
	r.cfg.Tools = []string{"read_file", "sessions_spawn"}
	r.ask("root")
	r.cfg = subagents.Config{Tools: []string{"read_file", "write_file", "sessions_spawn"}, MaxDepth: 5}
	call = sendCall("s1", r.tree()[1].ID, "hand it on")
	r.ask("send")
	if got := r.offered()["below"]; len(r.tree()) != 3 || !slices.Equal(got, []string{"read_file"}) {
		t.Errorf("%d sessions, the lowest has %v", len(r.tree()), got)
	}
}
