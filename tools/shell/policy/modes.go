package policy

import (
	"strconv"
	"strings"
)

// changesMode judges chmod.
func changesMode(j *judge, c call) {
	var mode *arg
	for i, a := range c.args {
		switch {
		case a.is("--") || isWord("-R -c -f -v -Rf -Rv -fR -vR --recursive --silent --quiet --verbose --changes --preserve-root --no-preserve-root", a.text):
		case strings.HasPrefix(a.text, "--"):
			j.raise(Admin, c.node, "the option %s of chmod needs a person", show(a.text))
			if mode == nil {
				mode = &arg{text: "u+r"}
			}
		case mode == nil:
			mode = &c.args[i]
			judgeMode(j, c, a)
		default:
			j.writes(a, c.node, "chmod")
		}
	}
	j.raise(Write, c.node, "chmod changes files")
}

// judgeMode judges the permissions that a command gives.
func judgeMode(j *judge, c call, a arg) {
	text, known := a.lit()
	switch {
	case !known:
		j.raise(Deny, c.node, "which permissions %s gives is only known at run time", c.name)
	case opensToAll(text):
		j.raise(Deny, c.node, "%s %s is always denied: it lets everybody write, or run as another user", c.name, shorten(text))
	}
}

// opensToAll reports whether a mode lets others write, or sets an id, or is not one.
func opensToAll(mode string) bool {
	if n, err := strconv.ParseUint(strings.TrimLeft(mode, "+-="), 8, 32); err == nil {
		if strings.HasPrefix(mode, "-") {
			return false
		}
		return n&0o6002 != 0
	}
	for clause := range strings.SplitSeq(mode, ",") {
		who := leading(clause, len(clause), "ugoa")
		acts := clause[len(who):]
		if acts == "" || strings.Trim(acts, "+-=rwxXstugo") != "" {
			return true
		}
		others := strings.ContainsAny(who, "oa")
		adds := false
		for i := range len(acts) {
			switch acts[i] {
			case '+', '=':
				adds = true
			case '-':
				adds = false
			case 's':
				if adds {
					return true
				}
			case 'w', 'u', 'g', 'o':
				if adds && others {
					return true
				}
			}
		}
	}
	return false
}
