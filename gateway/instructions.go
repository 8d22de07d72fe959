package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"parley/agent/prompt"
	"parley/gateway/settings"
	"parley/problems"
	"parley/tools"
	"parley/tools/files"
	"parley/tools/skills"
)

// words is what the operator says to one agent.
type words struct {
	prompt       string
	instructions []prompt.File
	skills       []skills.Skill
}

// agent returns what the system messages of an agent are made of.
func (w words) agent() *prompt.Agent {
	return &prompt.Agent{Prompt: w.prompt, Instructions: w.instructions, Skills: listed(w.skills), SkillTool: skills.ToolName}
}

func listed(all []skills.Skill) []prompt.Skill {
	some := make([]prompt.Skill, len(all))
	for i, s := range all {
		some[i] = prompt.Skill{Name: s.Name, Description: s.Description}
	}
	return some
}

// promptReader reads what the operator says to the agents.
type promptReader struct {
	cfg   settings.Config
	log   *slog.Logger
	clean func(string) string // takes secrets out
}

// all reads the operator's instructions and skills, by agent; or returns every mistake.
//
// They are read at the start and at a reload, not when a file changes: a file that an editor
// has half written has no mistake that could be found, and every process gets a new text
// when its operator says so. A process that runs no turns reads none.
func (r promptReader) all() (map[string]words, error) {
	now := map[string]words{}
	var ps problems.List
	all := r.readSkills(&ps)
	for _, name := range slices.Sorted(maps.Keys(r.cfg.Agents)) {
		w := words{prompt: r.cfg.Agents[name].Prompt}
		if r.cfg.HasRole(settings.RoleWorker) {
			w.instructions = r.readInstructions(&ps, name)
			w.skills = chooseSkills(&ps, name, r.cfg.Agents[name], all)
		}
		now[name] = w
	}
	return now, ps.Err()
}

// readInstructions reads the files of an agent, without secrets, and logs what does not
// fit.
func (r promptReader) readInstructions(ps *problems.List, agent string) []prompt.File {
	var all []prompt.File
	for i, path := range r.cfg.Agents[agent].Instructions {
		key := fmt.Sprintf("agents.%s.instructions[%d]", agent, i)
		some, err := prompt.ReadInstructions(path)
		if err == nil {
			err = r.checkOwn(path, some...)
		}
		if err != nil {
			ps.Add(key, "%w", err)
			continue
		}
		all = append(all, some...)
	}
	all = prompt.FitInstructions(all)
	for i, f := range all {
		if f.Size > 0 {
			r.log.Warn("instructions file cut: a skill is the place for what is not always needed",
				"agent", agent, "file", f.Name, "shown_bytes", len(f.Text), "bytes", f.Size)
		}
		all[i].Text = r.clean(f.Text)
	}
	return all
}

// checkOwn refuses files that a link leads into the state folder.
func (r promptReader) checkOwn(path string, some ...prompt.File) error {
	paths := []string{path}
	for _, f := range some {
		paths = append(paths, filepath.Join(path, f.Name))
	}
	for _, p := range paths {
		if err := r.checkNotState(p, settings.IsBelow); err != nil {
			return err
		}
	}
	return nil
}

// checkNotState refuses a path that is so to the state folder when links are followed:
// Validate sees the text only. What is not there is not refused.
func (r promptReader) checkNotState(path string, is func(state, path string) bool) error {
	leads, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil //nolint:nilerr // who reads it says so
	}
	state, err := filepath.EvalSymlinks(r.cfg.StateDir)
	if err != nil {
		return nil //nolint:nilerr // at the first start it is not there yet
	}
	if is(state, leads) {
		return fmt.Errorf("%s is %s, which lies in the state folder or around it, where files of people are: what they send must not become instructions", path, leads)
	}
	return nil
}

// readSkills reads all skills; none where no turn runs.
func (r promptReader) readSkills(ps *problems.List) []skills.Skill {
	if len(r.cfg.Skills) == 0 || !r.cfg.HasRole(settings.RoleWorker) {
		return nil
	}
	shelf, err := files.NewShelf(r.cfg.Files)
	if err != nil {
		ps.Add("files", "%w", err)
		return nil
	}
	all, err := skills.Load(shelf, r.cfg.Skills)
	if found, ok := errors.AsType[problems.List](err); ok {
		for _, p := range found {
			ps.Add("skills"+p.Path, "%w", p.Err)
		}
	}
	for _, s := range all {
		if err := r.checkNotState(s.Dir, settings.Overlap); err != nil {
			ps.Add("skills", "%w", err)
		}
	}
	return all
}

// chooseSkills returns those of all that an agent has.
func chooseSkills(ps *problems.List, agent string, c settings.AgentConfig, all []skills.Skill) []skills.Skill {
	if all == nil {
		return nil // there are none, or that they cannot be read is said
	}
	some, key := all, "agents."+agent+".skills"
	if c.Skills != nil {
		some = nil
		for i, name := range c.Skills {
			at := slices.IndexFunc(all, func(s skills.Skill) bool { return s.Name == name })
			if at < 0 {
				ps.Add(fmt.Sprintf("%s[%d]", key, i), "no skill %q%s", name, haveSkills(name, all))
				continue
			}
			some = append(some, all[at])
		}
		slices.SortFunc(some, func(a, b skills.Skill) int { return strings.Compare(a.Name, b.Name) })
		some = slices.CompactFunc(some, func(a, b skills.Skill) bool { return a.Name == b.Name })
	}
	if err := prompt.CheckCatalogue(listed(some)); err != nil {
		ps.Add(key, "%w", err)
	}
	return some
}

// haveSkills returns what there is in the place of a skill that there is not: those that its
// name resembles, else all.
func haveSkills(name string, all []skills.Skill) string {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return cmp.Or(tools.Suggest(name, names), "; there are "+strings.Join(names, ", "))
}
