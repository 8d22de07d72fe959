package subagents

import (
	_ "embed"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"parley/llm"
)

//go:embed child.md
var childText string

// bootstrap are the files of the workspace that a child is shown. (U05)
var bootstrap = []string{"AGENTS.md", "TOOLS.md"}

// maxNotes is how much of each is shown, in bytes.
const maxNotes = 8 << 10

// childPrompt returns the system message of a child: short, and the same for all children
// of a workspace whose files do not change, so that providers can cache it.
func (r *Runner) childPrompt(workspace string) []llm.SystemBlock {
	text := strings.TrimSpace(childText)
	for _, name := range bootstrap {
		notes, err := readNotes(workspace, name)
		if err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				r.o.Logger.Warn("notes file left out of the sub-agent's prompt", "file", name, "error", err)
			}
			continue
		}
		if r.o.Loop.Redact != nil {
			notes = r.o.Loop.Redact(notes)
		}
		if notes = strings.TrimSpace(notes); notes != "" {
			text += "\n\nFrom " + name + " in the workspace:\n" + notes
		}
	}
	return []llm.SystemBlock{{Text: text, Cache: true}}
}

var errNotPlain = errors.New("not a regular file that only the workspace links to")

// readNotes reads the beginning of an ordinary file that stands in the workspace
// itself: no link leads out of it, no pipe blocks, and what has a second name
// may be another's.
func readNotes(workspace, name string) (string, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || !ok || s.Nlink != 1 {
		return "", errNotPlain
	}
	b, err := io.ReadAll(io.LimitReader(f, maxNotes))
	return strings.ToValidUTF8(string(b), "\uFFFD"), err
}
