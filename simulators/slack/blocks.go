package slack

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// block is what the limits and the books want to know of one.
type block struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"`
	Fields   []textObject    `json:"fields"`
	Elements json.RawMessage `json:"elements"`
	Rows     [][]cell        `json:"rows"`
	AltText  string          `json:"alt_text"`
	Title    json.RawMessage `json:"title"`
}

type textObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// cell of a table: raw_text or rich_text.
type cell struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Elements json.RawMessage `json:"elements"`
}

// blockTypes that a message may hold.
var blockTypes = []string{
	"section", "divider", "image", "actions", "context", "input", "file", "header", "video", "rich_text", "markdown",
	"table", "context_actions", "call", "task_card", "plan",
}

const (
	maxBlocks  = 50
	maxSection = 3000
	maxField   = 2000
	maxHeader  = 150
	maxRows    = 100
	maxColumns = 20
)

// readBlocks holds blocks to Slack's limits and says what people read in them.
func readBlocks(raw json.RawMessage) string {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		panic(refuse("invalid_blocks_format"))
	}
	if len(list) > maxBlocks {
		panic(invalid("", "no more than 50 items allowed"))
	}
	var lines []string
	markdown, tables := 0, 0
	for i, b := range list {
		line := readBlock(fmt.Sprintf("/%d", i), b, &markdown, &tables)
		if line != "" {
			lines = append(lines, line)
		}
	}
	switch {
	case markdown > maxMarkdown:
		panic(refuse("msg_blocks_too_long"))
	case tables > 1:
		panic(refuse("invalid_attachments", "[ERROR] only_one_table_allowed"))
	}
	return strings.Join(lines, "\n")
}

func invalid(at, text string) *refusal {
	return refuse("invalid_blocks", "[ERROR] "+text+" [json-pointer:/blocks"+at+"]")
}

func readBlock(at string, raw json.RawMessage, markdown, tables *int) string {
	var b block
	if err := json.Unmarshal(raw, &b); err != nil {
		panic(invalid(at, "failed to match all allowed schemas"))
	}
	switch {
	case b.Type == "":
		panic(invalid(at, "missing required field: type"))
	case !slices.Contains(blockTypes, b.Type):
		panic(invalid(at+"/type", "unsupported type: "+b.Type))
	}
	switch b.Type {
	case "markdown":
		return readMarkdown(at, b, markdown)
	case "section":
		return readSection(at, b)
	case "header":
		var t textObject
		if json.Unmarshal(b.Text, &t) != nil || t.Type != "plain_text" || t.Text == "" {
			panic(invalid(at+"/text", "missing required field: text"))
		}
		checkLength(at+"/text/text", t.Text, maxHeader)
		return t.Text
	case "table":
		*tables++
		return readTable(at, b)
	case "image":
		return b.AltText
	case "rich_text", "context":
		return plainText(b.Elements)
	}
	return ""
}

func checkLength(at, text string, atMost int) {
	if utf8.RuneCountInString(text) > atMost {
		panic(invalid(at, fmt.Sprintf("must be less than %d characters", atMost+1)))
	}
}

func readMarkdown(at string, b block, sum *int) string {
	var text string
	if json.Unmarshal(b.Text, &text) != nil || text == "" {
		panic(invalid(at+"/text", "missing required field: text"))
	}
	*sum += utf8.RuneCountInString(text)
	return text
}

func readSection(at string, b block) string {
	var lines []string
	if len(b.Text) > 0 {
		var t textObject
		if json.Unmarshal(b.Text, &t) != nil || t.Type != "mrkdwn" && t.Type != "plain_text" || t.Text == "" {
			panic(invalid(at+"/text", "failed to match all allowed schemas"))
		}
		checkLength(at+"/text/text", t.Text, maxSection)
		lines = append(lines, t.Text)
	}
	if len(b.Fields) > 10 {
		panic(invalid(at+"/fields", "no more than 10 items allowed"))
	}
	for i, f := range b.Fields {
		checkLength(fmt.Sprintf("%s/fields/%d/text", at, i), f.Text, maxField)
		lines = append(lines, f.Text)
	}
	if len(lines) == 0 {
		panic(invalid(at, "missing required field: text"))
	}
	return strings.Join(lines, "\n")
}

