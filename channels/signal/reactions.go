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

// CheckReactions reports what is wrong with the reactions of an account.
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
func (s *sender) React(ctx context.Context, to sessionkeys.Address, messageID string, stage channels.Stage) error {
	const op = "sendReaction"
	emoji, remove := s.o.Reactions.At(stage), false
	if emoji == "" {
		emoji, remove = s.o.Reactions.Working, true
		if stage == channels.Working || emoji == "" { // nothing is there
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
	if err := s.Waits.Check(op, "", to.Peer); err != nil {
		return err
	}
	if s.floods.isFlooded() || s.maybeOffline.Load() {
		return &channels.Error{Kind: channels.RateLimit, Op: op, RetryAfter: s.o.Flood, Message: "messages go first, which do not get through"}
	}
	p := s.params(t)
	p["emoji"], p["targetAuthor"], p["targetTimestamp"] = emoji, author, at
	if remove {
		p["remove"] = true
	}
	raw, err := s.call(ctx, op, p)
	var result sendResult
	var e *channels.Error
	switch {
	case err != nil:
		e, result = s.channelError(op, err), resultIn(err)
	case json.Unmarshal(raw, &result) == nil && !result.reachedAny():
		e = &channels.Error{Op: op}
		s.classifyResults(e, result)
	default:
		return nil
	}
	s.noteFailure(to, e, result)
	return e
}
