package worker

import (
	"context"
	"fmt"
	"slices"

	"parley/tools"
	"parley/tools/shell"
	"parley/transcript"
)

// folder returns where the commands of a turn begin, relative to the workspace: as the model
// chose in an earlier turn of the session, if the folder is still there. It is the same in each
// take of the turn. A turn that makes a permitted call begins where the turn did that asked for
// the permission, which holds for no other folder. (AF01, AF02; docs/decisions/0091)
func (j *journal) folder(ctx context.Context, set *tools.Set, workspace string) (string, error) {
	if _, ok := set.Lookup(shell.FolderName); !ok {
		return "", nil
	}
	history, err := j.Messages(ctx)
	if err != nil {
		return "", fmt.Errorf("look for the folder of a turn: %w", err)
	}
	turn := j.t.ID
	if j.decided != nil {
		turn = j.decided.Turn
	}
	dir, found := chosenFolder(history, turn)
	if !found {
		if history, err = j.WholeHistory(ctx); err != nil {
			return "", fmt.Errorf("look for the folder of a turn: %w", err)
		}
		dir, _ = chosenFolder(history, turn)
	}
	if dir == "" {
		return "", nil
	}
	if err := j.a.w.CheckFolder(workspace, dir); err != nil {
		j.a.w.Logger.Warn("folder of a turn gone, commands begin in the workspace", "session", j.t.Session, "turn", j.t.ID, "error", err)
		return "", nil
	}
	return dir, nil
}

// chosenFolder returns the folder that was chosen last before a turn; "": the workspace. found is
// false where no call chose one.
func chosenFolder(history []transcript.Message, turn string) (dir string, found bool) {
	opening := openingID(turn)
	if i := slices.IndexFunc(history, func(m transcript.Message) bool { return m.ID == opening }); i >= 0 {
		history = history[:i]
	}
	for _, m := range slices.Backward(history) {
		for _, r := range slices.Backward(m.Results()) {
			if r.Name != shell.FolderName || r.IsError {
				continue
			}
			if dir, ok := shell.ChosenFolder(r.Metadata); ok {
				return dir, true
			}
		}
	}
	return "", false
}
