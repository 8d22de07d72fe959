package attachments

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/channels"
	"parley/gateway/outcomes"
	"parley/transcript"
)

// folder is where files lie in a workspace.
const folder = "attachments"

// How long the parts of a name may be, in bytes.
const (
	maxName    = 100
	maxEnding  = 12
	maxMessage = 40
)

// Result is what became of a file.
type Result struct {
	Line string // what the model reads of it, a line without a line break
	Text string // what it says, framed as untrusted; "" when it is no text

	// Path is where it lies in the workspace; empty: it does not. Then MIME is what
	// its content is, Sum its SHA-256 in hexadecimal, and Size its bytes.
	Path string
	MIME string
	Sum  string
	Size int64

	Unseen bool // it is a picture that no model takes, as Line says

	// Unusable says to who sent it why nothing of it can be used; empty: something can, or
	// it is no file.
	Unusable string
	Sound    *transcript.Sound // nil: there is nothing to hear in it, or nobody to do so
}

// UnreadableResults returns what becomes of files that are not brought.
func UnreadableResults(fs [][]File) [][]Result {
	all := make([][]Result, len(fs))
	for i := range fs {
		all[i] = make([]Result, len(fs[i]))
		for k, f := range fs[i] {
			all[i][k] = Result{Line: f.unreadableText()}
		}
	}
	return all
}

// resultOf returns what became of f.
func (b *Importer) resultOf(f File, o outcome) Result {
	return Result{Line: b.describe(f, o), Path: o.path, MIME: o.mime, Sum: o.sum, Size: o.size, Unusable: b.unusable(f, o)}
}

// cannotRead is what the sender is told of a file where none is read.
const cannotRead = "I cannot read files here"

// unusable returns what the sender is told of a file that did not come.
func (b *Importer) unusable(f File, o outcome) string {
	switch o.problem {
	case "":
		return ""
	case outcomes.FileTooLarge:
		return "I take at most " + formatSize(b.Config.MaxBytes)
	case outcomes.FileRefused:
		return "the network does not hand it out"
	case outcomes.FileNoRoom:
		return "there is no room for it at present, please try again later"
	case outcomes.FileLate:
		return "it did not come in time, please send it again"
	case outcomes.FileUnkept:
		return "it could not be stored"
	case outcomes.FileTooMany:
		return fmt.Sprintf("I take at most %d at once", b.Config.MaxPerTurn)
	case outcomes.FullWorkspace:
		return "this conversation has no room for more files, and " + b.newCommand(f) + " begins an empty one"
	case outcomes.FileOverQuota:
		return "you have sent as many files as one may in a day (UTC)"
	}
	return cannotRead
}

// newCommand returns what people type for a new conversation where f came.
func (b *Importer) newCommand(f File) string {
	if b.Command == nil {
		return "/new"
	}
	return b.Command(f.In.Channel, "new")
}

func (f File) unreadableText() string {
	if f.Kind == channels.Around {
		return ""
	}
	return fmt.Sprintf("(attached, not readable here: %s %s)", safeName(f.Kind), safeName(f.Name))
}

// describe are what the model reads.
func (b *Importer) describe(f File, o outcome) string {
	if o.problem == "" {
		about := []string{"attached " + safeName(f.Kind), "saved as " + o.path}
		if t, _, err := mime.ParseMediaType(f.MIME); err == nil && strings.Contains(t, "/") && len(t) <= maxName {
			about = append(about, t)
		}
		return "(" + strings.Join(append(about, formatSize(o.size)), ", ") + ")"
	}
	why := map[outcomes.File]string{
		outcomes.FileTooLarge:  "larger than " + formatSize(b.Config.MaxBytes) + ", which is the most",
		outcomes.FileRefused:   "the network does not hand it out",
		outcomes.FileNoRoom:    "there is no room for it at present",
		outcomes.FileLate:      "it did not come in time",
		outcomes.FileUnkept:    "the workspace does not take it",
		outcomes.FileTooMany:   fmt.Sprintf("more than %d came at once", b.Config.MaxPerTurn),
		outcomes.FullWorkspace: "the workspace has no room for more: files in it that are not needed can be deleted, or " + b.newCommand(f) + " begins an empty one",
		outcomes.FileOverQuota: "this person has sent as many files as one may in a day (UTC)",
	}[o.problem]
	if why == "" {
		return f.unreadableText()
	}
	return strings.TrimSpace("(attached "+safeName(f.Kind)+" "+safeName(f.Name)) + ", not saved: " + why + ")"
}

// safeName keeps a name from looking like anything but a name.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || r == '[' || r == ']' {
			return -1
		}
		return r
	}, name)
	return truncate(name, maxName)
}

// truncate is s within n bytes, of whole characters.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func formatSize(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", (n+1<<9)>>10)
	}
	return strings.Replace(fmt.Sprintf("%.1f MB", float64(n)/(1<<20)), ".0 ", " ", 1)
}

// localName returns the name of the file in its folder: the id of its message, and its own
// as far as it is fit to be one.
func (f File) localName() string {
	id := strings.Map(safeASCIIRune, f.Message)
	if id != f.Message || id == "" || len(id) > maxMessage { // told apart by the rest
		sum := sha256.Sum256([]byte(f.Message))
		id = truncate(id, maxMessage/2) + hex.EncodeToString(sum[:4])
	}
	return id + "-" + f.fileName()
}

func (f File) fileName() string {
	name := path.Base(strings.ReplaceAll(f.Name, `\`, "/"))
	name = strings.Trim(strings.Map(safeRune, strings.ToValidUTF8(name, "_")), " ._-")
	if name == "" {
		name = cmp.Or(strings.Map(safeASCIIRune, f.Kind), "file") + endings[f.MIME]
	}
	ending := path.Ext(name)
	if len(ending) > maxEnding {
		ending = ""
	}
	return truncate(strings.TrimSuffix(name, ending), maxName-len(ending)) + ending
}

// endings of files that came without a name.
var endings = map[string]string{
	"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp", "application/pdf": ".pdf",
	"audio/ogg": ".ogg", "audio/mpeg": ".mp3", "audio/mp4": ".m4a", "audio/aac": ".aac", "video/mp4": ".mp4", "text/plain": ".txt",
}

// safeASCIIRune keeps letters and digits of ASCII.
func safeASCIIRune(r rune) rune {
	switch {
	case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '.', r == '_', r == '-':
		return r
	}
	return '_'
}

// safeRune keeps what people write names with: no sign that means something to a shell, in
// a line of text or to a path.
func safeRune(r rune) rune {
	switch {
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), strings.ContainsRune("._-+", r):
		return r
	}
	return '_'
}
