package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Bounds of what a permission is bound to. A script that goes beyond one cannot be permitted:
// of a file that does not count, another could be put in its place.
const (
	maxBound   = 64 << 20 // bytes of all files
	maxWords   = 2000     // that may be names
	maxFolders = 16       // in which they may stand
)

// DigestFiles returns the files of the workspace that words of a script name, each with the
// digest of what is in it: a permission for the script holds for them as they are. inside is what
// the script calls the workspace, and dir the folder in it where the script begins. A script may
// change its folder, so a word is looked for in each that the script names. What a program
// reads by itself, as make its Makefile, is not found.
func DigestFiles(workspace, dir, inside, script string) ([]string, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("look at the files that a script names: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing was written
	words := wordsOf(script)
	if len(words) > maxWords {
		return nil, fmt.Errorf("it has more than the %d words of which a permission can hold for the files that they name: do it in smaller steps", maxWords)
	}
	b := binding{root: root, inside: inside, left: maxBound}
	folders, err := b.folders(path.Clean(filepath.ToSlash(dir)), words)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		for _, word := range words {
			if err := b.add(b.name(folder, word)); err != nil {
				return nil, err
			}
		}
	}
	return b.lines, nil
}

// binding is the files that a permission holds for.
type binding struct {
	root   *os.Root
	inside string
	left   int64 // bytes that may be read
	names  []string
	lines  []string
}

// name returns what a word names in a folder of the workspace.
func (b *binding) name(folder, word string) string {
	if rest, ok := strings.CutPrefix(word, b.inside+"/"); ok {
		return path.Clean(rest)
	}
	if path.IsAbs(word) {
		return path.Clean(word)
	}
	return path.Join(folder, word)
}

// folders returns the folder where the script begins, and those that words name in it or in one
// of them.
func (b *binding) folders(first string, words []string) ([]string, error) {
	all := []string{first}
	for i := 0; i < len(all); i++ {
		for _, word := range words {
			name := b.name(all[i], word)
			if slices.Contains(all, name) {
				continue
			}
			if info, err := b.root.Stat(filepath.FromSlash(name)); err != nil || !info.IsDir() {
				continue
			}
			if all = append(all, name); len(all) > maxFolders {
				return nil, fmt.Errorf("it names more than the %d folders of which a permission can hold for the files in them: do it in smaller steps", maxFolders)
			}
		}
	}
	return all, nil
}

// add adds a file, if one of that name is there.
func (b *binding) add(name string) error {
	if slices.Contains(b.names, name) {
		return nil
	}
	info, err := b.root.Stat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // it names no file
	}
	if b.left -= info.Size(); b.left < 0 {
		return fmt.Errorf("the files that it names have more than the %d MiB for which a permission can hold", maxBound>>20)
	}
	b.names = append(b.names, name)
	b.lines = append(b.lines, name+" "+b.digest(name, info.Size()))
	return nil
}

// digest returns the digest of a file of that size.
func (b *binding) digest(name string, size int64) string {
	const unreadable = "unreadable" // whoever can read it then has another digest
	f, err := b.root.Open(filepath.FromSlash(name))
	if err != nil {
		return unreadable
	}
	defer func() { _ = f.Close() }() // nothing was written
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, size+1)); err != nil {
		return unreadable
	}
	return hex.EncodeToString(h.Sum(nil))
}

var (
	quoted  = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	escaped = regexp.MustCompile(`\\(.)`)
	quotes  = strings.NewReplacer("'", "", `"`, "", "`", "", `\`, "")
)

// Characters that stand between words, and those that may also stand in one.
const (
	separators = " \t\n;&|<>()"
	joiners    = "'\"`$={},@:"
)

// wordsOf returns what in a script may be the name of a file: words with their quotes taken out,
// their pieces, and what stands in quotes as a whole. The names of files that are put together
// only when the script runs are not among them.
func wordsOf(script string) (all []string) {
	seen := map[string]bool{"": true}
	add := func(word string) {
		if !seen[word] {
			seen[word] = true
			all = append(all, word)
		}
	}
	fields := func(s, between string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(between, r) })
	}
	for _, word := range fields(script, separators+joiners) {
		add(word)
	}
	// A blank in quotes, or behind a backslash, stands in the word.
	const blank = "\x00"
	masked := quoted.ReplaceAllStringFunc(script, func(q string) string {
		add(q[1 : len(q)-1])
		return strings.Map(mask, q)
	})
	masked = escaped.ReplaceAllStringFunc(masked, func(e string) string { return strings.Map(mask, e[1:]) })
	for _, word := range fields(masked, separators) {
		word = quotes.Replace(word)
		for _, piece := range append([]string{word}, fields(word, joiners)...) {
			add(strings.ReplaceAll(piece, blank, " "))
		}
	}
	return all
}

// mask takes the place of a blank that separates no words.
func mask(r rune) rune {
	if r == ' ' {
		return 0
	}
	return r
}
