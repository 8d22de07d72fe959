package markup

import (
	"path"
	"strings"
	"unicode/utf8"
)

// maxFileName is how many bytes a file's name may have: networks and file
// systems take 255, and some put something before it.
const maxFileName = 200

// FileName makes a name fit for a file on its way to people: its last part, on one
// line, without control characters, marks of direction, and signs that stand for
// something else in a path, a shell or markup. A long one is cut before its
// ending. It is never empty, and never "." or "..".
func FileName(name string) string {
	name = Clean(name)
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`<>:"|?*`, r) {
			return '_'
		}
		return r
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	name = strings.TrimRight(name, ". ")
	if !IsVisible(strings.Trim(name, "._")) {
		return "file"
	}
	if len(name) <= maxFileName {
		return name
	}
	ending := path.Ext(name)
	if len(ending) > 16 {
		ending = ""
	}
	cut := name[:maxFileName-len(ending)]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	return strings.TrimRight(cut, ". ") + ending
}
