package files

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"parley/tools"
	"parley/tools/trusted"
)

//go:embed write_file.md
var writeDoc string

//go:embed edit_file.md
var editDoc string

//go:embed delete_file.md
var deleteDoc string

// NewWriteTools makes write_file, edit_file and delete_file. They change the session's
// workspace and the writable roots, and no extra root that is only to be read.
//
// Each opens the folder first and works in that very folder, so a name exchanged
// for a link meanwhile leads nowhere else; a target that is a link or anything
// but a plain file is refused. A file is written beside its name, brought to
// the disk, and then given the name: readers see the old text or the new one,
// and another name of the old file keeps the old text. A process that is killed
// in between leaves a file .parley-*.tmp behind.
//
// A call is of category Write, but Admin where its path names what something
// else trusts later (.git, .bashrc, .env, CLAUDE.md, .mcp.json and the like, and
// the names of c.Trusted). About one that leads out of what may be changed nobody is
// asked: Run refuses it in the words that it has for all that is out of reach. A
// path that comes to such a file by a link is refused too: it has to be named.
//
// Two calls at a time for one file are safe: the later finds the file changed
// and says so, or replaces it whole.
func NewWriteTools(c Config) ([]tools.Tool, error) {
	b, err := c.boundary()
	if err != nil {
		return nil, err
	}
	b.extra = cleanPaths(c.WritableRoots)
	w := &writer{boundary: b, max: cmp.Or(c.MaxWrite, DefaultMaxWrite), trusted: trusted.Fold(c.Trusted)}
	write, err := tools.New("write_file", writeDoc, alwaysWrite[writeInput], w.write, tools.Announcement{Doing: "Writing", Of: "path"})
	if err != nil {
		return nil, err
	}
	edit, err := tools.New("edit_file", editDoc, alwaysWrite[editInput], w.edit, tools.Announcement{Doing: "Editing", Of: "path"})
	if err != nil {
		return nil, err
	}
	remove, err := tools.New("delete_file", deleteDoc, alwaysWrite[deleteInput], w.remove, tools.Announcement{Doing: "Deleting", Of: "path"})
	if err != nil {
		return nil, err
	}
	ts := []tools.Tool{write, edit, remove}
	for i, t := range ts {
		if ts[i], err = w.judgeByPath(t); err != nil {
			return nil, err
		}
	}
	return ts, nil
}

func alwaysWrite[In any](In) tools.Category { return tools.Write }

// writer changes files inside a boundary.
type writer struct {
	*boundary
	max     int64
	trusted []string // by this operator, besides what is known, folded
}

// judgedTool is a tool whose category depends on where its path leads.
type judgedTool struct {
	tools.Tool
	tools.Checker
	writer *writer
	says   tools.Announcement
}

func (w *writer) judgeByPath(t tools.Tool) (tools.Tool, error) {
	c, ok := t.(tools.Checker)
	if !ok {
		return nil, fmt.Errorf("tool %s: does not check its arguments", t.Definition().Name)
	}
	j := judgedTool{Tool: t, Checker: c, writer: w}
	if a, ok := t.(tools.Announcer); ok {
		j.says = a.Announcement()
	}
	return j, nil
}

// Announcement implements [tools.Announcer].
func (j judgedTool) Announcement() tools.Announcement { return j.says }

var (
	_ tools.Reasoner   = judgedTool{}
	_ tools.Petitioner = judgedTool{}
)

// Reason implements [tools.Reasoner].
func (j judgedTool) Reason(c tools.Call) string {
	var in struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(c.Arguments, &in) != nil || j.Category(c) != tools.Admin {
		return ""
	}
	return fmt.Sprintf("other programs trust what is in %q", in.Path)
}

// Petition implements [tools.Petitioner]: what is written is shown as the text that it is.
func (j judgedTool) Petition(c tools.Call) (tools.Petition, error) {
	var in struct {
		editInput
		Content       string `json:"content"`
		CreateParents bool   `json:"create_parents"`
	}
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return tools.Petition{}, tools.Errorf(tools.Permanent, "invalid arguments: %w", err)
	}
	var text string
	switch c.Name {
	case "write_file":
		text = "write " + in.Path + ":\n" + in.Content
		if in.CreateParents {
			text = "make the folders of " + in.Path + ", and " + text
		}
	case "edit_file":
		text = "in " + in.Path + " put\n" + in.NewText + "\nin place of\n" + in.OldText
		if in.ReplaceAll {
			text += "\neverywhere"
		}
	default:
		text = "delete " + in.Path
	}
	return tools.Petition{Text: strings.TrimSuffix(text, "\n")}, nil
}

// Category looks at the text of the path, as Run does. Where links lead is not
// known before the call; Run refuses a path that another category would suit.
func (j judgedTool) Category(c tools.Call) tools.Category {
	if cat := j.Tool.Category(c); cat != tools.Write {
		return cat
	}
	var in struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(c.Arguments, &in) != nil {
		return tools.Admin
	}
	if !filepath.IsAbs(c.Workspace) {
		return tools.Admin
	}
	abs, ok := cleanPath(c.Workspace, in.Path)
	if !ok {
		return tools.Write
	}
	for _, root := range append([]string{filepath.Clean(c.Workspace)}, j.writer.extra...) {
		if rel, ok := relativeTo(root, abs); ok {
			if trusted.Includes(rel, j.writer.trusted) {
				return tools.Admin
			}
			break // the first that holds the path is the one in which Run opens it
		}
	}
	return tools.Write
}
