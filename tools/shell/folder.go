package shell

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"parley/tools"
)

// FolderName is the name of the tool that chooses where commands begin.
const FolderName = "set_working_directory"

//go:embed set_working_directory.md
var folderDoc string

type folderInput struct {
	Path string `json:"path" jsonschema:"a folder of the workspace" minLength:"1" maxLength:"1024"`
}

// chosenFolder is what the result of a call says to whoever opens the next turn.
type chosenFolder struct {
	Folder string `json:"folder"` // relative to the workspace; "": the workspace
}

// NewFolder makes the tool by which an agent chooses where its commands begin. It changes
// nothing itself: the choice is the result of its call, and whoever opens a turn reads it there
// with [ChosenFolder]. So it holds from the next turn on, and as long as its session. (AF02)
func NewFolder(r Runner) (tools.Tool, error) {
	if r == nil {
		return nil, fmt.Errorf("tool %s: no runner", FolderName)
	}
	choose := func(_ context.Context, in folderInput, c tools.Call) (tools.Result, error) {
		dir, err := folderOf(in.Path, c.Workspace, r.Inside(c.Workspace))
		if err != nil {
			return tools.Result{}, err
		}
		meta, err := json.Marshal(chosenFolder{dir})
		if err != nil {
			return tools.Result{}, fmt.Errorf("write down the folder: %w", err)
		}
		text := fmt.Sprintf("From your next turn on, commands begin in %s. In this turn they begin in %s.", nameFolder(dir), nameFolder(c.Dir))
		return tools.Result{Content: text, Metadata: string(meta)}, nil
	}
	return tools.New(FolderName, folderDoc, nil, choose, tools.Announcement{Doing: "Choosing the folder", Of: "path"})
}

// folderOf returns a folder relative to the workspace, which programs know as inside; "" is
// the workspace. Its error is for the model.
func folderOf(path, workspace, inside string) (string, error) {
	dir := filepath.Clean(path)
	if filepath.IsAbs(dir) {
		rel, err := filepath.Rel(inside, dir)
		if err != nil {
			return "", tools.Errorf(tools.Permanent, "%s is not in the workspace", path)
		}
		dir = rel
	}
	if !filepath.IsLocal(dir) {
		return "", tools.Errorf(tools.Permanent, "%s is not in the workspace", path)
	}
	if dir == "." {
		return "", nil
	}
	switch err := CheckFolder(workspace, dir); {
	case errors.Is(err, fs.ErrNotExist):
		return "", tools.Errorf(tools.Permanent, "there is no folder %s in the workspace: make it first", dir)
	case err != nil:
		return "", tools.Errorf(tools.Permanent, "%w", err)
	}
	return dir, nil
}

// CheckFolder returns why commands cannot begin in dir, which is relative to the workspace;
// nil: they can. No link leads out of the workspace.
func CheckFolder(workspace, dir string) error {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	info, err := root.Stat(dir)
	if err = errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("look at the folder %s: %w", dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a file, not a folder", dir)
	}
	return nil
}

// ChosenFolder reads the metadata of a result of the tool. ok is false of any other text.
func ChosenFolder(metadata string) (dir string, ok bool) {
	var c chosenFolder
	if err := json.Unmarshal([]byte(metadata), &c); err != nil || c.Folder != "" && !filepath.IsLocal(c.Folder) {
		return "", false
	}
	return c.Folder, true
}

// nameFolder returns a folder as models and people read it, on one line whatever its name is.
func nameFolder(dir string) string {
	if dir == "" {
		return "the workspace"
	}
	return strconv.Quote(dir)
}
