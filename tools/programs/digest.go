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
	maxLinks   = 40       // on the way to one, as many as the system follows
)

// DigestFiles returns the files of the workspace that words of a script name, each with the
// digest of what is in it: a permission for the script holds for them as they are. inside is what
// the script calls the workspace, and dir the folder in it where the script begins. A script may
// change its folder, so a word is looked for in each that the script names. Arguments may be names as
// they are, or hold some. What a program reads by itself, as make its Makefile, is not found.
func DigestFiles(workspace, dir, inside, script string, arguments ...string) ([]string, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("look at the files that a script names: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing was written
	words := wordsOf(script + "\n" + strings.Join(arguments, "\n"))
	for _, a := range arguments {
		words = append(words, a)
		if _, value, ok := strings.Cut(a, "="); ok {
			words = append(words, value)
		}
	}
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

// name returns what a word names in a folder of the workspace; empty: something outside.
func (b *binding) name(folder, word string) string {
	if !path.IsAbs(word) {
		word = path.Join(b.inside, folder, word)
	}
	return b.cut(word)
}

// cut returns the name in the workspace of what is called so inside; empty: it is elsewhere.
func (b *binding) cut(name string) string {
	rest, err := filepath.Rel(b.inside, name)
	if err != nil || !filepath.IsLocal(rest) {
		return ""
	}
	return filepath.ToSlash(rest)
}

// follow returns where a name leads through the links on its way, which mean what the script calls the
// workspace: to another name, or out of the workspace by that link.
func (b *binding) follow(name string) (place, out string) {
	for range maxLinks {
		at, to := b.findLink(name)
		if at == "" {
			return name, ""
		}
		rest := strings.TrimPrefix(name, at)
		if !path.IsAbs(to) {
			to = path.Join(b.inside, path.Dir(at), to)
		}
		if name = b.cut(path.Join(to, rest)); name == "" {
			return "", to
		}
	}
	return "", ""
}

// findLink returns the first link on the way to a name, and what it says; empty: there is none.
func (b *binding) findLink(name string) (at, to string) {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if to, err := b.root.Readlink(filepath.FromSlash(name[:i])); err == nil {
			return name[:i], to
		}
	}
	return "", ""
}

// folders returns the folder where the script begins, and those that words name in it or in one
// of them.
func (b *binding) folders(first string, words []string) ([]string, error) {
	all := []string{first}
	for i := 0; i < len(all); i++ {
		for _, word := range words {
			name, _ := b.follow(b.name(all[i], word))
			if name == "" || slices.Contains(all, name) {
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
	if name == "" || slices.Contains(b.names, name) {
		return nil
	}
	place, out := b.follow(name)
	if out != "" {
		b.names, b.lines = append(b.names, name), append(b.lines, name+" -> "+out)
		return nil
	}
	info, err := b.root.Stat(filepath.FromSlash(place))
	if err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // it names no file
	}
	if b.left -= info.Size(); b.left < 0 {
		return fmt.Errorf("the files that it names have more than the %d MiB for which a permission can hold", maxBound>>20)
	}
	b.names = append(b.names, name)
	b.lines = append(b.lines, name+" "+b.digest(place, info.Size()))
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
