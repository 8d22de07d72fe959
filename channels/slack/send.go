package slack

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"parley/channels"
	"parley/sessionkeys"
)

// repeatMark stands before a message that may have arrived already, when Slack
// could not be asked.
const repeatMark = "(This may be a repeat.)\n\n"

// marker is the type of the metadata by which a message of ours is found again.
const (
	marker   = "parley_message"
	markerID = "id"
)

// blocksRefused are the words with which Slack refuses what a message looks like
// and not what it says.
var blocksRefused = []string{
	"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_many_blocks", "markdown_text_conflict", "block_mismatch", "blocks_too_large",
	"invalid_attachments", // of tables, which a markdown block may hold
	"msg_too_long",
}

// threadGone are the words with which Slack says that there is no such thread, or that it takes
// nothing: beside it the channel may.
var threadGone = []string{
	"thread_not_found", "invalid_thread_ts", "cannot_reply_to_message",
	"restricted_action_non_threadable_channel", "restricted_action_thread_locked", "thread_locked",
}

// Send sends one message. When Slack refuses its block it is sent as text, and
// when its thread is gone, outside of it; both only after a refusal, so the
// message never arrives twice. Every other failure is the caller's to repeat or
// not. The message carries Reply.ID, by which Find finds it.
func (c *Channel) Send(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	if of, ok := strings.CutPrefix(r.ReplyTo, channels.PrivateReplyPrefix); ok {
		return c.sendEphemeral(ctx, r, userOf(of))
	}
	sent, err := c.post(ctx, r)
	if err == nil {
		c.tryStopTyping(ctx, r.To)
	}
	return sent, err
}

// wordsOf returns what a reply says, as plain text and as Markdown ("": it has none), with the
// mark of a repeat.
func wordsOf(r channels.Reply) (text, markdown string) {
	text, markdown = r.Body.Text, markdownOf(r.Body)
	if r.Repeat {
		text = repeatMark + text
		if markdown != "" {
			markdown = repeatMark + markdown
		}
	}
	return text, markdown
}

// post is Send without a word about what the bot does next.
func (c *Channel) post(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	const method = "chat.postMessage"
	if err := checkAddress(method, r.To); err != nil {
		return channels.Receipt{}, err
	}
	text, markdown := wordsOf(r)
	thread := r.To.Thread
	for {
		options := append(contentOptions(text, markdown, r.Body.Choices),
			slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(), slack.MsgOptionParse(false))
		if thread != "" {
			options = append(options, slack.MsgOptionTS(thread))
		}
		if r.ID != "" {
			options = append(options, slack.MsgOptionMetadata(slack.SlackMetadata{EventType: marker, EventPayload: map[string]any{markerID: r.ID}}))
		}
		result, err := c.call(ctx, method, r.To.Peer, func(ctx context.Context) error {
			_, _, err := c.api.PostMessageContext(ctx, r.To.Peer, options...)
			return err
		})
		switch {
		case err == nil:
			c.threads.notePosted(r.To)
			c.status.clear(r.To)
			return receipt(method, result)
		case markdown != "" && hasErrorCode(err, blocksRefused...):
			c.o.Log.Warn("slack refused a block, text sent instead", "error", err)
			markdown = ""
		case thread != "" && hasErrorCode(err, threadGone...):
			c.o.Log.Warn("thread deleted or closed, message sent outside of it", "error", err)
			thread = ""
		default:
			c.ambiguous.note(r.ID, "", err)
			return channels.Receipt{}, err
		}
	}
}

// maxEdited is how many bytes chat.update takes as a text, as opposed to a block;
// chat.postMessage takes more: https://github.com/openclaw/openclaw/pull/115027
const maxEdited = 4000

// Edit changes the text of a message, and ends the growing of one that Begin
// sent. Repeating it is harmless. What Slack would take as a message only, because
// it takes no block, is refused.
func (c *Channel) Edit(ctx context.Context, to sessionkeys.Address, messageID string, b channels.Body) error {
	if err := checkAddress("chat.update", to); err != nil {
		return err
	}
	done, err := c.finishStream(ctx, to, messageID, markdownOf(b), slack.AgentSessionStatusActive)
	if err == nil && (!done || len(b.Choices) > 0) { // what ends a stream has no buttons
		err = c.update(ctx, to, messageID, b)
	}
	if err == nil {
		c.tryStopTyping(ctx, to)
	}
	return err
}

