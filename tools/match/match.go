// Package match is the patterns by which models search text: regular expressions, and how
// much text a match may look at, because nothing can interrupt one.
package match

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// MaxReach is the most bytes that any match looks at.
const MaxReach = 64 << 10

const (
	maxPattern      = 1000 // bytes
	maxInstructions = 2000 // of a compiled pattern

	// maxWork is the most instructions times bytes of one match. One takes 30 ns at worst,
	// so a match takes half a second; without this, 64 KiB took four.
	maxWork = 16 << 20
)

// Pattern is a compiled pattern. Reach is how many bytes a match may be given.
type Pattern struct {
	*regexp.Regexp

	Reach int
}

// Options say how a pattern is read.
type Options struct {
	IgnoreCase bool
	Literal    bool // it is plain text
}

// Compile compiles a pattern in the syntax of RE2. The error is for the model.
func Compile(text string, o Options) (Pattern, error) {
	if len(text) > maxPattern {
		return Pattern{}, fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	}
	if o.Literal {
		text = regexp.QuoteMeta(text)
	}
	if o.IgnoreCase {
		text = "(?i)" + text
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return Pattern{}, fmt.Errorf("the pattern is no regular expression (RE2): %w; escape it, or set literal", err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxInstructions {
		return Pattern{}, errors.New("the pattern is too large; use fewer or shorter repetitions")
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return Pattern{}, err
	}
	if _, plain := re.LiteralPrefix(); plain { // found without a match of its instructions
		return Pattern{re, MaxReach}, nil
	}
	return Pattern{re, min(MaxReach, maxWork/len(prog.Inst))}, nil
}
