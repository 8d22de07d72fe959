package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxBound is the largest file of which a permission holds for exactly what is in it.
const maxBound = 1 << 20

// DigestFiles returns the files of the workspace that words of a script name, each with the
// digest of what is in it: a permission for the script holds for them as they are. inside is what
// the script calls the workspace, and dir the folder in it where the script begins.
func DigestFiles(workspace, dir, inside, script string) ([]string, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("look at the files that a script names: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing was written
	var all []string
	for _, word := range strings.FieldsFunc(script, isBetweenNames) {
		name := word
		if rest, ok := strings.CutPrefix(word, inside+"/"); ok {
			name = rest
		} else if !path.IsAbs(word) {
			name = path.Join(dir, word)
		}
		sum, ok := digestFile(root, filepath.FromSlash(path.Clean(name)))
		if line := name + " " + sum; ok && !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	return all, nil
}

// isBetweenNames reports whether a character of a script separates what may be names of files.
// One that is quoted is found without its quotes, and one with a space in it is not found.
func isBetweenNames(r rune) bool { return strings.ContainsRune(" \t\n;&|<>()'\"`$={},", r) }

// digestFile returns the digest of a regular file; false when there is none of that name, or one
// that is too large to be a script.
func digestFile(root *os.Root, name string) (string, bool) {
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBound {
		return "", false
	}
	f, err := root.Open(name)
	if err != nil {
		return "unreadable", true // whoever can read it then has another digest
	}
	defer func() { _ = f.Close() }() // nothing was written
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxBound+1)); err != nil {
		return "unreadable", true
	}
	return hex.EncodeToString(h.Sum(nil)), true
}