func (c *Channel) update(ctx context.Context, to sessionkeys.Address, messageID string, b channels.Body) error {
	const method = "chat.update"
	markdown, stopped := markdownOf(b), false
	for {
		text := b.Text
		switch {
		case markdown != "":
			text = truncate(text, maxEdited) // only what a notification shows
		case len(text) > maxEdited:
			return refusedError(method, "the text is too long for an edit")
		}
		// Without blocks in the call Slack would keep the ones that are there.
		options := append(contentOptions(text, markdown, b.Choices), slack.MsgOptionParse(false))
		_, err := c.call(ctx, method, to.Peer, func(ctx context.Context) error {
			_, _, _, err := c.api.UpdateMessageContext(ctx, to.Peer, messageID, options...)
			return err
		})
		switch {
		case err == nil:
			c.threads.notePosted(to)
			return nil
		case markdown != "" && hasErrorCode(err, blocksRefused...):
			markdown = ""
		case !stopped && hasErrorCode(err, "streaming_state_conflict"): // of a process that is no more
			stopped = true
			if err := c.stopStream(ctx, to, messageID, "", slack.AgentSessionStatusActive); err != nil && !isRefused(err) {
				return err
			}
		default:
			return err
		}
	}
}

// truncate is as much of mrkdwn as has at most that many bytes, whole words
// if it must be cut, and no half of an escape or a link.
func truncate(mrkdwn string, limit int) string {
	if len(mrkdwn) <= limit {
		return mrkdwn
	}
	end := limit - len("…")
	for !utf8.RuneStart(mrkdwn[end]) {
		end--
	}
	cut := mrkdwn[:end]
	if i := strings.LastIndexByte(cut, '<'); i > strings.LastIndexByte(cut, '>') {
		cut = cut[:i]
	}
	if i := strings.LastIndexFunc(cut, unicode.IsSpace); i > 0 {
		cut = cut[:i]
	} else if i := strings.LastIndexByte(cut, '&'); i > strings.LastIndexByte(cut, ';') {
		cut = cut[:i]
	}
	return strings.TrimRightFunc(cut, unicode.IsSpace) + "…"
}

// contentOptions returns what a message shows. Buttons stand under its block; a message that
// is sent as text, because Slack takes no block, says how to answer without.
func contentOptions(text, markdown string, choices []channels.Choice) []slack.MsgOption {
	options := []slack.MsgOption{slack.MsgOptionText(text, false)}
	if markdown != "" {
		blocks := []slack.Block{slack.NewMarkdownBlock("", markdown)}
		if len(choices) > 0 {
			blocks = append(blocks, slack.NewActionBlock("", buttonsOf(choices)...))
		}
		return append(options, slack.MsgOptionBlocks(blocks...))
	}
	return append(options, slack.MsgOptionBlocks([]slack.Block{}...))
}

// receipt reads the ts of the message that was sent. An answer that says yes but
// cannot be read leaves a message whose id nobody knows.
func receipt(method string, result json.RawMessage) (channels.Receipt, error) {
	var sent struct {
		TS string `json:"ts"`
	}
	if err := json.Unmarshal(result, &sent); err != nil || sent.TS == "" {
		return channels.Receipt{}, &channels.Error{
			Kind: channels.Ambiguous, Op: method, Status: http.StatusOK, Message: "the answer has no ts",
		}
	}
	return channels.Receipt{MessageID: sent.TS}, nil
}

// checkAddress checks an address.
func checkAddress(method string, a sessionkeys.Address) error {
	switch {
	case a.Channel != Network:
		return refusedError(method, "the address is of another network")
	case a.Peer == "":
		return refusedError(method, "the address names no channel")
	}
	return nil
}

// markdownOf reads what Render stored. Markup that cannot be read is dropped: the
// text says the same.
func markdownOf(b channels.Body) string {
	var f bodyMarkup
	if len(b.Markup) == 0 || json.Unmarshal(b.Markup, &f) != nil {
		return ""
	}
	return f.Markdown
}

// buttonsOf returns buttons. What one says comes back as its value. (Slack: button element,
// action_id is unique in its block)
func buttonsOf(choices []channels.Choice) (all []slack.BlockElement) {
	for i, c := range choices {
		b := slack.NewButtonBlockElement("choice-"+strconv.Itoa(i), c.Says, slack.NewTextBlockObject(slack.PlainTextType, c.Label, false, false))
		all = append(all, b)
	}
	return all
}
