package model

import (
	"regexp"
	"strings"
)

var demoWaste = regexp.MustCompile(`(?i)\bspend\b.*\b(money|budget|dollars?|everything)\b`)

const (
	demoSquander = demoPart + "look at the files of the workspace, and never stop."

	// demoEnd is how a gateway's request for the last words of a turn begins, whose money is
	// used up.
	demoEnd = "The budget of this request is used up."
)

// demoSpend has a sub-agent look at the same folder again and again, and think hard each time,
// until something stops it; nil: text does not ask for that.
func demoSpend(p *Prompt, text string) []Block {
	look, canLook := p.Offers("list_directory")
	_, canSpawn := p.Offers(demoSpawn)
	switch {
	case strings.HasPrefix(text, demoEnd):
		return []Block{Say("I would have gone on for ever, but my money is used up.")}
	case text == demoSquander && canLook && len(p.Answering()) == 0:
		return []Block{Use("list_directory", demoInput(look, "."))}
	case text == demoSquander && canLook:
		return []Block{Think(strings.Repeat("How many files are there? I had better look once more. ", 40)), Use("list_directory", demoInput(look, "."))}
	case text == demoSquander:
		return []Block{Say("I have no tool that lists files.")}
	case !demoWaste.MatchString(text):
		return nil
	case !canSpawn:
		return []Block{Say("I would, but nobody gave me a tool that starts sub-agents, who are good at that.")}
	case len(p.Answering()) > 0:
		return nil
	}
	return []Block{
		Say("I give that to a sub-agent, who never stops by itself, but may spend ten cents."),
		Use(demoSpawn, map[string]string{"label": "the spender", "task": demoSquander, "max_cost_usd": "0.10"}),
	}
}
