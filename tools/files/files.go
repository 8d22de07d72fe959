// Package files is the tools by which an agent works with files. [New] makes
// those that look at one file or folder, [Searching] those that look through
// many, [Writing] those that change them. They reach the session's own
// workspace and, to look only, the roots an operator adds, and nothing else:
// not by "..", not by a link, not by a race between a check and a use.
//
// A path is judged in three steps. Its text is cleaned and must lie below a
// root and outside the denied list. It is then opened through [os.Root], which
// follows no link out of the root. What was opened is judged again by its
// descriptor: only a regular file or a directory, of one name only, whose real
// place is not on the denied list.
//
// What is written goes into a folder that is held open and was judged like
// that; see [Writing].
package files

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"parley/tools"
)

// Limits of one answer.
const (
	DefaultMaxBytes = 190_000 // of a file: what fits below tools.DefaultOutput

	DefaultMaxWrite   = 4 << 20
	DefaultSearchTime = 20 * time.Second

	maxEntries = 1000    // shown of a directory
	maxNames   = 100_000 // read of a directory
)

// Config says what the file tools may reach. The workspace of the session is
// always a root; it comes with each call.
type Config struct {
	// Denied are absolute paths that are out of reach with everything below
	// them, also inside a root. Denied wins.
	Denied []string
	// ExtraRoots are absolute paths of further folders that every session may
	// read. A root that is not there is out of reach.
	ExtraRoots []string
	// MaxBytes is how much of a file one call shows; 0: DefaultMaxBytes.
	MaxBytes int64
	// MaxWrite is how many bytes a file may have that write_file or edit_file
	// leaves; 0: DefaultMaxWrite.
	MaxWrite int64
	// SearchTime is how long one search looks; what it found until then is its
	// answer. 0: DefaultSearchTime.
	SearchTime time.Duration
	// Trusted are further names of files and folders that something outside the
	// session believes, such as the file that a memory is kept in. Upper and
	// lower case are the same. Writing them, or anything below them, is of
	// category Admin.
	Trusted []string
	// AllowHardlinks lets files with several names be read. Such a file may be
	// a file from outside under another name, so it is off by default; trees of
	// package managers need it.
	AllowHardlinks bool
}

// Validate says what is wrong with c.
func (c Config) Validate() error {
	for name, paths := range map[string][]string{"denied": c.Denied, "extra root": c.ExtraRoots} {
		for _, p := range paths {
			if !filepath.IsAbs(p) {
				return fmt.Errorf("%s path %q: must be absolute", name, p)
			}
			if filepath.Clean(p) == "/" && name == "extra root" {
				return fmt.Errorf("extra root path %q: the whole machine is no root", p)
			}
		}
	}
	if c.MaxBytes < 0 {
		return fmt.Errorf("max bytes %d: must not be negative", c.MaxBytes)
	}
	if c.MaxWrite < 0 {
		return fmt.Errorf("max write %d: must not be negative", c.MaxWrite)
	}
	if c.SearchTime < 0 {
		return fmt.Errorf("search time %s: must not be negative", c.SearchTime)
	}
	for _, name := range c.Trusted {
		if name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("trusted name %q: must be the name of a file or folder, without a path", name)
		}
	}
	return nil
}

//go:embed read_file.md
var readDoc string

//go:embed list_directory.md
var listDoc string

// New makes read_file and list_directory, both of category Read.
func New(c Config) ([]tools.Tool, error) {
	b, err := c.boundary()
	if err != nil {
		return nil, err
	}
	r := reader{b, cmp.Or(c.MaxBytes, DefaultMaxBytes)}
	read, err := tools.New("read_file", readDoc, nil, r.read)
	if err != nil {
		return nil, err
	}
	list, err := tools.New("list_directory", listDoc, nil, func(ctx context.Context, in listInput, c tools.Call) (tools.Result, error) {
		return b.list(ctx, in, c.Workspace)
	})
	if err != nil {
		return nil, err
	}
	return []tools.Tool{read, list}, nil
}

func (c Config) boundary() (*boundary, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("file tools: %w", err)
	}
	return &boundary{denied: cleaned(c.Denied), extra: cleaned(c.ExtraRoots), hardlinks: c.AllowHardlinks}, nil
}

func cleaned(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = filepath.Clean(p)
	}
	return out
}
