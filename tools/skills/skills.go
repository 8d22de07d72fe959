// Package skills reads Agent Skills, folders of instructions as agentskills.io specifies
// them, and provides the tool by which a model reads one when a task needs it.
//
//	skills/                     a folder that the operator names
//	  pdf-processing/           one skill; its name
//	    SKILL.md                front matter (name, description, …), then the instructions
//	    references/ assets/     files that the instructions name, read one by one
//	    scripts/                shown as text; nothing runs them
//
// A model is shown names and descriptions from the beginning, the instructions when it
// asks for them, and further files one by one. Skills are the operator's own words: their
// instructions are followed, unlike what other tools return.
package skills

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/problems"
)

// FileName is the name of the file that makes a folder a skill.
const FileName = "SKILL.md"

// MaxFile is how many bytes SKILL.md may have, and how much of any other file one call
// of the tool shows. Its instructions should be far shorter: under 5,000 tokens.
const MaxFile = 128 << 10

// maxSkills is how many skills one folder may hold.
const maxSkills = 1000

// Skill is one skill, as its front matter describes it.
type Skill struct {
	Name          string `json:"name"`
	Description   string `json:"description"`
	Compatibility string `json:"compatibility,omitempty"` // what it needs, in words; "" if nothing
	// Dir is the folder it was read from. It is no part of a recording.
	Dir string `json:"-"`
}

// Shelf reads the files of a folder, and nothing that lies outside of it; see package
// files for what Read and List promise.
type Shelf interface {
	Read(folder, path string, limit int64) (text string, size int64, err error)
	List(ctx context.Context, folder string, limit int) (paths []string, more bool, err error)
}

// Load reads the skills of folders, sorted by name; the mistakes, if any, are a
// problems.List with paths as [0], each naming its file. Every folder must hold a skill,
// and no two skills may have the same name. Entries without a SKILL.md are no skills.
func Load(shelf Shelf, folders []string) ([]Skill, error) {
	var ps problems.List
	byName := map[string]Skill{}
	for i, folder := range folders {
		path := fmt.Sprintf("[%d]", i)
		dirs, err := skillDirs(folder)
		if err != nil {
			ps.Add(path, "%w", err)
			continue
		}
		for _, dir := range dirs {
			s, mistakes := load(shelf, dir)
			for _, err := range mistakes {
				ps.Add(path, "%s: %w", filepath.Join(dir, FileName), err)
			}
			if len(mistakes) > 0 {
				continue
			}
			if first, ok := byName[s.Name]; ok {
				ps.Add(path, "%s: %s is a skill of the same name: rename or remove one of them", filepath.Join(dir, FileName), filepath.Join(first.Dir, FileName))
				continue
			}
			byName[s.Name] = s
		}
	}
	if err := ps.Err(); err != nil {
		return nil, err
	}
	all := make([]Skill, 0, len(byName))
	for _, s := range byName {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// skillDirs returns the folders in folder that hold a SKILL.md, by the operator's own
// links, too.
func skillDirs(folder string) ([]string, error) {
	if isFile(filepath.Join(folder, FileName)) {
		return nil, fmt.Errorf("%s is itself a skill: name the folder that it lies in", folder)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the folder of skills: %w", err)
	}
	var dirs []string
	for _, e := range entries {
		dir := filepath.Join(folder, e.Name())
		if !e.IsDir() && e.Type()&fs.ModeSymlink == 0 || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := os.Stat(dir)
		if err != nil {
			return nil, fmt.Errorf("read the folder of skills: %w", err)
		}
		if !info.IsDir() {
			continue
		}
		inside, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("read a folder of skills: %w", err)
		}
		for _, f := range inside {
			switch {
			case f.Name() == FileName:
				dirs = append(dirs, dir)
			case strings.EqualFold(f.Name(), FileName):
				return nil, fmt.Errorf("%s: the file of a skill is named %s, in this spelling", filepath.Join(dir, f.Name()), FileName)
			}
		}
	}
	switch {
	case len(dirs) == 0:
		return nil, fmt.Errorf("%s holds no skill: a skill is a folder in it with a file %s", folder, FileName)
	case len(dirs) > maxSkills:
		return nil, fmt.Errorf("%s holds %d skills; at most %d", folder, len(dirs), maxSkills)
	}
	return dirs, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// load reads one skill. It opens SKILL.md as the tool will, so that what cannot be read
// then is a mistake now.
func load(shelf Shelf, dir string) (Skill, []error) {
	text, size, err := shelf.Read(dir, FileName, MaxFile)
	switch {
	case err != nil:
		return Skill{}, []error{err}
	case size > MaxFile:
		return Skill{}, []error{fmt.Errorf("%d bytes; at most %d: move details to files below references", size, MaxFile)}
	}
	s, mistakes := parse(text, filepath.Base(dir))
	s.Dir = dir
	return s, mistakes
}
