package policy

import "strings"

// seds judges sed by its script.
func seds(j *judge, c call) {
	var scripts []arg
	inPlace := false
	var operands []arg
	args := c.args
	for i := 0; i < len(args); i++ {
		a := args[i]
		text, known := a.lit()
		switch {
		case a.is("--"):
			operands = append(operands, args[i+1:]...)
			i = len(args)
		case a.mayBeOption() && (len(operands) > 0 || len(scripts) > 0 || a.splits):
			j.raise(Admin, c.node, "an argument of sed may turn out to be an option: put -- or ./ before it")
			operands = append(operands, a)
		case !strings.HasPrefix(a.text, "-") || a.is("-"):
			operands = append(operands, a)
		case !known:
			j.raise(Deny, c.node, "what sed runs is only known at run time: quote its script on its own")
			return
		case isWord("--quiet --silent --regexp-extended --null-data --separate --unbuffered --posix --sandbox --debug --version --help --follow-symlinks", text):
		case strings.HasPrefix(text, "--expression="):
			scripts = append(scripts, arg{text: strings.TrimPrefix(text, "--expression=")})
		case text == "--expression" && i+1 < len(args):
			i++
			scripts = append(scripts, args[i])
		case text == "--in-place":
			inPlace = true
		case strings.HasPrefix(text, "--in-place="):
			inPlace = true
			judgeSedBackup(j, c, strings.TrimPrefix(text, "--in-place="))
		case strings.HasPrefix(text, "--"):
			j.raise(Admin, c.node, "the option %s of sed needs a person", shorten(text))
		default:
		letters:
			for k := 1; k < len(text); k++ {
				switch text[k] {
				case 'n', 'r', 'E', 's', 'u', 'z':
				case 'i':
					inPlace = true
					judgeSedBackup(j, c, text[k+1:])
					break letters
				case 'e':
					script := arg{text: text[k+1:]}
					if script.text == "" && i+1 < len(args) {
						i++
						script = args[i]
					}
					scripts = append(scripts, script)
					break letters
				default:
					j.raise(Admin, c.node, "the option %s of sed needs a person", shorten(text))
					return
				}
			}
		}
	}
	if len(scripts) == 0 && len(operands) > 0 {
		scripts, operands = operands[:1], operands[1:]
	}
	joined := arg{}
	for _, s := range scripts {
		if _, known := s.lit(); !known {
			joined = s
			break
		}
		joined.text += s.text + "\n"
	}
	judgeSedScript(j, c, joined)
	if inPlace {
		j.raise(Write, c.node, "sed -i changes files")
	}
	for _, a := range operands {
		if inPlace {
			j.writes(a, c.node, "sed -i")
		} else {
			j.reads(a, c.node)
		}
	}
}

// judgeSedBackup judges the suffix of the copies that sed -i keeps. With a suffix of c, that of
// .bashr is .bashrc; with a * or a slash, it may be any file.
func judgeSedBackup(j *judge, c call, suffix string) {
	if !isWord(".bak .orig .old .backup .tmp ~", suffix) && suffix != "" {
		j.raise(Admin, c.node, "sed -i keeps copies with the ending %s, which could be other files: use .bak", shorten(suffix))
	}
}

// judgeSedScript judges a script of sed.
func judgeSedScript(j *judge, c call, a arg) {
	script, known := a.lit()
	if !known {
		j.raise(Deny, c.node, "the script of sed is only known at run time: it could run commands")
		return
	}
	switch kind, ok := readSed(script); {
	case kind == 'e':
		j.raise(Deny, c.node, "sed runs a command in its script: run it by itself")
	case kind == 'w':
		judgeForeignWords(j, c, script)
		j.raise(Admin, c.node, "sed reads or writes a file that its script names")
	case !ok:
		judgeForeignWords(j, c, script)
		j.raise(Admin, c.node, "the script of sed is not one that the policy understands")
	}
}

// readSed reads a script of GNU sed. kind is 'e' where it runs commands, 'w' where it
// reads or writes files by name; ok is false where it cannot be followed.
func readSed(s string) (kind byte, ok bool) {
	p := sedReader{s: s}
	ok = p.script()
	return p.kind, ok
}

