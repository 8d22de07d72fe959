package skills

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"parley/tools"
)

// ToolName is the name of the tool.
const ToolName = "skill"

// maxListed is how many files of a skill are named behind its instructions.
const maxListed = 50

//go:embed skill.md
var doc string

type input struct {
	Name string `json:"name" jsonschema:"as listed" minLength:"1" maxLength:"256"`
	Path string `json:"path,omitempty" jsonschema:"a file that the skill names, such as references/FORMS.md" maxLength:"1000"`
}

// Tool makes the tool skill, of category Read. of returns the skills of an agent, as they
// are at the time of a call, and may be called concurrently.
func Tool(shelf Shelf, of func(agent string) []Skill) (tools.Tool, error) {
	return tools.New(ToolName, doc, nil, func(ctx context.Context, in input, c tools.Call) (tools.Result, error) {
		s, err := find(of(c.Key.Agent()), in.Name)
		if err != nil {
			return tools.Result{}, err
		}
		if in.Path != "" && filepath.Clean(in.Path) != FileName {
			return readFile(shelf, s, in.Path)
		}
		return readInstructions(ctx, shelf, s)
	}, tools.Announcement{Doing: "Reading the skill", Of: "name"})
}

func find(all []Skill, name string) (Skill, error) {
	var names []string
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return Skill{}, tools.Errorf(tools.Permanent, "there are no skills")
	}
	if near := tools.Nearest(name, names); len(near) > 0 {
		names = near
	}
	return Skill{}, tools.Errorf(tools.Permanent, "no skill %q; there are %s", name, strings.Join(names, ", "))
}

// readInstructions returns the body of SKILL.md as it is now, and names the skill's other
// files.
func readInstructions(ctx context.Context, shelf Shelf, s Skill) (tools.Result, error) {
	text, size, err := shelf.Read(s.Dir, FileName, MaxFile)
	if err != nil {
		return tools.Result{}, err
	}
	_, body, err := split(text)
	if err != nil || size > MaxFile {
		return tools.Result{}, tools.Errorf(tools.Permanent, "the skill %s cannot be read any more: its operator has to mend its %s", s.Name, FileName)
	}
	paths, more, err := shelf.List(ctx, s.Dir, maxListed+1)
	if err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Instructions of the skill %s:\n\n", s.Name)
	b.WriteString(body)
	if s.Compatibility != "" {
		b.WriteString("\n\nThe skill needs: " + s.Compatibility)
	}
	b.WriteString(listing(paths, more))
	return tools.Result{Content: b.String()}, nil
}

// listing names the files of a skill but SKILL.md.
func listing(paths []string, more bool) string {
	var others []string
	scripts := false
	for _, p := range paths {
		if p != FileName && len(others) < maxListed {
			others = append(others, p)
			scripts = scripts || strings.HasPrefix(p, "scripts/")
		}
	}
	if len(others) == 0 {
		return ""
	}
	text := "\n\nFiles of the skill, to be read with path: " + strings.Join(others, ", ")
	if more {
		text += ", and more"
	}
	if scripts {
		text += "\nScripts are not run here, and no tool runs them: do by yourself what one would do, or say that it cannot be done."
	}
	return text
}

// readFile returns a file of a skill.
func readFile(shelf Shelf, s Skill, path string) (tools.Result, error) {
	text, size, err := shelf.Read(s.Dir, path, MaxFile)
	if err != nil {
		return tools.Result{}, err
	}
	head := fmt.Sprintf("File %s of the skill %s", path, s.Name)
	if size > MaxFile {
		head += fmt.Sprintf(", cut: %d of %d bytes", len(text), size)
	}
	return tools.Result{Content: head + ":\n\n" + text}, nil
}
