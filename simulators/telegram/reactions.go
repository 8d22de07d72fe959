package telegram

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/simulators/internal/stage"
)

// reactionEmoji are the emoji that may be a reaction, as the Bot API lists them:
// https://core.telegram.org/bots/api#reactiontypeemoji. None has a variation selector.
var reactionEmoji = strings.Fields(`❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡
	🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡`)

// reactionInvalid is an error of messages.sendReaction as the Bot API passes it on:
// https://core.telegram.org/method/messages.sendReaction#possible-errors.
const reactionInvalid = "REACTION_INVALID"

// AllowReactions lets only these emoji be reactions in a group; none of them: no
// reaction at all. It is Chat.available_reactions, which admins choose.
func (s *chats) AllowReactions(c Chat, emoji ...string) (err error) {
	defer stage.Act(&s.mu, &err, "allow reactions in chat %d", c.ID)()
	r := s.rooms[c.ID]
	if r == nil || c.Kind == Private {
		panic(stage.Forbid("%w", errChat))
	}
	r.reactions = append([]string{}, emoji...)
	return nil
}

// isAllowedReaction reports whether the chat takes the emoji for a reaction.
func (r *room) isAllowedReaction(emoji string) bool {
	return slices.Contains(reactionEmoji, emoji) && (r.reactions == nil || slices.Contains(r.reactions, emoji))
}

// setMessageReaction answers as tdlib/telegram-bot-api does in
// process_set_message_reaction_query and get_reaction_types: what is wrong in the
// request first, then chat and message, the reaction last.
func (c *call) setMessageReaction() any {
	emoji := reactionOf(c.args["reaction"])
	r := c.target()
	h := c.historyOf(r, c.account.bot.ID)
	st := h.messages[c.args.number("message_id")]
	if st == nil {
		panic(badRequest("message to react not found"))
	}
	st = h.firstOf(st)
	if emoji != "" && (st.message.isService() || !r.isAllowedReaction(emoji)) {
		panic(badRequest(reactionInvalid))
	}
	c.checkRate(0, r.chat.Kind)
	bot := c.account.bot.ID
	if st.reactions[bot] == emoji { // MESSAGE_NOT_MODIFIED, which tdlib takes for a success
		return true
	}
	if st.reactions == nil {
		st.reactions = map[int64]string{}
	}
	st.reactions[bot] = emoji
	c.signal(SignalEntry{
		Bot: c.account.bot.Username, Kind: "reaction", ChatID: r.chat.ID,
		ThreadID: st.message.MessageThreadID, ID: fmt.Sprint(st.message.MessageID), Text: emoji,
	})
	return true
}

// reactionOf reads the one reaction that a bot may choose; empty: none.
func reactionOf(raw string) string {
	if raw == "" || raw == "null" {
		return ""
	}
	var list []json.RawMessage
	if !json.Valid([]byte(raw)) {
		panic(badRequest("can't parse reaction types JSON object"))
	}
	if json.Unmarshal([]byte(raw), &list) != nil {
		panic(badRequest("expected an Array of ReactionType"))
	}
	var emoji []string
	for _, one := range list {
		var t struct {
			Type  *string `json:"type"`
			Emoji *string `json:"emoji"`
		}
		switch err := json.Unmarshal(one, &t); {
		case err != nil:
			panic(badRequest("can't parse ReactionType: expected an Object"))
		case t.Type == nil:
			panic(badRequest(`can't parse ReactionType: Can't find field "type"`))
		case *t.Type == "custom_emoji": // no chat of this server allows one
			panic(badRequest(reactionInvalid))
		case *t.Type != "emoji":
			panic(badRequest("can't parse ReactionType: invalid reaction type specified"))
		case t.Emoji == nil:
			panic(badRequest(`can't parse ReactionType: Can't find field "emoji"`))
		case *t.Emoji == "":
			panic(badRequest("invalid reaction type specified"))
		}
		emoji = append(emoji, *t.Emoji)
	}
	switch len(emoji) {
	case 0:
		return ""
	case 1:
		return emoji[0]
	}
	panic(badRequest("REACTIONS_TOO_MANY")) // a bot has no Premium
}

// firstOf returns the message of an album that has its reactions: the first that is there.
func (h *history) firstOf(st *storedMessage) *storedMessage {
	if st.message.MediaGroupID == "" {
		return st
	}
	for _, id := range h.order {
		if o := h.messages[id]; o != nil && o.message.MediaGroupID == st.message.MediaGroupID {
			return o
		}
	}
	return st
}

// isService reports whether nobody wrote the message: it tells what happened.
func (m *wireMessage) isService() bool {
	return m.Text == "" && m.Caption == "" && m.Photo == nil && m.Document == nil && m.Voice == nil &&
		m.Audio == nil && m.Video == nil && m.Sticker == nil
}
