package signal

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	"parley/channels"
	"parley/sessionkeys"
)

// maxEmoji is more runes than any emoji has.
const maxEmoji = 12

// CheckReactions says what is wrong with the reactions of an account.
func CheckReactions(r channels.Reactions) error {
	for _, e := range []string{r.Working, r.Done} {
		if e != "" && !isEmoji(e) {
			return fmt.Errorf("%q is not one emoji", e)
		}
	}
	return nil
}

// isEmoji reports whether s may be an emoji: no letters, no blanks, and not long.
func isEmoji(s string) bool {
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsSpace(r) || unicode.IsControl(r) {
			return false
		}
	}
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxEmoji && utf8.RuneLen([]rune(s)[len([]rune(s))-1]) > 1
}

// React puts a reaction on a message. To Signal it is a message to everybody in the chat
// and counts as one, so none is sent while Signal has said that it is too much, nor before
// a message has got through after that.
func (c *Channel) React(ctx context.Context, to sessionkeys.Address, messageID string, s channels.Stage) error {
	const op = "sendReaction"
	emoji, remove := c.o.Reactions.At(s), false
	if emoji == "" {
		emoji, remove = c.o.Reactions.Working, true
		if s == channels.Working || emoji == "" { // nothing is there
			return nil
		}
	}
	t, err := recipientParams(op, to)
	if err != nil {
		return err
	}
	at, author, ok := parseMessageID(messageID)
	if !ok {
		return refusedError(op, "the id of the message is none of Signal's")
	}
	if err := c.waits.Check(op, "", to.Peer); err != nil {
		return err
	}
	if c.floods.isFlooded() || c.maybeOffline.Load() {
		return &channels.Error{Kind: channels.RateLimit, Op: op, RetryAfter: c.o.Flood, Message: "messages go first, which do not get through"}
	}
	p := c.params(t)
	p["emoji"], p["targetAuthor"], p["targetTimestamp"] = emoji, author, at
	if remove {
		p["remove"] = true
	}
	raw, err := c.call(ctx, op, p)
	var result sendResult
	var e *channels.Error
	switch {
	case err != nil:
		e = c.channelError(op, err)
	case json.Unmarshal(raw, &result) == nil && !result.reachedAny():
		e = &channels.Error{Op: op}
		c.classifyResults(e, result)
	default:
		return nil
	}
	c.noteFailure(to, e, result)
	return e
}
