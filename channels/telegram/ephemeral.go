package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"parley/channels"
	"parley/channels/internal/markup"
)

// Telegram shows a message to one person of a group (ephemeral messages, Bot API 10.2; as here since
// 10.3). A bot that is an administrator of the group may send one at any time; any other only within
// 15 seconds of what that person did. Delivery is not promised, the message may be gone after a while,
// and its message_id is 0: it is known by ephemeral_message_id and its receiver. The library does not
// know any of it. https://core.telegram.org/bots/api#ephemeral-messages-and-commands

// ephemeralMessage are the parameters of sendMessage for one person.
type ephemeralMessage struct {
	ChatID             int64                      `json:"chat_id"`
	MessageThreadID    int                        `json:"message_thread_id,omitempty"`
	Text               string                     `json:"text"`
	Entities           []models.MessageEntity     `json:"entities,omitempty"`
	LinkPreviewOptions *models.LinkPreviewOptions `json:"link_preview_options,omitempty"`
	ReplyMarkup        models.ReplyMarkup         `json:"reply_markup,omitempty"`
	For                onlyReceiver               `json:"ephemeral_message_parameters"`
}

// onlyReceiver is who alone sees a message.
type onlyReceiver struct {
	UserID int64 `json:"receiver_user_id"`
}

// ephemeralEdit are the parameters of editEphemeralMessageText. Without a keyboard the buttons go.
type ephemeralEdit struct {
	ChatID      int64  `json:"chat_id"`
	UserID      int64  `json:"receiver_user_id"`
	EphemeralID int64  `json:"ephemeral_message_id"`
	Text        string `json:"text"`
}

// personOf returns the id of whom a private message is for.
func personOf(private string) (int64, error) {
	user, _, _ := strings.Cut(private, ".")
	return strconv.ParseInt(user, 10, 64) // its caller says what it is
}

// sendEphemeral sends a message that one person of a group sees, and never outside of its topic: a
// press of its buttons names the conversation by that.
func (c *Channel) sendEphemeral(ctx context.Context, r channels.Reply, private string) (channels.Receipt, error) {
	const method = "sendMessage"
	chat, thread, err := parseAddress(method, r.To)
	if err != nil {
		return channels.Receipt{}, err
	}
	user, err := personOf(private)
	if err != nil {
		return channels.Receipt{}, refusedError(method, "the id of whom alone the message is for is not a number")
	}
	p := &ephemeralMessage{
		ChatID: chat, Text: r.Body.Text, Entities: entitiesOf(r.Body), LinkPreviewOptions: noPreview(), ReplyMarkup: keyboardOf(r.Body), For: onlyReceiver{user},
	}
	if r.Repeat {
		p.Text, p.Entities = markRepeat(p.Text, p.Entities)
	}
	if r.To.Thread != generalTopic {
		p.MessageThreadID = thread
	}
	for {
		result, err := c.callInChat(ctx, method, callTarget{chat, thread}, final, p)
		switch {
		case err == nil:
			return c.ephemeralReceipt(ctx, chat, result)
		case len(p.Entities) > 0 && isEntityError(err):
			c.o.Log.Warn("telegram refused entities, plain text sent", "error", err)
			p.Entities = nil
		default:
			return channels.Receipt{}, err
		}
	}
}

// ephemeralReceipt reads by what the message is known that was sent to one person. A server that does
// not know such messages passes over whom it is for and shows it to everybody: then it is deleted.
func (c *Channel) ephemeralReceipt(ctx context.Context, chat int64, result json.RawMessage) (channels.Receipt, error) {
	const method = "sendMessage"
	var sent struct {
		MessageID   int   `json:"message_id"`
		EphemeralID int64 `json:"ephemeral_message_id"`
	}
	switch err := json.Unmarshal(result, &sent); {
	case err != nil || sent.MessageID == 0 && sent.EphemeralID == 0:
		return channels.Receipt{}, &channels.Error{Kind: channels.Ambiguous, Op: method, Status: http.StatusOK, Message: "the answer has no message id"}
	case sent.EphemeralID != 0:
		return channels.Receipt{MessageID: strconv.FormatInt(sent.EphemeralID, 10)}, nil
	}
	_, err := c.callLibrary(ctx, "deleteMessage", func(ctx context.Context) error {
		_, err := c.bot.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: chat, MessageID: sent.MessageID})
		return err
	})
	c.o.Log.Error("Telegram server has shown everybody what was for one person, since it does not know ephemeral messages (Bot API 10.3): set questions: everybody, or another api_url", "chat", chat, "error", err)
	return channels.Receipt{}, refusedError(method, "the server shows everybody what is for one person")
}

// press is a button that was pressed, as it is answered.
type press struct {
	query string // "": none was
	alone ephemeralEdit
}

// pressOf returns what to do about a press once it was taken: of a message that one person alone sees
// the buttons go, and which of them was pressed stands in its place.
func pressOf(t *callbackQuery) press {
	p := press{query: t.ID}
	if m := t.Message; m != nil && m.EphemeralID != 0 {
		p.alone = ephemeralEdit{ChatID: m.Chat.ID, UserID: t.From.ID, EphemeralID: m.EphemeralID, Text: "(" + markup.Brief(labelIn(m.Keyboard, t.Data)) + ")"}
	}
	return p
}

// labelIn returns what stands on the button with that data; if there is none, the data.
func labelIn(keyboard json.RawMessage, data string) string {
	var k struct {
		Rows [][]struct {
			Text string `json:"text"`
			Data string `json:"callback_data"`
		} `json:"inline_keyboard"`
	}
	_ = json.Unmarshal(keyboard, &k) // what cannot be read has no label
	for _, row := range k.Rows {
		for _, b := range row {
			if b.Data == data {
				return b.Text
			}
		}
	}
	return data
}

// idOf returns the id by which an answer names the message t. If one person alone sees t, that id has
// the answer shown to them alone, too.
func idOf(t *message, by *user) string {
	if t.EphemeralID != 0 && by != nil {
		return channels.PrivateReplyToPerson(fmt.Sprintf("%d.%d", by.ID, t.EphemeralID))
	}
	return strconv.FormatInt(t.MessageID, 10)
}
