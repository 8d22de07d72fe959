package telegram

import "encoding/json"

// Wire types follow the object descriptions of the Bot API, as far as the
// simulator produces them.

type wireUser struct {
	ID                      int64  `json:"id"`
	IsBot                   bool   `json:"is_bot"`
	FirstName               string `json:"first_name"`
	LastName                string `json:"last_name,omitempty"`
	Username                string `json:"username,omitempty"`
	LanguageCode            string `json:"language_code,omitempty"`
	CanJoinGroups           *bool  `json:"can_join_groups,omitempty"`
	CanReadAllGroupMessages *bool  `json:"can_read_all_group_messages,omitempty"`
	SupportsInlineQueries   *bool  `json:"supports_inline_queries,omitempty"`
	CanConnectToBusiness    *bool  `json:"can_connect_to_business,omitempty"`
	HasMainWebApp           *bool  `json:"has_main_web_app,omitempty"`
	HasTopicsEnabled        *bool  `json:"has_topics_enabled,omitempty"`
}

type wireChat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Title     string `json:"title,omitempty"`
	Username  string `json:"username,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

// Entity is a special stretch of a text. Offset and Length count UTF-16 code
// units.
type Entity struct {
	Type          string    `json:"type"`
	Offset        int       `json:"offset"`
	Length        int       `json:"length"`
	URL           string    `json:"url,omitempty"`
	User          *wireUser `json:"user,omitempty"`
	Language      string    `json:"language,omitempty"`
	CustomEmojiID string    `json:"custom_emoji_id,omitempty"`
}

type wireFile struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	FileSize     int64  `json:"file_size,omitempty"`
	FilePath     string `json:"file_path,omitempty"`
	FileName     string `json:"file_name,omitempty"`
	MIMEType     string `json:"mime_type,omitempty"`
	Width        int    `json:"width,omitempty"`
	Height       int    `json:"height,omitempty"`
	Duration     *int   `json:"duration,omitempty"`
	Type         string `json:"type,omitempty"`
	IsAnimated   *bool  `json:"is_animated,omitempty"`
	IsVideo      *bool  `json:"is_video,omitempty"`
}

type wireQuote struct {
	Text     string `json:"text"`
	Position int    `json:"position"`
	IsManual bool   `json:"is_manual,omitempty"`
}

type wireOrigin struct {
	Type       string    `json:"type"`
	Date       int64     `json:"date"`
	SenderUser *wireUser `json:"sender_user,omitempty"`
	Chat       *wireChat `json:"chat,omitempty"`
	MessageID  int64     `json:"message_id,omitempty"`
}

type wireTopic struct {
	Name      string `json:"name"`
	IconColor int    `json:"icon_color"`
}

type wireMessage struct {
	MessageID          int64           `json:"message_id"`
	EphemeralID        int64           `json:"ephemeral_message_id,omitempty"`
	Receiver           *wireUser       `json:"receiver_user,omitempty"`
	MessageThreadID    int64           `json:"message_thread_id,omitempty"`
	From               *wireUser       `json:"from,omitempty"`
	SenderChat         *wireChat       `json:"sender_chat,omitempty"`
	Date               int64           `json:"date"`
	Chat               wireChat        `json:"chat"`
	ForwardOrigin      *wireOrigin     `json:"forward_origin,omitempty"`
	IsTopicMessage     bool            `json:"is_topic_message,omitempty"`
	IsAutomaticForward bool            `json:"is_automatic_forward,omitempty"`
	ReplyTo            *wireMessage    `json:"reply_to_message,omitempty"`
	Quote              *wireQuote      `json:"quote,omitempty"`
	EditDate           int64           `json:"edit_date,omitempty"`
	MediaGroupID       string          `json:"media_group_id,omitempty"`
	Text               string          `json:"text,omitempty"`
	Entities           []Entity        `json:"entities,omitempty"`
	Photo              []wireFile      `json:"photo,omitempty"`
	Document           *wireFile       `json:"document,omitempty"`
	Voice              *wireFile       `json:"voice,omitempty"`
	Audio              *wireFile       `json:"audio,omitempty"`
	Video              *wireFile       `json:"video,omitempty"`
	Sticker            *wireFile       `json:"sticker,omitempty"`
	Caption            string          `json:"caption,omitempty"`
	CaptionEntities    []Entity        `json:"caption_entities,omitempty"`
	TopicCreated       *wireTopic      `json:"forum_topic_created,omitempty"`
	MigrateToChatID    int64           `json:"migrate_to_chat_id,omitempty"`
	MigrateFromChatID  int64           `json:"migrate_from_chat_id,omitempty"`
	ReplyMarkup        json.RawMessage `json:"reply_markup,omitempty"`
}

// wireInaccessible is a message that the bot can no longer see: its date is 0.
type wireInaccessible struct {
	Chat      wireChat `json:"chat"`
	MessageID int64    `json:"message_id"`
	Date      int64    `json:"date"`
}

type wireCallback struct {
	ID           string   `json:"id"`
	From         wireUser `json:"from"`
	Message      any      `json:"message,omitempty"`
	ChatInstance string   `json:"chat_instance"`
	Data         string   `json:"data,omitempty"`
}

type wireMember struct {
	User      wireUser `json:"user"`
	Status    string   `json:"status"`
	UntilDate *int64   `json:"until_date,omitempty"`
	IsMember  *bool    `json:"is_member,omitempty"`
	CanSend   *bool    `json:"can_send_messages,omitempty"`
}

type wireMemberUpdated struct {
	Chat wireChat   `json:"chat"`
	From wireUser   `json:"from"`
	Date int64      `json:"date"`
	Old  wireMember `json:"old_chat_member"`
	New  wireMember `json:"new_chat_member"`
}

func (p Person) wire() wireUser {
	u := wireUser{
		ID: p.ID, IsBot: p.IsBot, FirstName: p.FirstName, LastName: p.LastName,
		Username: p.Username, LanguageCode: p.Language,
	}
	if u.FirstName == "" {
		u.FirstName = "Person"
	}
	return u
}

func (b Bot) self() wireUser {
	u := b.Person().wire()
	u.CanJoinGroups, u.CanReadAllGroupMessages = new(true), &b.CanReadAllGroupMessages
	u.SupportsInlineQueries, u.CanConnectToBusiness, u.HasMainWebApp = new(false), new(false), new(false)
	u.HasTopicsEnabled = &b.HasTopics
	return u
}

func (c Chat) wire() wireChat {
	w := wireChat{ID: c.ID, Type: string(c.Kind), Title: c.Title, Username: c.Username}
	if c.Kind == Forum {
		w.Type, w.IsForum = string(Supergroup), true
	}
	return w
}