func readTable(at string, b block) string {
	if len(b.Rows) == 0 {
		panic(invalid(at+"/rows", "missing required field: rows"))
	}
	if len(b.Rows) > maxRows {
		panic(invalid(at+"/rows", "no more than 100 items allowed"))
	}
	var lines []string
	for i, row := range b.Rows {
		if len(row) > maxColumns {
			panic(invalid(fmt.Sprintf("%s/rows/%d", at, i), "no more than 20 items allowed"))
		}
		var cells []string
		for _, c := range row {
			text := c.Text
			if len(c.Elements) > 0 {
				text = plainText(c.Elements)
			}
			cells = append(cells, text)
		}
		lines = append(lines, strings.Join(cells, " | "))
	}
	return strings.Join(lines, "\n")
}

// plainText returns what people read in the elements of rich text or of a context.
func plainText(raw json.RawMessage) string {
	var es []struct {
		Type     string          `json:"type"`
		Text     json.RawMessage `json:"text"`
		URL      string          `json:"url"`
		UserID   string          `json:"user_id"`
		Range    string          `json:"range"`
		Name     string          `json:"name"`
		Elements json.RawMessage `json:"elements"`
	}
	if json.Unmarshal(raw, &es) != nil {
		return ""
	}
	var b strings.Builder
	for _, e := range es {
		var text string
		if json.Unmarshal(e.Text, &text) != nil {
			var t textObject
			_ = json.Unmarshal(e.Text, &t) // an element without text
			text = t.Text
		}
		switch {
		case text != "":
			b.WriteString(text)
		case e.UserID != "":
			b.WriteString("<@" + e.UserID + ">")
		case e.Range != "":
			b.WriteString("<!" + e.Range + ">")
		case e.URL != "":
			b.WriteString(e.URL)
		case e.Name != "":
			b.WriteString(":" + e.Name + ":")
		}
		b.WriteString(plainText(e.Elements))
		if len(e.Elements) > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var pingShape = regexp.MustCompile(`<(?:!(channel|here|everyone)|!subteam\^(S[A-Z0-9]+)|@([UW][A-Z0-9]+))(?:\|[^>]*)?>`)

// nameShape is a name as somebody types it, who is notified where names are looked for.
var nameShape = regexp.MustCompile(`(?:^|[\s(])@(channel|here|everyone|[a-z0-9][a-z0-9._-]*)`)

func typedNames(text string) (out []string) {
	for _, m := range nameShape.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

var (
	linkShape  = regexp.MustCompile(`https?://[^\s<>|)\]]+`)
	mediaShape = regexp.MustCompile(`(?i)\.(?:png|jpe?g|gif|webp|mp3|mp4|mov)(?:$|[?#])`)
)

// unfurledLinks lists the links of an app's message under which Slack shows what they lead
// to: pictures and sounds unless unfurl_media is false, other pages if unfurl_links is
// true (https://docs.slack.dev/messaging/unfurling-links-in-messages).
func unfurledLinks(args params, text string) (out []string) {
	media, pages := args["unfurl_media"] == "" || args.bool("unfurl_media"), args["unfurl_links"] != "" && args.bool("unfurl_links")
	for _, link := range linkShape.FindAllString(text, -1) {
		if isMedia := mediaShape.MatchString(link); isMedia && media || !isMedia && pages {
			out = append(out, link)
		}
	}
	return out
}

// pingedUsers lists whom texts notify when they are shown.
func pingedUsers(texts ...string) []string {
	var out []string
	for _, text := range texts {
		for _, m := range pingShape.FindAllStringSubmatch(text, -1) {
			if who := m[1] + m[2] + m[3]; !slices.Contains(out, who) {
				out = append(out, who)
			}
		}
	}
	return out
}
