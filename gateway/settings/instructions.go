package settings

import (
	"fmt"
	"path/filepath"
	"slices"

	"parley/problems"
	"parley/tools/skills"
)

// validateInstructions reports what is wrong with the instructions and skills of an
// agent, as far as no file has to be read.
func (a AgentConfig) validateInstructions(c Config, ps *problems.List, path string) {
	for i, file := range a.Instructions {
		validateOwnPath(c.StateDir, ps, fmt.Sprintf("%s.instructions[%d]", path, i), file)
	}
	hasTool := a.Tools == nil || slices.Contains(a.Tools, skills.ToolName)
	hasSkills := len(c.Skills) > 0 && (a.Skills == nil || len(a.Skills) > 0)
	switch {
	case len(a.Skills) > 0 && len(c.Skills) == 0:
		ps.Add(path+".skills", "names skills, but the key skills names no folder that holds any")
	case len(a.Skills) > 0 && !hasTool:
		ps.Add(path+".skills", "the agent has no tool %s, which reads skills: add it to %s.tools, or remove this key", skills.ToolName, path)
	case a.Tools != nil && hasTool && !hasSkills:
		ps.Add(path+".tools", "the tool %s has no skills to read: name their folder with the key skills, or remove the tool", skills.ToolName)
	}
}

// validateSkills reports what is wrong with the folders of skills.
func validateSkills(c Config, ps *problems.List) {
	for i, folder := range c.Skills {
		path := fmt.Sprintf("skills[%d]", i)
		validateOwnPath(c.StateDir, ps, path, folder)
		if slices.Contains(c.Skills[:i], folder) {
			ps.Add(path, "%s stands there twice", folder)
		}
	}
}

// validateOwnPath refuses a path of the operator's own files that is not absolute or lies
// in the state folder, where people's files are.
func validateOwnPath(stateDir string, ps *problems.List, path, file string) {
	switch {
	case !filepath.IsAbs(file):
		ps.Add(path, "%q is not an absolute path", file)
	case IsBelow(filepath.Clean(stateDir), filepath.Clean(file)):
		ps.Add(path, "%s lies in the state folder %s, where files of people are: what they send must not become instructions", file, stateDir)
	}
}
