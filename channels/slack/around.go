package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/slack-go/slack"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/sessionkeys"
)

// How much of a thread is read, and given.
const (
	aroundPages = 5    // of 200 messages, from its beginning, or from where the bot was asked last
	aroundText  = 1000 // bytes of a message
	aroundBytes = 8 << 10
)

// aroundRef names what was said in the thread of a message before it.
type aroundRef struct {
	Thread string `json:"thread"`
	After  string `json:"after,omitempty"` // the ts of what the bot has read before
	Before string `json:"before"`
}

const aroundPrefix = "around:"

// contextRef returns the reference to what was said in the thread before the mention p,
// or "" when there is nothing, or it is not wanted.
func (r *receiver) contextRef(at sessionkeys.Address, p *post) string {
	if r.o.Around < 1 || at.Kind == sessionkeys.DM || p.ThreadTS == "" || p.ThreadTS == p.TS {
		return ""
	}
	ref := aroundRef{Thread: p.ThreadTS, Before: p.TS}
	r.threads.update(at, func(p *participation) { ref.After = p.lastTS })
	b, err := json.Marshal(ref)
	if err != nil { // of texts
		return ""
	}
	return aroundPrefix + string(b)
}

// fetchAround writes the newest words of a thread before a message, as JSON, oldest
// first, without what the bot itself has said.
func (c *Channel) fetchAround(ctx context.Context, in sessionkeys.Address, ref string, w io.Writer) error {
	const op = "read a thread"
	var a aroundRef
	if err := json.Unmarshal([]byte(strings.TrimPrefix(ref, aroundPrefix)), &a); err != nil || a.Thread == "" || a.Before == "" {
		return refusedError(op, "the reference cannot be read")
	}
	posts, err := c.readThread(ctx, in.Peer, a)
	if err != nil {
		return err
	}
	quotes := c.quotes(posts)
	b, err := json.Marshal(quotes)
	if err == nil {
		_, err = w.Write(b)
	}
	if err != nil {
		return &channels.Error{Kind: channels.Unsent, Op: op, Err: err}
	}
	return nil
}

// readThread reads a thread page by page, and keeps the newest posts before the
// message.
func (c *Channel) readThread(ctx context.Context, channel string, a aroundRef) (newest []authoredPost, err error) {
	const method = "conversations.replies"
	cursor := ""
	for range aroundPages {
		result, err := c.call(ctx, method, channel, func(ctx context.Context) error {
			_, _, _, err := c.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
				ChannelID: channel, Timestamp: a.Thread, Oldest: a.After, Latest: a.Before, Cursor: cursor, Limit: 200,
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		var page struct {
			Messages []authoredPost `json:"messages"`
			Metadata struct {
				Next string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, &channels.Error{Kind: channels.Refused, Op: method, Message: "the answer cannot be read", Err: err}
		}
		for i := range page.Messages {
			if p := &page.Messages[i]; p.TS > a.After && p.TS < a.Before { // ts of one form compare as they read
				newest = append(newest, page.Messages[i])
			}
		}
		newest = newest[max(0, len(newest)-c.o.Around):]
		if cursor = page.Metadata.Next; cursor == "" {
			break
		}
	}
	return newest, nil
}

// quotes are posts as far as they say something, the newest of them within bounds.
func (c *Channel) quotes(posts []authoredPost) []channels.Quote {
	quotes := []channels.Quote{}
	me := c.me.Load()
	if me == nil { // before Receive nobody knows which bot this is
		me = &self{}
	}
	words := textReader{bot: me, names: &c.people}
	left := aroundBytes
	for i := len(posts) - 1; i >= 0; i-- {
		p := &posts[i]
		text := words.plainText(p.Text).text
		if len(text) > aroundText {
			text = strings.ToValidUTF8(text[:aroundText], "") + "…"
		}
		if p.Subtype == assistantRoot || text == "" || me.isAuthor(string(p.User), p.BotID) {
			continue
		}
		if left -= len(text); left < 0 {
			break
		}
		author := channels.Sender{ID: cmp.Or(string(p.User), p.BotID), Name: cmp.Or(c.people.nameOf(string(p.User)), markup.Name(p.Username)), Bot: p.BotID != ""}
		quotes = append([]channels.Quote{{MessageID: p.TS, Text: text, Author: author, Untrusted: true}}, quotes...)
	}
	return quotes
}
