package files

import (
	"strings"

	"parley/tools"
)

// untrustedResult returns a result that holds text of files or their names, which anybody
// may have written: framed as untrusted, exactly as it is, and note, the tool's own word,
// behind the frame, where no file can write one. Without text there is only the note.
func untrustedResult(who, text, note string) tools.Result {
	if text == "" {
		return tools.Result{Content: note}
	}
	// The frame marks the text as the model will read it.
	text = tools.FrameUntrusted(who, strings.ToValidUTF8(text, "\uFFFD"))
	if note != "" {
		text += "\n" + note
	}
	return tools.Result{Content: text}
}

// Whose words tools show.
const (
	theFile   = "the file"
	theFiles  = "the files"
	theFolder = "the folder"
)
