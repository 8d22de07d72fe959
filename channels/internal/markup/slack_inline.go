package markup

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// slackForm is one of Slack's two languages.
type slackForm struct {
	open, close func(s Span, under string) string
	text        func(s string, before rune) string // outside of code
	code        func(s string) string              // a line of code with its marks
}

var markdownForm = slackForm{
	open: func(s Span, _ string) string {
		switch s.Style {
		case Bold:
			return "**"
		case Italic:
			return "_"
		case Strike:
			return "~~"
		case Link:
			return "["
		default:
			return ""
		}
	},
	close: func(s Span, _ string) string {
		switch s.Style {
		case Bold:
			return "**"
		case Italic:
			return "_"
		case Strike:
			return "~~"
		case Link:
			return "](" + address(s.URL) + ")"
		default:
			return ""
		}
	},
	text: markdownEscape,
	code: func(s string) string {
		marks := strings.Repeat("`", longestRun(s, '`')+1)
		if len(marks) > 1 {
			return marks + " " + defuseMentions(s) + " " + marks
		}
		return marks + defuseMentions(s) + marks
	},
}

var mrkdwnForm = slackForm{
	open: func(s Span, _ string) string {
		switch s.Style {
		case Bold:
			return "*"
		case Italic:
			return "_"
		case Strike:
			return "~"
		case Link:
			return "<" + address(s.URL) + "|"
		default:
			return ""
		}
	},
	close: func(s Span, _ string) string {
		switch s.Style {
		case Bold:
			return "*"
		case Italic:
			return "_"
		case Strike:
			return "~"
		case Link:
			return ">"
		default:
			return ""
		}
	},
	text: func(s string, _ rune) string { return slackEscape(s) },
	code: func(s string) string { return "`" + slackEscape(strings.ReplaceAll(s, "`", "\u02cb")) + "`" },
}

// slackStyled writes the text of b with its spans in one of the two languages.
func slackStyled(b Block, links bool, form slackForm) string {
	spans := trimSpans(b.Text, b.Spans)
	var out strings.Builder
	var open []Span
	at := 0
	last := '\n'
	write := func(to int) {
		if to > at {
			out.WriteString(form.text(b.Text[at:to], last))
			last, _ = utf8.DecodeLastRuneInString(b.Text[:to])
			at = to
		}
	}
	closeUntil := func(pos int) {
		for n := len(open); n > 0 && open[n-1].End <= pos; n = len(open) {
			s := open[n-1]
			write(s.End)
			out.WriteString(form.close(s, b.Text[s.Start:s.End]))
			open = open[:n-1]
		}
	}
	for _, s := range spans {
		if s.Start < at || s.Style == Link && (!links || s.Bare) || b.Kind == Heading && s.Style == Bold && form.open(s, "") == "**" {
			continue
		}
		closeUntil(s.Start)
		write(s.Start)
		if s.Style == Mono {
			out.WriteString(form.code(strings.ReplaceAll(b.Text[s.Start:s.End], "\n", " ")))
			at, last = s.End, '`'
			continue
		}
		out.WriteString(form.open(s, b.Text[s.Start:s.End]))
		open = append(open, s)
	}
	closeUntil(len(b.Text))
	write(len(b.Text))
	return out.String()
}

// slackEscape returns all that mrkdwn wants escaped; after it nothing in a text can
// be a mention or a link.
func slackEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// markdownEscape lets s be read as what it says. before is the character that
// stands before it.
func markdownEscape(s string, before rune) string {
	var b strings.Builder
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case strings.ContainsRune("\\`*[]~", r), r == '_' && (!isWordRune(before) || !isWordRune(after)):
			b.WriteByte('\\')
			b.WriteRune(r)
		case before == '\n' && strings.ContainsRune("#-+=|", r), (r == '.' || r == ')') && endsInNumber(s[:i]):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// endsInNumber reports whether the last line of s is nothing but a number, which a dot
// would make the beginning of a list.
func endsInNumber(s string) bool {
	line := s[strings.LastIndexByte(s, '\n')+1:]
	return line != "" && len(line) < 10 && strings.Trim(line, "0123456789") == ""
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// slackSize returns what a character takes at most.
func slackSize(r rune) int {
	switch r {
	case '&', '<', '>':
		return 5
	case '\\', '`', '*', '[', ']', '~', '_', '\n':
		return 3
	}
	return UTF16(r)
}

// address returns a URL as it can stand in either language.
func address(u string) string {
	return strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", "(", "%28", ")", "%29", " ", "%20", "\\", "%5C").Replace(u)
}

// calls is what addresses somebody in Slack's own language.
var calls = regexp.MustCompile(`<([!@#])`)

// defuseMentions puts something invisible into what would call somebody. In a markdown
// block no character of code can be escaped.
func defuseMentions(code string) string { return calls.ReplaceAllString(code, "<\u200b$1") }
