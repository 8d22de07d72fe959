package telegram

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"parley/channels"
	"parley/sessionkeys"
)

// reactionEmoji are those of which a bot may choose one:
// https://core.telegram.org/bots/api#reactiontypeemoji.
var reactionEmoji = strings.Fields(`❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡
	🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡`)

// CheckReactions reports what is wrong with the reactions of an account.
func CheckReactions(r channels.Reactions) error {
	for _, e := range []string{r.Working, r.Done} {
		if e != "" && !slices.Contains(reactionEmoji, plainEmoji(e)) {
			return fmt.Errorf("Telegram has no reaction %q for bots; it has %s", e, strings.Join(reactionEmoji, " ")) //nolint:staticcheck // a name
		}
	}
	return nil
}

// plainEmoji returns an emoji without the mark that asks for its colours, which keyboards
// add and Telegram does not know.
func plainEmoji(emoji string) string { return strings.ReplaceAll(emoji, "\ufe0f", "") }

const (
	refusedFor = 24 * time.Hour // how long a chat that took no reaction is not asked again
	maxRefused = 4096
)

// refusals are the chats that take no reactions.
type refusals struct {
	mu sync.Mutex           // guards at
	at map[string]time.Time // by chat; when it refused one
}

func (r *refusals) note(chat string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil || len(r.at) >= maxRefused {
		r.at = map[string]time.Time{}
	}
	r.at[chat] = now
}

func (r *refusals) has(chat string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.at[chat]
	return ok && !isExpired(at, now, refusedFor)
}

// React puts a reaction on a message. The admins of a group choose which may be there: a
// chat that refused one is not asked for another before a day has passed.
func (c *Channel) React(ctx context.Context, to sessionkeys.Address, messageID string, s channels.Stage) error {
	emoji := plainEmoji(c.o.Reactions.At(s))
	if emoji == "" && (s == channels.Working || c.o.Reactions.Working == "") { // nothing is there
		return nil
	}
	err := c.setReaction(ctx, to, messageID, emoji)
	if emoji != "" && s == channels.Done && isPermanent(err) && c.o.Reactions.Working != "" {
		return c.setReaction(ctx, to, messageID, "") // what is there can always be taken away
	}
	return err
}

// setReaction chooses the one reaction that the bot has on a message; empty: none.
func (c *Channel) setReaction(ctx context.Context, to sessionkeys.Address, messageID, emoji string) error {
	const method = "setMessageReaction"
	chat, thread, err := parseAddress(method, to)
	if err != nil {
		return err
	}
	id, err := strconv.Atoi(messageID)
	if err != nil {
		return refusedError(method, "the id of the message is not a number")
	}
	if emoji != "" && c.refusals.has(to.Peer, c.o.Now()) {
		return refusedError(method, "the chat takes no reactions")
	}
	p := &bot.SetMessageReactionParams{ChatID: chat, MessageID: id}
	if emoji != "" {
		p.Reaction = []models.ReactionType{{Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{Emoji: emoji}}}
	}
	_, err = c.callInChat(ctx, method, callTarget{chat, thread}, reaction, p)
	if emoji != "" && isPermanent(err) && !isMessageRefusal(err) {
		c.refusals.note(to.Peer, c.o.Now())
		c.o.Log.Info("chat refuses reactions of the bot", "chat", to.Peer, "error", err)
		return refusedError(method, "the chat takes no reactions")
	}
	return err
}

// isPermanent reports whether Telegram understood a call and will never do it.
func isPermanent(err error) bool {
	var e *channels.Error
	return errors.As(err, &e) && (e.Kind == channels.Refused || e.Kind == channels.Gone)
}

// isMessageRefusal reports whether a reaction was refused for its message: another one may
// have it.
func isMessageRefusal(err error) bool {
	return hasErrorText(err, "message to react not found") || hasErrorText(err, "message_id_invalid") || hasErrorText(err, "reactions_too_many")
}
