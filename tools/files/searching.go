package files

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"parley/tools"
)

//go:embed glob.md
var globDoc string

//go:embed grep.md
var grepDoc string

//go:embed view.md
var viewDoc string

// NewSearchTools makes glob, grep and view, all of category Read: with
// list_directory they are what an agent needs that only looks things up.
//
// A search goes down real folders only, 64 deep at most. It follows no link and
// leaves out what is denied and the insides of .git. It ends when it found what
// may be shown, after c.SearchTime or 300,000 entries, and says so after what it
// found; when its context ends it returns the cause. An answer has at most
// c.MaxBytes bytes and a note.
func NewSearchTools(c Config) ([]tools.Tool, error) {
	b, err := c.boundary()
	if err != nil {
		return nil, err
	}
	s := searcher{reader{b, cmp.Or(c.MaxBytes, DefaultMaxBytes)}, cmp.Or(c.SearchTime, DefaultSearchTime)}
	glob, err := tools.New("glob", globDoc, nil, s.glob, tools.Announcement{Doing: "Looking for files", Of: "pattern"})
	if err != nil {
		return nil, err
	}
	grep, err := tools.New("grep", grepDoc, nil, s.grep, tools.Announcement{Doing: "Searching the files for", Of: "pattern"})
	if err != nil {
		return nil, err
	}
	view, err := tools.New("view", viewDoc, nil, s.view, tools.Announcement{Doing: "Reading", Of: "path"})
	if err != nil {
		return nil, err
	}
	return []tools.Tool{glob, grep, view}, nil
}

type searcher struct {
	reader
	timeout time.Duration
}

// Why a search ends before everything was looked at. The text is for the model.
var (
	errEnough  = errors.New("more was found than is shown")
	errTooMany = fmt.Errorf("there are more than %d files and folders", maxVisited)
	errSlow    = errors.New("search took too long")
)

// withTimeout ends ctx when the search has had its time.
func (s searcher) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.timeout, errSlow)
}

// limitNote returns the note about a search that ended with err. What is no limit of
// a search is an error still.
func limitNote(err error) (note string, _ error) {
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, errEnough), errors.Is(err, errTooMany), errors.Is(err, errSlow):
		return fmt.Sprintf("[the search was cut short: %v; narrow it by path or pattern]", err), nil
	}
	return "", err
}

// openFolder opens the folder that is listed, or that a search begins in. The caller closes it; the
// place's root is closed already. Where path names a plain file, the error is
// errNoDirectory.
func (b *boundary) openFolder(workspace, path string) (place, folder, error) {
	p, err := b.locate(workspace, cmp.Or(path, "."))
	if err != nil {
		return place{}, folder{}, err
	}
	defer func() { _ = p.root.Close() }()
	dir, err := p.enter(p.root, p.rel, p.abs)
	switch {
	case err == nil:
		return p, dir, nil
	case errors.Is(err, fs.ErrNotExist):
		return place{}, folder{}, p.missingError()
	case !errors.Is(err, syscall.ENOTDIR):
		return place{}, folder{}, errNotAllowed
	}
	f, info, err := b.open(p, 0) // what is it, if it may be known?
	if err != nil {
		return place{}, folder{}, err
	}
	defer func() { _ = f.Close() }()
	if !b.isRegular(f, info) || strings.HasSuffix(path, "/") {
		return place{}, folder{}, errNotAllowed
	}
	return place{}, folder{}, errNoDirectory
}

var errNoDirectory = tools.Errorf(tools.Permanent, "the path is a file, not a folder")

// name returns how an answer calls abs: as the model would have to.
func name(workspace, abs string) string {
	if rel, ok := relativeTo(filepath.Clean(workspace), abs); ok {
		return quoteName(rel)
	}
	return quoteName(abs)
}
