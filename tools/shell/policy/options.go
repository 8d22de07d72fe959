package policy

import "strings"

// effect is what an option of a command does, apart from how the command looks or works.
type effect int

const (
	runs      effect = iota + 1 // it runs another program: never
	asks                        // a person has to decide
	writesOne                   // its value is a path that is written
	readsOne                    // its value is a path that is read
	ignores                     // its value is no path
	changing                    // it makes a looking command a changing one
)

// options are what a command does with its options. A key is a letter behind one dash, or
// a name behind two.
type options struct {
	values  string // letters whose value may be the next argument
	joined  string // letters whose value, if there is one, is the rest of the word
	longs   string // names whose value may be the next argument, with spaces between
	effects map[string]effect
	writes  bool // operands are written, so what splits may not bring one

	// A command that does not read its options as getopt does is given these as they are
	// spelled, and a person decides about others: options, and options with a value behind
	// them.
	only, onlyValues string
}

// exact judges an option of a command that has only. It reports whether next is its value.
func (j *judge) exact(c call, o options, a arg, next *arg) bool {
	text, known := a.lit()
	switch {
	case known && isWord(o.onlyValues, text) && next != nil: // without one, xxd takes it for a file
		if next.splits {
			j.raise(Admin, c.node, "the value of an option of %s may turn out to be several arguments: quote it", c.name)
		}
		return true
	case known && isWord(o.only, text):
	default:
		for name, e := range o.effects {
			if e == runs && strings.HasPrefix(strings.TrimLeft(a.text, "-"), name) {
				j.raise(Deny, c.node, "%s %s runs another program: it is always denied", c.name, show(a.text))
			}
		}
		j.raise(Admin, c.node, "the option %s of %s needs a person", show(a.text), c.name)
	}
	return false
}

// dangerous reports whether an option that nobody sees could do harm; pattern says that it
// would be the name of a file, which holds no slash.
func (o options) dangerous(pattern bool) bool {
	for _, e := range o.effects {
		if e == runs || !pattern && (e == writesOne || e == asks || e == changing) {
			return true
		}
	}
	return false
}

// parsed is a command's arguments, told apart.
type parsed struct {
	operands []arg
	changes  bool // an option made the command a changing one
	given    map[string]bool
}

// options tells options from operands as getopt does, and judges the options.
func (j *judge) options(c call, o options) parsed {
	p := parsed{given: map[string]bool{}}
	args := c.args
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.is("--") {
			p.operands = append(p.operands, args[i+1:]...)
			return p
		}
		if a.mayBeOption() && (o.only != "" || o.dangerous(a.isPattern())) {
			j.raise(Admin, c.node, "an argument of %s may turn out to be an option: put -- or ./ before it", c.name)
		}
		if !strings.HasPrefix(a.text, "-") || a.is("-") {
			p.operands = append(p.operands, a)
			continue
		}
		var next *arg
		if i+1 < len(args) {
			next = &args[i+1]
		}
		var takes bool
		if o.only != "" {
			takes = j.exact(c, o, a, next)
		} else {
			takes = j.option(c, o, a, next, &p)
		}
		if takes {
			i++
		}
	}
	return p
}

// option judges one argument that begins with a dash. It reports whether next is its value.
func (j *judge) option(c call, o options, a arg, next *arg, p *parsed) bool {
	if a.isDynamic() && !strings.Contains(a.text, "=") && o.dangerous(false) {
		j.raise(Admin, c.node, "an option of %s is only known at run time", c.name)
	}
	j.wholeValue(c, o, a)
	if strings.HasPrefix(a.text, "--") {
		name, value, has := strings.Cut(a.text[2:], "=")
		e, full := o.find(name)
		p.given[full] = true
		takes := !has && isWord(o.longs, full)
		val := arg{text: value, splits: a.splits, braces: a.braces, node: a.node}
		if takes && next != nil {
			val, has = *next, true
			j.wholeValue(c, o, val)
		}
		j.effect(c, "--"+full, e, val, has, p)
		return takes
	}
	for i := 1; i < len(a.text); i++ {
		letter := a.text[i : i+1]
		p.given[letter] = true
		if strings.Contains(o.joined, letter) {
			return false
		}
		e := o.effects[letter]
		takes := strings.Contains(o.values, letter)
		val, has := arg{text: a.text[i+1:], splits: a.splits, braces: a.braces, node: a.node}, i+1 < len(a.text)
		own := has
		if takes && !has && next != nil {
			val, has = *next, true
			j.wholeValue(c, o, val)
		}
		j.effect(c, "-"+letter, e, val, takes && has || e != 0, p)
		if takes {
			return !own
		}
	}
	return false
}

// wholeValue judges an option, or the value behind it: what its word splits into would be
// options and operands.
func (j *judge) wholeValue(c call, o options, value arg) {
	if value.splits && (o.writes || o.dangerous(false)) {
		j.raise(Admin, c.node, "the value of an option of %s may turn out to be several arguments: quote it", c.name)
	}
}

// find returns the effect of a long option that may be abbreviated: of several that it may
// be, the first that has one.
func (o options) find(name string) (effect, string) {
	if e, ok := o.effects[name]; ok {
		return e, name
	}
	best, full := effect(0), name
	for long, e := range o.effects {
		if len(long) > 1 && name != "" && strings.HasPrefix(long, name) && (best == 0 || e < best) {
			best, full = e, long
		}
	}
	return best, full
}

// effect judges what an option does.
func (j *judge) effect(c call, option string, e effect, value arg, has bool, p *parsed) {
	switch e {
	case runs:
		j.raise(Deny, c.node, "%s %s runs another program: it is always denied", c.name, option)
	case asks:
		j.raise(Admin, c.node, "%s %s needs a person", c.name, option)
	case writesOne:
		if has {
			j.writes(value, c.node, c.name+" "+option)
		}
		p.changes = true
	case readsOne:
		j.reads(value, c.node)
	case changing:
		p.changes = true
	case ignores:
	default:
		if has {
			j.mention(value, c.node)
		}
	}
}

// isWord reports whether list, with spaces between, holds a word.
func isWord(list, word string) bool {
	return word != "" && !strings.Contains(word, " ") && strings.Contains(" "+list+" ", " "+word+" ")
}
