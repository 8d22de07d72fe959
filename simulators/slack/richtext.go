package slack

import (
	"encoding/json"
	"regexp"
	"strings"
)

var (
	typedShape  = regexp.MustCompile(`https?://[^\s<>]+|@[A-Za-z0-9._-]+`)
	markupShape = regexp.MustCompile(`<([^<>]+)>`)
	escaper     = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	unescaper   = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// markUp turns what somebody typed into what Slack makes of it. The caller holds
// the lock.
func (s *people) markUp(typed string) string {
	var b strings.Builder
	last := 0
	for _, at := range typedShape.FindAllStringIndex(typed, -1) {
		b.WriteString(escaper.Replace(typed[last:at[0]]))
		last = at[1]
		word := typed[at[0]:at[1]]
		id := ""
		if word[0] == '@' {
			id = s.userNamed(word[1:])
		}
		switch {
		case word[0] == 'h':
			b.WriteString("<" + escaper.Replace(word) + ">")
		case word == "@channel" || word == "@here" || word == "@everyone":
			b.WriteString("<!" + word[1:] + ">")
		case id != "":
			b.WriteString("<@" + id + ">")
		default:
			b.WriteString(escaper.Replace(word))
		}
	}
	b.WriteString(escaper.Replace(typed[last:]))
	return b.String()
}

func (s *people) userNamed(name string) string {
	for _, a := range s.apps {
		if strings.EqualFold(a.Name, name) {
			return a.UserID
		}
	}
	for id, p := range s.known {
		if strings.EqualFold(p.Name, name) {
			return id
		}
	}
	return ""
}

// richText returns the block that Slack's clients send with a text.
func richText(text, id string) json.RawMessage {
	var es []map[string]any
	plain := func(t string) {
		if t != "" {
			es = append(es, map[string]any{"type": "text", "text": unescaper.Replace(t)})
		}
	}
	last := 0
	for _, at := range markupShape.FindAllStringSubmatchIndex(text, -1) {
		plain(text[last:at[0]])
		last = at[1]
		target, label, _ := strings.Cut(text[at[2]:at[3]], "|")
		switch {
		case strings.HasPrefix(target, "@"):
			es = append(es, map[string]any{"type": "user", "user_id": target[1:]})
		case strings.HasPrefix(target, "#"):
			es = append(es, map[string]any{"type": "channel", "channel_id": target[1:]})
		case strings.HasPrefix(target, "!subteam^"):
			es = append(es, map[string]any{"type": "usergroup", "usergroup_id": target[len("!subteam^"):]})
		case strings.HasPrefix(target, "!"):
			es = append(es, map[string]any{"type": "broadcast", "range": target[1:]})
		default:
			link := map[string]any{"type": "link", "url": unescaper.Replace(target)}
			if label != "" {
				link["text"] = unescaper.Replace(label)
			}
			es = append(es, link)
		}
	}
	plain(text[last:])
	return mustJSON([]any{map[string]any{
		"type": "rich_text", "block_id": id, "elements": []any{map[string]any{"type": "rich_text_section", "elements": es}},
	}})
}