type sedReader struct {
	s    string
	kind byte
}

func (p *sedReader) note(kind byte) {
	if p.kind != 'e' {
		p.kind = kind
	}
}

func (p *sedReader) skip(set string) {
	p.s = strings.TrimLeft(p.s, set)
}

func (p *sedReader) script() bool {
	for {
		p.skip(" \t\n;{}")
		if p.s == "" {
			return true
		}
		if !p.address() || !p.command() {
			return false
		}
	}
}

// address passes over the addresses of a command.
func (p *sedReader) address() bool {
	for {
		p.skip(" \t,+~!")
		switch {
		case p.s == "":
			return false
		case p.s[0] >= '0' && p.s[0] <= '9' || p.s[0] == '$':
			p.s = p.s[1:]
		case p.s[0] == '/':
			p.s = p.s[1:]
			if !p.until('/') {
				return false
			}
			p.skip("IM")
		default:
			return p.s[0] != '\\'
		}
	}
}

// until passes over the text up to a sign that is not escaped, and over the sign. The text
// ends before a line does.
func (p *sedReader) until(sign byte) bool {
	for i := 0; i < len(p.s); i++ {
		switch p.s[i] {
		case '\\':
			i++
		case '\n':
			return false
		case '[':
			if !p.plainClass(i, sign) {
				return false
			}
		case sign:
			p.s = p.s[i+1:]
			return true
		}
	}
	return false
}

// plainClass reports whether the bracket at i ends before any sign, so that it does not
// matter how sed reads the sign in it.
func (p *sedReader) plainClass(i int, sign byte) bool {
	end := strings.IndexByte(p.s[i+1:], ']')
	if end == 0 || end == 1 && p.s[i+1] == '^' {
		end = -1 // it is one of the class
	}
	next := strings.IndexByte(p.s[i+1:], sign)
	return next < 0 || end >= 0 && end < next
}

func (p *sedReader) command() bool {
	c := p.s[0]
	p.s = p.s[1:]
	switch c {
	case '{', '}':
		return true
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'l', 'q', 'Q', 'F':
		p.skip(" \t0123456789")
		return p.ends()
	case ':', 'b', 't', 'T':
		p.skip(" \t")
		p.s = strings.TrimLeft(p.s, labels)
		return p.ends()
	case '#', 'a', 'i', 'c':
		p.line(c != '#')
		return true
	case 'y', 's':
		return p.substitute(c)
	case 'e':
		p.note('e')
		p.line(false)
		return true
	case 'r', 'R', 'w', 'W':
		p.note('w')
		p.line(false)
		return true
	}
	return false
}

const labels = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// line passes over the rest of a line, and over the lines that continue it.
func (p *sedReader) line(continued bool) {
	for i := 0; i < len(p.s); i++ {
		switch {
		case continued && p.s[i] == '\\':
			i++
		case p.s[i] == '\n':
			p.s = p.s[i+1:]
			return
		}
	}
	p.s = ""
}

// ends reports whether a command ends here.
func (p *sedReader) ends() bool {
	p.skip(" \t")
	return p.s == "" || strings.IndexByte(";\n}#", p.s[0]) >= 0
}

// substitute passes over s/a/b/flags and y/a/b/.
func (p *sedReader) substitute(c byte) bool {
	if p.s == "" || p.s[0] == '\\' || p.s[0] == '\n' || p.s[0] >= 0x80 {
		return false
	}
	sign := p.s[0]
	p.s = p.s[1:]
	for range 2 {
		if !p.until(sign) {
			return false
		}
	}
	if c == 'y' {
		return p.ends()
	}
	for p.s != "" {
		switch f := p.s[0]; {
		case f == 'g' || f == 'p' || f == 'i' || f == 'I' || f == 'm' || f == 'M' || f >= '0' && f <= '9':
			p.s = p.s[1:]
		case f == 'e':
			p.note('e')
			p.s = p.s[1:]
		case f == 'w':
			p.note('w')
			p.line(false)
			return true
		default:
			return p.ends()
		}
	}
	return true
}
