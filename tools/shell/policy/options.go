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
	r := optionReader{judge: j, call: c, options: o, parsed: parsed{given: map[string]bool{}}}
	r.read()
	return r.parsed
}

// optionReader tells the options of one call from its operands, and judges them.
type optionReader struct {
	judge *judge
	call  call
	options
	parsed
}

// read passes over the arguments in their order.
func (r *optionReader) read() {
	args := r.call.args
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.is("--") {
			r.operands = append(r.operands, args[i+1:]...)
			return
		}
		if a.mayBeOption() && (r.only != "" || r.dangerous(a.isPattern())) {
			r.raise(Admin, "an argument of %s may turn out to be an option: put -- or ./ before it", r.call.name)
		}
		if !strings.HasPrefix(a.text, "-") || a.is("-") {
			r.operands = append(r.operands, a)
			continue
		}
		var next *arg
		if i+1 < len(args) {
			next = &args[i+1]
		}
		var takes bool
		if r.only != "" {
			takes = r.exact(a, next)
		} else {
			takes = r.option(a, next)
		}
		if takes {
			i++
		}
	}
}

func (r *optionReader) raise(v Verdict, format string, args ...any) {
	r.judge.raise(v, r.call.node, format, args...)
}

// exact judges an option of a command that has only. It reports whether next is its value.
func (r *optionReader) exact(a arg, next *arg) bool {
	text, known := a.lit()
	switch {
	case known && isWord(r.onlyValues, text) && next != nil: // without one, xxd takes it for a file
		if next.splits {
			r.raise(Admin, "the value of an option of %s may turn out to be several arguments: quote it", r.call.name)
		}
		return true
	case known && isWord(r.only, text):
	default:
		for name, e := range r.effects {
			if e == runs && strings.HasPrefix(strings.TrimLeft(a.text, "-"), name) {
				r.raise(Deny, "%s %s runs another program: it is always denied", r.call.name, show(a.text))
			}
		}
		r.raise(Admin, "the option %s of %s needs a person", show(a.text), r.call.name)
	}
	return false
}

// option judges one argument that begins with a dash. It reports whether next is its value.
func (r *optionReader) option(a arg, next *arg) bool {
	if a.isDynamic() && !strings.Contains(a.text, "=") && r.dangerous(false) {
		r.raise(Admin, "an option of %s is only known at run time", r.call.name)
	}
	r.wholeValue(a)
	if strings.HasPrefix(a.text, "--") {
		name, value, has := strings.Cut(a.text[2:], "=")
		e, full := r.find(name)
		r.given[full] = true
		takes := !has && isWord(r.longs, full)
		val := arg{text: value, splits: a.splits, braces: a.braces, node: a.node}
		if takes && next != nil {
			val, has = *next, true
			r.wholeValue(val)
		}
		r.effect("--"+full, e, val, has)
		return takes
	}
	for i := 1; i < len(a.text); i++ {
		letter := a.text[i : i+1]
		r.given[letter] = true
		if strings.Contains(r.joined, letter) {
			return false
		}
		e := r.effects[letter]
		takes := strings.Contains(r.values, letter)
		val, has := arg{text: a.text[i+1:], splits: a.splits, braces: a.braces, node: a.node}, i+1 < len(a.text)
		own := has
		if takes && !has && next != nil {
			val, has = *next, true
			r.wholeValue(val)
		}
		r.effect("-"+letter, e, val, takes && has || e != 0)
		if takes {
			return !own
		}
	}
	return false
}

// wholeValue judges an option, or the value behind it: what its word splits into would be
// options and operands.
func (r *optionReader) wholeValue(value arg) {
	if value.splits && (r.writes || r.dangerous(false)) {
		r.raise(Admin, "the value of an option of %s may turn out to be several arguments: quote it", r.call.name)
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
func (r *optionReader) effect(option string, e effect, value arg, has bool) {
	switch e {
	case runs:
		r.raise(Deny, "%s %s runs another program: it is always denied", r.call.name, option)
	case asks:
		r.raise(Admin, "%s %s needs a person", r.call.name, option)
	case writesOne:
		if has {
			r.judge.writes(value, r.call.node, r.call.name+" "+option)
		}
		r.changes = true
	case readsOne:
		r.judge.reads(value, r.call.node)
	case changing:
		r.changes = true
	case ignores:
	default:
		if has {
			r.judge.mention(value, r.call.node)
		}
	}
}

// isWord reports whether list, with spaces between, holds a word.
func isWord(list, word string) bool {
	return word != "" && !strings.Contains(word, " ") && strings.Contains(" "+list+" ", " "+word+" ")
}
