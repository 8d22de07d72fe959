package telegram

// Person is somebody who writes: a user, or another bot.
type Person struct {
	ID        int64  `json:"id"`
	Username  string `json:"username,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	Language  string `json:"language_code,omitempty"`
	IsBot     bool   `json:"is_bot,omitempty"`
}

// Accounts that stand in for somebody else. They are never a person.
var (
	groupAnonymousBot = wireUser{ID: 1087968824, IsBot: true, FirstName: "Group", Username: "GroupAnonymousBot"}
	channelBot        = wireUser{ID: 136817688, IsBot: true, FirstName: "Channel", Username: "Channel_Bot"}
	serviceAccount    = wireUser{ID: 777000, FirstName: "Telegram"}
)

// Kind describes what sort of chat it is.
type Kind string

// The kinds of chat. A forum is a supergroup with topics.
const (
	Private    Kind = "private"
	Group      Kind = "group"
	Supergroup Kind = "supergroup"
	Forum      Kind = "forum"
	Channel    Kind = "channel"
)

// Chat is where people write. Ids follow the platform: a private chat has the
// id of its person, a group a negative id, a supergroup or channel one below
// -1000000000000.
type Chat struct {
	ID       int64  `json:"id"`
	Kind     Kind   `json:"kind"`
	Title    string `json:"title,omitempty"`
	Username string `json:"username,omitempty"`
}

// PrivateChat returns the direct conversation between p and a bot.
func PrivateChat(p Person) Chat { return Chat{ID: p.ID, Kind: Private} }

// Guise is the shape under which a message appears in a group.
type Guise string

// Guises. The empty one is the person under their own name.
const (
	// AsAnonymousAdmin hides the person behind the group itself.
	AsAnonymousAdmin Guise = "anonymous_admin"
	// AsChannel writes in the name of SayOptions.Channel.
	AsChannel Guise = "channel"
	// AsAutoForward is a post of the linked SayOptions.Channel, forwarded by
	// the platform itself.
	AsAutoForward Guise = "auto_forward"
)

// SayOptions shape a message beyond its text. The zero value is a plain
// message to the first bot.
type SayOptions struct {
	// Bot is the username of the bot a private message goes to; empty: the
	// first bot. In groups every member bot is considered.
	Bot string `json:"bot,omitempty"`
	// ReplyTo is the message id answered to; it must be known.
	ReplyTo int64 `json:"reply_to,omitempty"`
	// Quote is the part of that message that is quoted.
	Quote string `json:"quote,omitempty"`
	// Thread is the topic. In a forum 0 and 1 are the General topic.
	Thread int64 `json:"thread,omitempty"`
	// As is the guise, Channel the chat behind it.
	As      Guise `json:"as,omitempty"`
	Channel *Chat `json:"channel,omitempty"`
	// Media makes the text a caption: photo, document, voice, audio, video
	// or sticker. File is what the bot can download; FileName and MIME
	// describe it.
	Media    string `json:"media,omitempty"`
	File     []byte `json:"file,omitempty"`
	FileName string `json:"file_name,omitempty"`
	MIME     string `json:"mime,omitempty"`
	// Seconds is how long a voice, an audio or a video is, as its sender says; 0: 1.
	Seconds int `json:"seconds,omitempty"`
	// MediaGroup is the album this message belongs to.
	MediaGroup string `json:"media_group,omitempty"`
	// Mentions are names in the text without a username.
	Mentions []TextMention `json:"mentions,omitempty"`
	// Entities are added to those that a client computes from the text.
	Entities []Entity `json:"entities,omitempty"`
	// ForwardedFrom marks the message as forwarded from that user.
	ForwardedFrom *Person `json:"forwarded_from,omitempty"`
}

// TextMention is the first occurrence of Name in the text, linked to a user.
type TextMention struct {
	Name string `json:"name"`
	User Person `json:"user"`
}

// Ref names an update by bot and id.
type Ref struct {
	Bot      string `json:"bot"`
	UpdateID int64  `json:"update_id"`
}

// ActionResult is what became of something a person did. Updates is empty when no
// bot may see it (privacy mode, allowed_updates, blocked).
type ActionResult struct {
	ChatID    int64 `json:"chat_id"`
	MessageID int64 `json:"message_id,omitempty"`
	Updates   []Ref `json:"updates,omitempty"`
}
