package telegram

import (
	"strings"
	"unicode/utf16"

	"parley/channels/internal/markup"
)

// addressedText is to whom a text speaks.
type addressedText struct {
	text      string // without the mention of us at its start, and with /cmd for /cmd@us
	mentioned bool   // by a mention or by a command for us
	foreign   bool   // it begins with a command for another bot
}

// resolveMentions reads the entities that Telegram found in a text; the text itself is
// never searched, so "mail@ourbot.example" is no mention. Offsets are UTF-16
// code units; entities outside of the text are ignored.
func resolveMentions(text string, entities []entity, me self) addressedText {
	a := addressedText{text: text}
	if len(entities) == 0 {
		return a
	}
	units := utf16.Encode([]rune(text))
	out := make([]uint16, 0, len(units))
	done := 0 // units that are in out or were left out
	for _, e := range entities {
		if e.Offset < 0 || e.Length <= 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
			continue
		}
		end := e.Offset + e.Length
		under := string(utf16.Decode(units[e.Offset:end]))
		opens := markup.IsBlank(units[:e.Offset])
		switch e.Type {
		case "mention", "text_mention":
			ours := e.Type == "mention" && strings.EqualFold(under, "@"+me.Username) && me.Username != "" ||
				e.Type == "text_mention" && e.User != nil && e.User.ID == me.ID
			if !ours {
				continue
			}
			a.mentioned = true
			if opens && done <= e.Offset {
				done = markup.SkipGreeting(units, end)
			}
		case "bot_command":
			command, bot, named := strings.Cut(under, "@")
			switch {
			case !named:
			case strings.EqualFold(bot, me.Username):
				a.mentioned = true
				if done <= e.Offset {
					out = append(out, units[done:e.Offset]...)
					out = append(out, utf16.Encode([]rune(command))...)
					done = end
				}
			case opens:
				a.foreign = true
			}
		}
	}
	if a.mentioned {
		a.text = string(utf16.Decode(append(out, units[done:]...)))
	}
	return a
}
