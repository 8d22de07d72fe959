package model

import (
	"regexp"
	"strings"
)

var demoWaste = regexp.MustCompile(`(?i)\bspend\b.*\b(money|budget|dollars?|everything)\b`)

// demoEnd is how a gateway's request for the last words of a turn begins, whose money is
// used up.
const demoEnd = "The budget of this request is used up."

// demoSpend looks at the same folder again and again, with many words, until something stops
// it; nil: text does not ask for that.
func demoSpend(p *Prompt, text string) []Block {
	switch {
	case strings.HasPrefix(text, demoEnd):
		return []Block{Say("I would have gone on for ever. My limit ended it:")}
	case !demoWaste.MatchString(text):
		return nil
	}
	tool, ok := p.Offers("list_directory")
	if !ok {
		return []Block{Say("I would, but nobody gave me a tool to waste money with.")}
	}
	look := Use("list_directory", demoInput(tool, "."))
	if len(p.Answering()) == 0 {
		return []Block{Say("I look at my files, again and again, and think hard each time."), look}
	}
	return []Block{Think(strings.Repeat("How many files are there? I had better look once more. ", 30)), look}
}
