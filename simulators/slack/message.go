package slack

import "encoding/json"

// wireMessage is a message as events and conversations.history show it.
type wireMessage struct {
	ClientMsgID  string          `json:"client_msg_id,omitempty"`
	Type         string          `json:"type"`
	Subtype      string          `json:"subtype,omitempty"`
	Hidden       bool            `json:"hidden,omitempty"`
	Text         string          `json:"text"`
	User         string          `json:"user,omitempty"`
	BotID        string          `json:"bot_id,omitempty"`
	AppID        string          `json:"app_id,omitempty"`
	Username     string          `json:"username,omitempty"`
	TS           string          `json:"ts"`
	Team         string          `json:"team,omitempty"`
	UserTeam     string          `json:"user_team,omitempty"`
	SourceTeam   string          `json:"source_team,omitempty"`
	BotProfile   *wireProfile    `json:"bot_profile,omitempty"`
	Blocks       json.RawMessage `json:"blocks,omitempty"`
	Attachments  json.RawMessage `json:"attachments,omitempty"`
	Files        []wireFile      `json:"files,omitempty"`
	Upload       *bool           `json:"upload,omitempty"`
	DisplayAsBot *bool           `json:"display_as_bot,omitempty"`
	Edited       *wireEdited     `json:"edited,omitempty"`
	ThreadTS     string          `json:"thread_ts,omitempty"`
	ParentUserID string          `json:"parent_user_id,omitempty"`
	Root         *wireMessage    `json:"root,omitempty"` // of a thread_broadcast
	ReplyCount   int             `json:"reply_count,omitempty"`
	ReplyUsers   []string        `json:"reply_users,omitempty"`
	ReplyUsersN  int             `json:"reply_users_count,omitempty"`
	LatestReply  string          `json:"latest_reply,omitempty"`
	IsLocked     *bool           `json:"is_locked,omitempty"`
	Subscribed   *bool           `json:"subscribed,omitempty"`
	Reactions    []wireReaction  `json:"reactions,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
	Assistant    *wireAssistant  `json:"assistant_app_thread,omitempty"`
	AppContext   json.RawMessage `json:"app_context,omitempty"`

	// Only in events.
	Message     *wireMessage `json:"message,omitempty"`          // of message_changed
	Previous    *wireMessage `json:"previous_message,omitempty"` // and message_deleted
	DeletedTS   string       `json:"deleted_ts,omitempty"`
	Channel     string       `json:"channel,omitempty"`
	EventTS     string       `json:"event_ts,omitempty"`
	ChannelType string       `json:"channel_type,omitempty"`
	Inviter     string       `json:"inviter,omitempty"`
}

type wireEdited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

type wireReaction struct {
	Name  string   `json:"name"`
	Users []string `json:"users"`
	Count int      `json:"count"`
}

type wireProfile struct {
	ID      string            `json:"id"`
	AppID   string            `json:"app_id"`
	Name    string            `json:"name"`
	Icons   map[string]string `json:"icons"`
	Deleted bool              `json:"deleted"`
	Updated int64             `json:"updated"`
	TeamID  string            `json:"team_id"`
}

// wireAssistant is the bookkeeping of an assistant thread in its first message.
type wireAssistant struct {
	Title            string          `json:"title"`
	TitleBlocks      json.RawMessage `json:"title_blocks"`
	Artifacts        []string        `json:"artifacts"`
	FirstUserThread  bool            `json:"first_user_thread_reply"`
	SuggestedPrompts json.RawMessage `json:"suggested_prompts,omitempty"`
}

// wireFile is a file object. Of a file from another workspace only ID and
// FileAccess are known until files.info is asked.
type wireFile struct {
	ID                 string `json:"id"`
	Created            int64  `json:"created,omitempty"`
	Timestamp          int64  `json:"timestamp,omitempty"`
	Name               string `json:"name,omitempty"`
	Title              string `json:"title,omitempty"`
	Mimetype           string `json:"mimetype,omitempty"`
	Filetype           string `json:"filetype,omitempty"`
	PrettyType         string `json:"pretty_type,omitempty"`
	Subtype            string `json:"subtype,omitempty"`
	DurationMS         int    `json:"duration_ms,omitempty"`
	User               string `json:"user,omitempty"`
	UserTeam           string `json:"user_team,omitempty"`
	Editable           *bool  `json:"editable,omitempty"`
	Size               int    `json:"size,omitempty"`
	Mode               string `json:"mode,omitempty"`
	IsExternal         *bool  `json:"is_external,omitempty"`
	ExternalType       string `json:"external_type,omitempty"`
	IsPublic           *bool  `json:"is_public,omitempty"`
	PublicURLShared    *bool  `json:"public_url_shared,omitempty"`
	DisplayAsBot       *bool  `json:"display_as_bot,omitempty"`
	Username           string `json:"username,omitempty"`
	URLPrivate         string `json:"url_private,omitempty"`
	URLPrivateDownload string `json:"url_private_download,omitempty"`
	MediaDisplayType   string `json:"media_display_type,omitempty"`
	Permalink          string `json:"permalink,omitempty"`
	PermalinkPublic    string `json:"permalink_public,omitempty"`
	HasRichPreview     *bool  `json:"has_rich_preview,omitempty"`
	FileAccess         string `json:"file_access,omitempty"`
	// Only in files.info.
	Channels []string `json:"channels,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	IMs      []string `json:"ims,omitempty"`
	Shares   shares   `json:"shares,omitempty"`
}

// shares say where a file is shown: public or private, by channel.
type shares map[string]map[string][]wireShare

type wireShare struct {
	ReplyUsers  []string `json:"reply_users"`
	ReplyUsersN int      `json:"reply_users_count"`
	ReplyCount  int      `json:"reply_count"`
	TS          string   `json:"ts"`
	ThreadTS    string   `json:"thread_ts,omitempty"`
	ChannelName string   `json:"channel_name,omitempty"`
	TeamID      string   `json:"team_id"`
	ShareUserID string   `json:"share_user_id"`
	Source      string   `json:"source"`
}

// event returns the message as an event brings it.
func (m *wireMessage) event(c Channel, ts string) *wireMessage {
	e := *m
	e.Metadata = nil // comes with message_metadata_posted, and with history if asked for
	e.Channel, e.ChannelType, e.EventTS = c.ID, string(c.Kind), ts
	return &e
}

// bare returns the message as it is shown inside of another.
func (m *wireMessage) bare() *wireMessage {
	b := *m
	b.Metadata, b.Root = nil, nil
	return &b
}

func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("slack simulator: encode: " + err.Error()) // own types only
	}
	return raw
}
