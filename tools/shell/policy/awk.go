package policy

import (
	"path"
	"regexp"
	"strings"
)

var (
	words      = regexp.MustCompile(`[A-Za-z0-9_.+/-]+`)
	awkOutput  = regexp.MustCompile(`(?s)print.*>`)
	awkOutside = regexp.MustCompile(`system|getline|\||@|/inet|close|fflush|extension`)
)

// awks judges awk by its program.
func awks(j *judge, c call) {
	i := 0
options:
	for ; i < len(c.args); i++ {
		text, known := c.args[i].lit()
		switch {
		case known && text == "--":
			i++
			break options
		case known && isWord("-F -v", text):
			i++
			if i < len(c.args) && c.args[i].splits {
				j.raise(Deny, c.node, "what %s runs is only known at run time: quote it", c.name)
			}
			continue
		case strings.HasPrefix(c.args[i].text, "-F") || strings.HasPrefix(c.args[i].text, "-v"):
			if c.args[i].splits || strings.Trim(c.args[i].text[2:], marks) == "" { // empty, it takes the next argument
				j.raise(Deny, c.node, "what %s runs is only known at run time: put a space behind %s", c.name, c.args[i].text[:2])
			}
			continue
		case known && isWord("--posix --traditional --re-interval --version -V", text):
			continue
		case known && strings.HasPrefix(text, "-") && text != "-":
			j.raise(Admin, c.node, "the option %s of %s needs a person", shorten(text), c.name)
			return
		}
		break
	}
	if i >= len(c.args) {
		return
	}
	program, known := c.args[i].lit()
	if !known {
		j.raise(Deny, c.node, "the program of %s is only known at run time: hand values over with -v", c.name)
		return
	}
	if awkOutside.MatchString(program) || awkOutput.MatchString(program) {
		judgeForeignWords(j, c, program)
		j.raise(Admin, c.node, "the program of %s may run commands or write files: a person has to read it", c.name)
	}
	for _, a := range c.args[i+1:] {
		if a.mayBeOption() && a.splits && !a.isPattern() {
			continue // operands only: options ended at the program
		}
		j.reads(a, c.node)
	}
}

// judgeForeignWords denies a program of another language that names what never runs.
func judgeForeignWords(j *judge, c call, program string) {
	for _, w := range words.FindAllString(program, -1) {
		if name := path.Base(w); j.policy.rules.isBlocked(name) {
			j.raise(Deny, c.node, "the program of %s runs %s, which is always denied", c.name, name)
		}
	}
}
