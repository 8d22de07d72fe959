package files

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"parley/tools"
)

type globInput struct {
	Pattern string `json:"pattern" jsonschema:"like **/*.go or *.{yaml,yml}" minLength:"1"`
	Path    string `json:"path,omitempty" jsonschema:"folder to search; default: the workspace"`
	Limit   int    `json:"limit,omitempty" jsonschema:"default 200" minimum:"1" maximum:"1000"`
}

const globLimit = 200

func (s searcher) glob(ctx context.Context, in globInput, c tools.Call) (tools.Result, error) {
	pattern, err := compileGlob(in.Pattern)
	if err != nil {
		return tools.Result{}, tools.Errorf(tools.Permanent, "%w", err)
	}
	p, dir, err := s.openFolder(c.Workspace, in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = dir.Close() }()
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	limit := globLimit
	if in.Limit > 0 {
		limit = in.Limit
	}
	out := newAnswer(s.max)
	err = p.newWalker(func(f foundFile) error {
		if !pattern.matches(f.rel) {
			return nil
		}
		if out.lines == limit {
			return errEnough
		}
		return out.add(name(c.Workspace, filepath.Join(f.dir.abs, f.name)))
	}).reporting(c).walk(ctx, dir, "", 0)
	return out.result(theFolder, "[no file matches]", err)
}

// answer collects lines up to a limit of bytes.
type answer struct {
	text  strings.Builder
	lines int
	max   int64
}

func newAnswer(limit int64) *answer { return &answer{max: limit} }

// add takes one more line, or returns errEnough.
func (a *answer) add(line string) error {
	if int64(a.text.Len()+len(line)+1) > a.max {
		return errEnough
	}
	a.text.WriteString(line)
	a.text.WriteByte('\n')
	a.lines++
	return nil
}

// content returns what was collected, without the last line end.
func (a *answer) content() string { return strings.TrimSuffix(a.text.String(), "\n") }

// result returns the answer of a search that ended with err, framed as the words of who,
// with the notes behind it.
func (a *answer) result(who, nothing string, err error, notes ...string) (tools.Result, error) {
	note, err := limitNote(err)
	if err != nil {
		return tools.Result{}, err
	}
	if a.lines > 0 {
		nothing = ""
	}
	all := slices.DeleteFunc(append([]string{nothing, note}, notes...), func(s string) bool { return s == "" })
	return untrustedResult(who, a.content(), strings.Join(all, "\n")), nil
}
