package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"parley/channels"
	"parley/sessionkeys"
)

// generalTopic is the topic every forum has. Telegram Bot API: its id must not
// be given when sending, and must be given to show a chat action in it.
const generalTopic = "1"

// Send sends one message. When Telegram refuses its entities it is sent as
// plain text, and when its topic is gone or closed, outside of it; both only after a
// refusal, so the message never arrives twice. Every other failure is the
// caller's to repeat or not.
func (c *Channel) Send(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	if private, ok := strings.CutPrefix(r.ReplyTo, channels.PrivateReplyPrefix); ok {
		return c.sendEphemeral(ctx, r, private)
	}
	receipt, _, err := c.send(ctx, r, final)
	return receipt, err
}

// send is Send. It says whether what was sent reads as r.Body does.
func (c *Channel) send(ctx context.Context, r channels.Reply, k class) (_ channels.Receipt, asIs bool, err error) {
	const method = "sendMessage"
	chat, thread, err := parseAddress(method, r.To)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	p := &bot.SendMessageParams{
		ChatID: chat, Text: r.Body.Text, Entities: entitiesOf(r.Body), LinkPreviewOptions: noPreview(), ReplyMarkup: keyboardOf(r.Body),
	}
	if r.Repeat {
		p.Text, p.Entities = markRepeat(p.Text, p.Entities)
	}
	if r.To.Thread != generalTopic {
		p.MessageThreadID = thread
	}
	if r.ReplyTo != "" {
		id, err := strconv.Atoi(r.ReplyTo)
		if err != nil {
			return channels.Receipt{}, false, refusedError(method, "the id of the message to answer is not a number")
		}
		p.ReplyParameters = &models.ReplyParameters{MessageID: id, AllowSendingWithoutReply: true}
	}
	for asIs = !r.Repeat; ; {
		result, err := c.callInChat(ctx, method, callTarget{chat, thread}, k, p)
		switch {
		case err == nil:
			sent, err := receipt(method, result)
			return sent, asIs, err
		case len(p.Entities) > 0 && isEntityError(err):
			c.o.Log.Warn("telegram refused entities, plain text sent", "error", err)
			p.Entities, asIs = nil, false
		case p.MessageThreadID != 0 && isTopicGone(err):
			c.o.Log.Warn("topic deleted, message sent outside of it", "error", err)
			p.MessageThreadID = 0
		case (p.MessageThreadID != 0 || p.ReplyParameters != nil) && isTopicClosed(err):
			c.o.Log.Warn("topic closed, message sent outside of it", "error", err)
			p.MessageThreadID, p.ReplyParameters = 0, nil
		default:
			return channels.Receipt{}, false, err
		}
	}
}

// receipt reads the id of the message that was sent. An answer that says yes
// but cannot be read leaves a message whose id nobody knows.
func receipt(method string, result json.RawMessage) (channels.Receipt, error) {
	var sent struct {
		MessageID int64 `json:"message_id"`
	}
	if err := json.Unmarshal(result, &sent); err != nil || sent.MessageID == 0 {
		return channels.Receipt{}, &channels.Error{
			Kind: channels.Ambiguous, Op: method, Status: http.StatusOK, Message: "the answer has no message id",
		}
	}
	return channels.Receipt{MessageID: strconv.FormatInt(sent.MessageID, 10)}, nil
}

// edit changes a message. It says whether that reads as b does.
func (c *Channel) edit(ctx context.Context, to sessionkeys.Address, messageID string, b channels.Body, k class) (asIs bool, err error) {
	const method = "editMessageText"
	chat, thread, err := parseAddress(method, to)
	if err != nil {
		return false, err
	}
	id, err := strconv.Atoi(messageID)
	if err != nil {
		return false, refusedError(method, "the id of the message is not a number")
	}
	p := &bot.EditMessageTextParams{
		ChatID: chat, MessageID: id, Text: b.Text, Entities: entitiesOf(b), LinkPreviewOptions: noPreview(), ReplyMarkup: keyboardOf(b),
	}
	for asIs = true; ; {
		_, err := c.callInChat(ctx, method, callTarget{chat, thread}, k, p)
		switch {
		case err == nil, hasErrorText(err, "message is not modified"):
			return asIs, nil
		case len(p.Entities) > 0 && isEntityError(err):
			p.Entities, asIs = nil, false
		default:
			return false, err
		}
	}
}

// ShowTyping shows that the bot is writing, for TypingDuration, when there is room for it;
// otherwise it fails as RateLimit, and nothing was called.
func (c *Channel) ShowTyping(ctx context.Context, to sessionkeys.Address) error {
	const method = "sendChatAction"
	chat, thread, err := parseAddress(method, to)
	if err != nil {
		return err
	}
	_, err = c.callInChat(ctx, method, callTarget{chat, thread}, typing, &bot.SendChatActionParams{ChatID: chat, MessageThreadID: thread, Action: models.ChatActionTyping})
	return err
}

// parseAddress reads the numbers of an address.
func parseAddress(method string, a sessionkeys.Address) (chat int64, thread int, err error) {
	if a.Channel != Network {
		return 0, 0, refusedError(method, "the address is of another network")
	}
	chat, err = strconv.ParseInt(a.Peer, 10, 64)
	if err != nil || chat == 0 {
		return 0, 0, refusedError(method, "the id of the chat is not a number")
	}
	if a.Thread != "" {
		if thread, err = strconv.Atoi(a.Thread); err != nil {
			return 0, 0, refusedError(method, "the id of the topic is not a number")
		}
	}
	return chat, thread, nil
}

// entitiesOf reads what Render stored. Markup that cannot be read is dropped:
// the text says the same.
func entitiesOf(b channels.Body) []models.MessageEntity {
	var es []models.MessageEntity
	if len(b.Markup) == 0 || json.Unmarshal(b.Markup, &es) != nil {
		return nil
	}
	return es
}

// keyboardOf returns the buttons of a message, side by side; nil: it has none, and an edit
// takes away those that were there. (Bot API: InlineKeyboardButton, callback_data of 1 to 64
// bytes)
func keyboardOf(b channels.Body) models.ReplyMarkup {
	if len(b.Choices) == 0 {
		return nil
	}
	var row []models.InlineKeyboardButton
	for _, c := range b.Choices {
		row = append(row, models.InlineKeyboardButton{Text: c.Label, CallbackData: c.Says})
	}
	return models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{row}}
}

func noPreview() *models.LinkPreviewOptions {
	return &models.LinkPreviewOptions{IsDisabled: bot.True()}
}

func refusedError(method, why string) error {
	return &channels.Error{Kind: channels.Refused, Op: method, Message: why}
}

func isTopicGone(err error) bool {
	return hasErrorText(err, "message thread not found") || hasErrorText(err, "topic_deleted")
}

// isTopicClosed: only administrators write there, until it is opened again. What
// answers a message of the topic goes there too.
func isTopicClosed(err error) bool { return hasErrorText(err, "topic_closed") }

// isEntityError: "can't parse entities", ENTITY_BOUNDS_INVALID and the like.
func isEntityError(err error) bool { return hasErrorText(err, "entit") }

// hasErrorText reports whether Telegram refused a request with these words. It has no
// finer codes than 400.
func hasErrorText(err error, words string) bool {
	var e *channels.Error
	return errors.As(err, &e) && e.Status == http.StatusBadRequest && strings.Contains(strings.ToLower(e.Message), words)
}
