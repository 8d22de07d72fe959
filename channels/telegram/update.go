package telegram

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/channels/internal/exchange"
)

// The parts of updates that parley reads. They are few on purpose: whatever
// Telegram adds or changes elsewhere cannot make an update unreadable.

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
}

type chat struct {
	ID         int64  `json:"id"`
	Type       string `json:"type"`
	Title      string `json:"title"`
	IsForum    bool   `json:"is_forum"`
	ToAChannel bool   `json:"is_direct_messages"` // what many people write to a channel, each alone

	FirstName string `json:"first_name"` // of a direct chat
	LastName  string `json:"last_name"`
}

type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"`
}

type message struct {
	MessageID   int64 `json:"message_id"`
	EphemeralID int64 `json:"ephemeral_message_id"` // one person sees it; its MessageID is 0
	ThreadID    int64 `json:"message_thread_id"`
	IsTopic     bool  `json:"is_topic_message"`

	From       *user `json:"from"`
	SenderChat *chat `json:"sender_chat"`
	Chat       chat  `json:"chat"`
	Date       int64 `json:"date"`
	EditDate   int64 `json:"edit_date"`
	Forwarded  bool  `json:"is_automatic_forward"`

	Text            string          `json:"text"`
	Entities        []entity        `json:"entities"`
	Caption         string          `json:"caption"`
	CaptionEntities []entity        `json:"caption_entities"`
	ReplyTo         json.RawMessage `json:"reply_to_message"`
	External        json.RawMessage `json:"external_reply"`
	Quote           *quotation      `json:"quote"`
	Origin          *origin         `json:"forward_origin"`
	Album           string          `json:"media_group_id"`

	MigrateTo   int64 `json:"migrate_to_chat_id"`
	MigrateFrom int64 `json:"migrate_from_chat_id"`

	Photo     []file `json:"photo"`
	Document  *file  `json:"document"`
	Animation *file  `json:"animation"`
	Audio     *file  `json:"audio"`
	Video     *file  `json:"video"`
	VideoNote *file  `json:"video_note"`
	Voice     *file  `json:"voice"`
	Sticker   *file  `json:"sticker"`

	Keyboard json.RawMessage `json:"reply_markup"`

	raw json.RawMessage // all of it
}

// quotation is the part of a message that is answered.
type quotation struct {
	Text   string `json:"text"`
	Chosen bool   `json:"is_manual"`
}

// externalReply is an answer to a message of another chat or topic.
type externalReply struct {
	Origin *origin `json:"origin"`
	Chat   *chat   `json:"chat"`
	ID     int64   `json:"message_id"`
}

// origin is where a message was first written: a MessageOrigin of the Bot API.
type origin struct {
	Type      string `json:"type"`
	User      *user  `json:"sender_user"`      // user
	Name      string `json:"sender_user_name"` // hidden_user
	Sender    *chat  `json:"sender_chat"`      // chat
	Chat      *chat  `json:"chat"`             // channel
	Signature string `json:"author_signature"` // chat, channel
}

type file struct {
	FileID   string `json:"file_id"`
	FileName string `json:"file_name"`
	MimeType string `json:"mime_type"`
	FileSize int64  `json:"file_size"`
	Duration int64  `json:"duration"` // in seconds
}

type callbackQuery struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"` // date 0: no longer accessible
	Data    string   `json:"data"`
}

type memberUpdated struct {
	Chat chat   `json:"chat"`
	From user   `json:"from"`
	Date int64  `json:"date"`
	New  member `json:"new_chat_member"`
}

type member struct {
	Status  string `json:"status"`
	Member  *bool  `json:"is_member"`         // of a restricted one
	CanSend *bool  `json:"can_send_messages"` // of a restricted one
}

// isClosed reports whether the bot can no longer write to the chat. In a private
// chat "kicked" means that the person blocked the bot.
func (m member) isClosed() bool {
	switch m.Status {
	case "left", "kicked":
		return true
	case "restricted":
		return m.Member != nil && !*m.Member || m.CanSend != nil && !*m.CanSend
	}
	return false
}

// peekID reads an update's id and nothing else. An id out of range counts as
// none: a negative offset would make Telegram forget everything.
func peekID(raw json.RawMessage) (int64, bool) {
	var u struct {
		ID *int64 `json:"update_id"`
	}
	if json.Unmarshal(raw, &u) != nil || u.ID == nil || *u.ID <= 0 || *u.ID == math.MaxInt64 {
		return 0, false
	}
	return *u.ID, true
}

// eventID returns the update's id, or for an update without one a hash of it, so
// that a redelivered event is known again either way.
func eventID(raw json.RawMessage, id int64, known bool) string {
	if known {
		return strconv.FormatInt(id, 10)
	}
	sum := sha256.Sum256(raw)
	return "sha256-" + hex.EncodeToString(sum[:16])
}

// updateKind names what an update is about: its one field beside the id.
func updateKind(fields map[string]json.RawMessage) string {
	var kinds []string
	for k := range fields {
		if k != "update_id" {
			kinds = append(kinds, k)
		}
	}
	slices.Sort(kinds)
	if len(kinds) == 0 {
		return ""
	}
	for _, k := range kinds {
		if slices.Contains(allowed[:], k) {
			return k
		}
	}
	return kinds[0]
}

// isGarbled reports whether an answer came whole and with success, but is not JSON.
func isGarbled(x *exchange.Exchange) bool {
	return x.Whole && x.Status == 200 && !json.Valid(x.Body)
}

// only makes of an answer to a poll for one update, which is garbled or too
// large, that update. Where the answer shows no id, next is taken, the least it
// can be. If it is a greater one the update comes again, and next moves by one
// each time: it passes this update and no other. What does not begin like an
// answer of the Bot API, as of a proxy, holds no update, and passes none.
func only(x *exchange.Exchange, next int64) (json.RawMessage, bool) {
	spoilt := isGarbled(x) || x.TooLarge && x.Status == 200
	if !spoilt || !answerBegins.Match(x.Body) {
		return nil, false
	}
	return garbledUpdate(x.Body, next)
}

var answerBegins = regexp.MustCompile(`^\s*\{\s*"ok"\s*:\s*true\b`)

var shownID = regexp.MustCompile(`"update_id"\s*:\s*([0-9]{1,18})\b`)

// garbledUpdate makes an update of text that is none: an object with the text and its
// id, or next where it does not show one. It is false where both are missing;
// the object then has no id.
func garbledUpdate(text []byte, next int64) (json.RawMessage, bool) {
	fields := map[string]any{"garbled": strings.ToValidUTF8(string(text[:min(len(text), exchange.MaxGarbled)]), "\uFFFD")}
	id := next
	if found := shownID.FindAllSubmatch(text, 2); len(found) == 1 {
		id, _ = strconv.ParseInt(string(found[0][1]), 10, 64) // 18 digits fit
	}
	if id > 0 {
		fields["update_id"] = id
	}
	raw, err := json.Marshal(fields)
	return raw, err == nil && id > 0
}

// asJSON returns an update as a request brought it, or made one.
func asJSON(raw []byte) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	raw, _ = garbledUpdate(raw, 0)
	return raw
}
