package prompt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Limits of what the operator adds, in bytes. Each request holds all of it, so what is
// meant for some tasks only belongs into a skill.
const (
	MaxFile      = 12_000 // of one file of instructions
	MaxFiles     = 60_000 // of all files of an agent together
	MaxCatalogue = 16_000 // of the names and descriptions of an agent's skills
)

// bootstrap are the files that a folder is read for, in their order. Sub-agents are shown
// files of these names only. (U05)
var bootstrap = []string{"AGENTS.md", "TOOLS.md"}

// File is one of the operator's files of instructions.
type File struct {
	Name string `json:"name"` // without its folder
	Text string `json:"text"`
	// Size is that of the whole file in bytes, where Text is only its beginning. 0: Text
	// is all of it.
	Size int64 `json:"size,omitempty"`
}

var (
	errNoInstructions = errors.New("holds neither AGENTS.md nor TOOLS.md")
	errNotRegular     = errors.New("neither a regular file nor a folder")
	errNotText        = errors.New("not text in UTF-8")
)

// ReadInstructions reads the operator's files at path: AGENTS.md and TOOLS.md of a folder,
// as far as they are there, or the one file that it names. Of each file it reads the first
// MaxFile bytes, up to the end of a line if there is one. Every error names its file.
func ReadInstructions(path string) ([]File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err // it names the path
	}
	if !info.IsDir() {
		f, err := readFile(path)
		if err != nil {
			return nil, err
		}
		return []File{f}, nil
	}
	var all []File
	for _, name := range bootstrap {
		f, err := readFile(filepath.Join(path, name))
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errNoInstructions)
	}
	return all, nil
}

// readFile reads the beginning of a file; a pipe does not make it wait.
func readFile(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return File{}, err // it names the path
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return File{}, err // as above
	case !info.Mode().IsRegular():
		return File{}, fmt.Errorf("%s: %w", path, errNotRegular)
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFile))
	if err != nil {
		return File{}, err // as above
	}
	file := File{Name: filepath.Base(path), Text: string(b)}
	if info.Size() > MaxFile {
		file.Text, file.Size = cutText(file.Text, MaxFile), info.Size()
	}
	if !utf8.ValidString(file.Text) || strings.ContainsRune(file.Text, 0) {
		return File{}, fmt.Errorf("%s: %w", path, errNotText)
	}
	return file, nil
}

// cutText returns the beginning of text, at most limit bytes, up to the end of a line, or
// of a character where the first line is longer.
func cutText(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	if end := strings.LastIndexByte(text, '\n'); end > 0 {
		return text[:end+1]
	}
	for n := 1; n <= min(utf8.UTFMax, len(text)); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRuneInString(last) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}

// FitInstructions returns files with no more than MaxFiles bytes of text together: the
// file that goes beyond is cut, and of those behind it only the names are left.
func FitInstructions(files []File) []File {
	left, fit := MaxFiles, slices.Clone(files)
	for i, f := range fit {
		if len(f.Text) > left {
			fit[i].Text, fit[i].Size = cutText(f.Text, left), max(f.Size, int64(len(f.Text)))
		}
		left -= len(fit[i].Text)
	}
	return fit
}

// CheckCatalogue refuses skills whose names and descriptions are more than each request
// may hold.
func CheckCatalogue(all []Skill) error {
	n := 0
	for _, s := range all {
		n += len(s.line())
	}
	if n > MaxCatalogue {
		return fmt.Errorf("names and descriptions of these %d skills have %d bytes, which each request would hold; at most %d: choose fewer, or shorten descriptions", len(all), n, MaxCatalogue)
	}
	return nil
}

// instructionsSection shows the operator's files, each with its name, and says where one
// is cut.
func instructionsSection(files []File) string {
	var parts []string
	for _, f := range files {
		text := strings.TrimSpace(f.Text)
		if f.Size > 0 {
			text = strings.TrimSpace(fmt.Sprintf("%s\n\n[%s is cut here: %d of its %d bytes are shown]", text, f.Name, len(f.Text), f.Size))
		}
		if text != "" {
			parts = append(parts, "Your operator's instructions, from "+f.Name+":\n\n"+text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// bootstrapFiles returns those of files that a sub-agent is shown.
func bootstrapFiles(files []File) []File {
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool { return !slices.Contains(bootstrap, f.Name) })
}
