package files

import (
	"context"
	"errors"
	"fmt"
	"io"

	"parley/tools"
)

type viewInput struct {
	Path   string `json:"path"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line, from 1" minimum:"1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"default 2000" minimum:"1" maximum:"10000"`
}

const (
	viewLimit   = 2000
	maxViewLine = 2000 // bytes of a line
)

func (s searcher) view(ctx context.Context, in viewInput, c tools.Call) (tools.Result, error) {
	f, notice, err := s.openText(c.Workspace, in.Path)
	if err != nil || notice != "" {
		return tools.Result{Content: notice}, err
	}
	defer func() { _ = f.Close() }()
	first, limit := max(in.Offset, 1), viewLimit
	if in.Limit > 0 {
		limit = in.Limit
	}
	out, lines := newAnswer(s.max), newLineReader()
	lines.reset(f)
	for {
		line, cut, err := lines.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return tools.Result{}, err
		}
		if lines.n < first {
			continue
		}
		text := shortenLine(line, maxViewLine)
		if cut && len(line) <= maxViewLine {
			text += " [...]"
		}
		full := out.lines == limit || out.add(fmt.Sprintf("%6d\t%s", lines.n, text)) != nil
		switch {
		case full && out.lines == 0:
			return tools.Result{Content: fmt.Sprintf("[line %d does not fit; go on with offset %d]", lines.n, lines.n+1)}, nil
		case full:
			return untrustedResult(theFile, out.content(), fmt.Sprintf("[lines %d to %d shown; go on with offset %d]", first, lines.n-1, lines.n)), nil
		}
	}
	switch {
	case lines.n == 0:
		return tools.Result{Content: "[empty file]"}, nil
	case out.lines == 0:
		return tools.Result{}, tools.Errorf(tools.Permanent, "offset %d is past the end: the file has %d lines", first, lines.n)
	}
	return untrustedResult(theFile, out.content(), ""), nil
}
