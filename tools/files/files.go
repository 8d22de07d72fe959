// Package files is the tools by which an agent works with files. [New] makes
// those that look at one file or folder, [NewSearchTools] those that look through
// many, [NewWriteTools] those that change them, [All] all of these; [NewSender] the one that sends a file
// into the chat. They reach the session's own
// workspace and, to look only, the roots an operator adds, and nothing else:
// not by "..", not by a link, not by a race between a check and a use.
//
// Of an operator's roots, what holds keys is out of reach, whatever the configuration says;
// see package secrets and [Config.Private].
//
// A path is judged in three steps. Its text is cleaned and must lie below a
// root and outside the denied list. It is then opened through [os.Root], which
// follows no link out of the root. What was opened is judged again by its
// descriptor: only a regular file or a directory, of one name only, whose real
// place is not on the denied list.
//
// What is written goes into a folder that is held open and was judged like
// that; see [NewWriteTools].
package files

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"parley/tools"
)

// Limits of one answer.
const (
	DefaultMaxBytes = 190_000 // of a file: what fits below tools.DefaultOutput

	DefaultMaxWrite   = 4 << 20
	DefaultMaxSend    = 20 << 20
	DefaultMaxSends   = 8
	DefaultSearchTime = 5 * time.Second

	maxEntries = 1000    // shown of a directory
	maxNames   = 100_000 // read of a directory
)

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
	read, err := tools.New("read_file", readDoc, nil, r.read, tools.Announcement{Doing: "Reading", Of: "path"})
	if err != nil {
		return nil, err
	}
	list, err := tools.New("list_directory", listDoc, nil, func(ctx context.Context, in listInput, c tools.Call) (tools.Result, error) {
		return b.list(ctx, in, c.Workspace)
	}, tools.Announcement{Doing: "Listing the files", Of: "path"})
	if err != nil {
		return nil, err
	}
	return []tools.Tool{read, list}, nil
}

// All makes the tools of [New], [NewSearchTools] and [NewWriteTools], in this order.
func All(c Config) ([]tools.Tool, error) {
	var all []tools.Tool
	for _, some := range []func(Config) ([]tools.Tool, error){New, NewSearchTools, NewWriteTools} {
		ts, err := some(c)
		if err != nil {
			return nil, err
		}
		all = append(all, ts...)
	}
	return all, nil
}

func (c Config) boundary() (*boundary, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("file tools: %w", err)
	}
	return &boundary{
		denied: cleanPaths(c.Denied), private: alwaysDenied(cleanPaths(c.Private)), extra: cleanPaths(slices.Concat(c.WritableRoots, c.ExtraRoots)), hardlinks: c.AllowHardlinks,
	}, nil
}

func cleanPaths(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = filepath.Clean(p)
	}
	return out
}
