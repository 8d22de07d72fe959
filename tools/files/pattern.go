package files

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxCombinations bounds one comparison, which nothing can interrupt: doublestar tries
// each way to choose among the alternatives of a pattern, twice as many with each {a,b}.
// With this the worst pattern of 1000 bytes and a path of 16 KiB take half a second.
const maxCombinations = 100

// maxPattern is how long a pattern may be, in bytes.
const maxPattern = 1000

// glob is a pattern that was checked: * and ? stay in one name, ** as a name stands
// for any folders, [a-z] and [!a-z] for one character, {a,b} for either, and a
// backslash takes the meaning of what follows.
type glob string

// compileGlob checks a pattern. One without a slash is for the name in any folder. The
// error is for the model.
func compileGlob(pattern string) (glob, error) {
	pattern = strings.TrimPrefix(pattern, "./")
	switch {
	case pattern == "":
		return "", errors.New("the pattern is empty")
	case len(pattern) > maxPattern:
		return "", fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	case strings.HasPrefix(pattern, "/"), strings.HasPrefix(pattern, "../"), strings.Contains(pattern, "/../"):
		return "", errors.New("the pattern must be relative to the folder; give the folder as path")
	case !doublestar.ValidatePattern(pattern):
		return "", errors.New(`the pattern has a [, { or } without its other half, an empty [] or a \ at its end; put a \ before what stands for itself`)
	case !strings.Contains(pattern, "/"):
		pattern = "**/" + pattern
	case strings.HasSuffix(pattern, "/"):
		pattern += "**"
	}
	// A comma counts for the last { before it, so this is never too low.
	combinations := 1
	for _, group := range strings.Split(pattern, "{")[1:] {
		if combinations *= 1 + strings.Count(group, ","); combinations > maxCombinations {
			return "", fmt.Errorf("the alternatives in { } make more than %d patterns; search for fewer at once", maxCombinations)
		}
	}
	if strings.HasSuffix(pattern, "/**") {
		pattern += "/*" // what is below a folder, and not a file of its name
	}
	return glob(pattern), nil
}

// matches reports whether g is a pattern of path, which has slashes and no name that
// is empty.
func (g glob) matches(path string) bool { return doublestar.MatchUnvalidated(string(g), path) }
