package slack

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"parley/channels/internal/markup"
)

// calls are the subtypes of messages that Slack posts in the name of who begins one.
var calls = []string{"huddle_thread", "sh_room_created"}

// block is a part of a message that may stand there without a text
// (https://docs.slack.dev/reference/block-kit/blocks).
type block struct {
	Type  string `json:"type"`
	Alt   string `json:"alt_text"` // image, video
	Title struct {
		Text string `json:"text"`
	} `json:"title"`
	Call struct {
		V1 struct {
			Name string `json:"name"`
		} `json:"v1"`
	} `json:"call"`
}

// blocks are those of a message. One of a form that is not known has a type at most,
// and makes no message unreadable.
type blocks []block

// UnmarshalJSON reads each block by itself, as far as it can be read.
func (bs *blocks) UnmarshalJSON(raw []byte) error {
	var each []json.RawMessage
	_ = json.Unmarshal(raw, &each) // what is no list holds none
	for _, one := range each {
		var b block
		_ = json.Unmarshal(one, &b) // the rest of a field of another form is read
		*bs = append(*bs, b)
	}
	return nil
}

// describe says in words what a post is that has no text and no file that is there;
// empty: nothing at all.
func describe(p *post) string {
	if slices.Contains(calls, p.kind) {
		return "(began a call, which cannot be joined here)"
	}
	var said []string
	for _, f := range p.Files {
		switch f.Mode {
		case "tombstone":
			said = append(said, "(shared a file, which was deleted)")
		case "hidden_by_limit":
			said = append(said, "(shared a file, which the plan of the workspace hides)")
		}
	}
	for _, a := range p.Shared {
		if a.IsShare || a.IsPost {
			said = append(said, "(passed on a message without a text, which cannot be shown here)")
		}
	}
	for _, b := range p.Blocks {
		var what string
		is := markup.Brief(cmp.Or(b.Title.Text, b.Alt))
		switch b.Type {
		case "image":
			what = "a picture"
		case "video":
			what = "a video"
		case "call":
			what, is = "a call", markup.Brief(b.Call.V1.Name)
		case "rich_text", "divider", "section", "context", "header", "markdown", "actions", "input":
			continue // the text of a message says them, or they say nothing
		default:
			what, is = "something", ""
		}
		if is != "" {
			what += ": " + is
		}
		said = append(said, "(shared "+what+", which cannot be shown here)")
	}
	return strings.Join(slices.Compact(said), "\n")
}
