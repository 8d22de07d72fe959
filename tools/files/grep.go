package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"parley/tools"
	"parley/tools/match"
)

type grepInput struct {
	Pattern    string `json:"pattern" jsonschema:"RE2" minLength:"1"`
	Path       string `json:"path,omitempty" jsonschema:"file or folder; default: the workspace"`
	Include    string `json:"include,omitempty" jsonschema:"only files that match this glob"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"the pattern is plain text"`
	FilesOnly  bool   `json:"files_only,omitempty" jsonschema:"names of matching files only"`
	Context    int    `json:"context,omitempty" jsonschema:"lines around each match" minimum:"0" maximum:"20"`
	Limit      int    `json:"limit,omitempty" jsonschema:"default 100" minimum:"1" maximum:"1000"`
}

const (
	grepLimit = 100
	maxShown  = 500 // bytes of a line
)

func (s searcher) grep(ctx context.Context, in grepInput, c tools.Call) (tools.Result, error) {
	p, err := match.Compile(in.Pattern, match.Options{IgnoreCase: in.IgnoreCase, Literal: in.Literal})
	if err != nil {
		return tools.Result{}, tools.Errorf(tools.Permanent, "%w", err)
	}
	filter, err := compileGlob(cmp.Or(in.Include, "*"))
	if err != nil {
		return tools.Result{}, tools.Errorf(tools.Permanent, "include: %w", err)
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	g := &grepper{in: in, pattern: p, out: newAnswer(s.max), lines: newLineReader(), limit: grepLimit}
	if in.Limit > 0 {
		g.limit = in.Limit
	}
	at, dir, err := s.openFolder(c.Workspace, in.Path)
	if errors.Is(err, errNoDirectory) {
		return s.grepFile(ctx, g, c.Workspace)
	}
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = dir.Close() }()
	err = at.newWalker(func(f foundFile) error {
		if !filter.matches(f.rel) {
			return nil
		}
		file, err := f.open()
		if err != nil {
			return nil
		}
		defer func() { _ = file.Close() }()
		if info, err := file.Stat(); err != nil || !s.isRegular(file, info) {
			return nil
		}
		if head, err := sniff(file); err != nil || isBinary(head) {
			return nil
		}
		return g.search(ctx, file, name(c.Workspace, filepath.Join(f.dir.abs, f.name)))
	}).reporting(c).walk(ctx, dir, "", 0)
	return g.result(err)
}

// grepFile searches the one file that is named.
func (s searcher) grepFile(ctx context.Context, g *grepper, workspace string) (tools.Result, error) {
	f, notice, err := s.openText(workspace, g.in.Path)
	if err != nil || notice != "" {
		return tools.Result{Content: notice}, err
	}
	defer func() { _ = f.Close() }()
	abs, _ := cleanPath(workspace, g.in.Path)
	return g.result(g.search(ctx, f, name(workspace, abs)))
}

// grepper is one search.
type grepper struct {
	in      grepInput
	pattern match.Pattern
	out     *answer
	lines   *lineReader
	limit   int
	matches int
	files   int
	long    int // lines of which only the beginning was looked at
}

// search looks through one file. errEnough ends everything.
func (g *grepper) search(ctx context.Context, f *os.File, name string) error {
	g.lines.reset(f)
	g.files++
	var before []string // context not yet shown
	last, after := 0, 0 // last line shown; lines still to show
	for {
		line, cut, err := g.lines.next(ctx)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errUnreadable):
			return nil
		case err != nil:
			return err
		}
		if cut || len(line) > g.pattern.Reach {
			g.long++
		}
		n := g.lines.n
		if !g.pattern.Match(line[:min(len(line), g.pattern.Reach)]) {
			switch {
			case after > 0:
				after--
				last = n
				if err := g.out.add(formatLine(name, '-', n, line)); err != nil {
					return err
				}
			case g.in.Context > 0:
				if len(before) == g.in.Context {
					before = before[1:]
				}
				before = append(before, formatLine(name, '-', n, line))
			}
			continue
		}
		if g.matches == g.limit {
			return errEnough
		}
		g.matches++
		if g.in.FilesOnly {
			return g.out.add(name)
		}
		if err := g.show(before, last, formatLine(name, ':', n, line), n); err != nil {
			return err
		}
		before, last, after = nil, n, g.in.Context
	}
}

// show adds the match on line n and what comes before it. last is the line that
// was shown before, 0 for none of this file.
func (g *grepper) show(before []string, last int, match string, n int) error {
	if g.in.Context > 0 && g.out.lines > 0 && (last == 0 || n-len(before) > last+1) {
		before = append([]string{"--"}, before...)
	}
	for _, line := range append(before, match) {
		if err := g.out.add(line); err != nil {
			return err
		}
	}
	return nil
}

func (g *grepper) result(err error) (tools.Result, error) {
	nothing := fmt.Sprintf("[no match in %d files]", g.files)
	if g.files == 1 {
		nothing = "[no match in 1 file]"
	}
	long := ""
	if g.long > 0 {
		further := ""
		if g.pattern.Reach < match.MaxReach {
			further = "; a simpler pattern looks further"
		}
		long = fmt.Sprintf("[of %d long lines only the first %d bytes were searched%s]", g.long, g.pattern.Reach, further)
	}
	return g.out.result(theFiles, nothing, err, long)
}

// formatLine returns a line as grep -n writes it, shortened.
func formatLine(name string, mark byte, n int, line []byte) string {
	return fmt.Sprintf("%s%c%d%c%s", name, mark, n, mark, shortenLine(line, maxShown))
}

// shortenLine returns at most n bytes of a line as text, and a mark where it goes on.
func shortenLine(line []byte, n int) string {
	if len(line) <= n {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	return strings.ToValidUTF8(string(line[:n]), "") + " [...]"
}
