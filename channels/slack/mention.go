package slack

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
)

// parsedText is what a text says.
type parsedText struct {
	text      string // plain, without the mention of us at its start
	mentioned bool
}

// textReader reads what people write to the bot.
type textReader struct {
	bot      *self
	names    *people
	commands []string // as Options.Commands
}

// token is what Slack puts into a text for whatever is not plain: a mention, a
// channel, a link. What a person typed cannot look so, because their < and > are
// escaped.
var token = regexp.MustCompile(`<([^<>]*)>`)

var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// plainText makes plain text of mrkdwn. Only tokens are mentions, so nothing that
// somebody typed is taken for one.
func (t *textReader) plainText(s string) parsedText {
	var out strings.Builder
	var said parsedText
	at := 0
	for _, m := range token.FindAllStringSubmatchIndex(s, -1) {
		out.WriteString(unescape.Replace(s[at:m[0]]))
		at = m[1]
		body, label, labelled := strings.Cut(s[m[2]:m[3]], "|")
		if id, ok := strings.CutPrefix(body, "@"); ok && id == t.bot.UserID {
			said.mentioned = true
			if strings.TrimSpace(out.String()) == "" {
				out.Reset()
				at = skipGreeting(s, at)
				continue
			}
			label, labelled = t.bot.User, t.bot.User != ""
		}
		out.WriteString(unescape.Replace(t.renderToken(body, label, labelled)))
	}
	out.WriteString(unescape.Replace(s[at:]))
	said.text = out.String()
	return said
}

// renderToken is a token as people read it.
func (t *textReader) renderToken(body, label string, labelled bool) string {
	if body == "" {
		return ""
	}
	rest := body[1:]
	switch body[0] {
	case '@':
		if !labelled || label == "" {
			label = t.names.nameOf(rest)
		}
		return "@" + cmp.Or(strings.TrimPrefix(label, "@"), rest)
	case '#':
		return "#" + cmp.Or(label, rest)
	case '!':
		word, _, _ := strings.Cut(rest, "^")
		switch {
		case word == "date":
			return label
		case labelled && label != "":
			return "@" + strings.TrimPrefix(label, "@")
		}
		return "@" + word
	}
	if !labelled || label == "" || label == body || "http://"+label == body || "https://"+label == body || "mailto:"+label == body {
		return cmp.Or(strings.TrimPrefix(body, "mailto:"), label)
	}
	return label + " (" + body + ")"
}

// skipGreeting passes over "," or ":" and the spaces after a mention.
func skipGreeting(s string, at int) int {
	if at < len(s) && (s[at] == ',' || s[at] == ':') {
		at++
	}
	return len(s) - len(strings.TrimLeftFunc(s[at:], unicode.IsSpace))
}
