package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Same reports whether a and b say the same to a model: by their roles, their parts and their
// native forms. It costs next to nothing where they share their memory, as messages do that two
// requests hold.
func Same(a, b Message) bool {
	if a.Role != b.Role || len(a.Parts) != len(b.Parts) || !sameNative(a.Native, b.Native) {
		return false
	}
	for i, p := range a.Parts {
		if !samePart(p, b.Parts[i]) {
			return false
		}
	}
	return true
}

func samePart(a, b Part) bool {
	switch a := a.(type) {
	case Binary:
		b, ok := b.(Binary)
		if !ok || a.Path != b.Path || a.MIMEType != b.MIMEType || a.Sum != b.Sum || !bytes.Equal(a.Data, b.Data) {
			return false
		}
		return a.Sound == b.Sound || a.Sound != nil && b.Sound != nil && *a.Sound == *b.Sound
	case Unknown:
		b, ok := b.(Unknown)
		return ok && a.Type == b.Type && bytes.Equal(a.Data, b.Data)
	case Text, Reasoning, ToolCall, ToolResult, Finish, ImageURL, Overlay:
		return a == b // which reports false where the types differ
	default:
		return false // nothing is known of it
	}
}

func sameNative(a, b *Native) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	return a.Provider == b.Provider && a.Model == b.Model &&
		slices.EqualFunc(a.Blocks, b.Blocks, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}
