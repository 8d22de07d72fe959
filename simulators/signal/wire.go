package signal

import "unicode/utf16"

// The JSON of signal-cli. A field without omitempty is written as null when it
// is empty, because signal-cli does.

// wireEntry is one line of the journal, one event of the stream, and the params of
// a notification.
type wireEntry struct {
	Envelope  *wireEnvelope  `json:"envelope,omitempty"`
	Account   string         `json:"account"`
	Exception *wireException `json:"exception,omitempty"`
}

type wireException struct {
	Message string `json:"message"`
	Type    string `json:"type"`
}

type wireEnvelope struct {
	Source          *string      `json:"source"`
	SourceNumber    *string      `json:"sourceNumber"`
	SourceUUID      *string      `json:"sourceUuid"`
	SourceName      *string      `json:"sourceName"`
	SourceDevice    *int         `json:"sourceDevice"`
	Timestamp       int64        `json:"timestamp"`
	ServerReceived  int64        `json:"serverReceivedTimestamp"`
	ServerDelivered int64        `json:"serverDeliveredTimestamp"`
	DataMessage     *wireData    `json:"dataMessage,omitempty"`
	EditMessage     *wireEdit    `json:"editMessage,omitempty"`
	StoryMessage    *wireStory   `json:"storyMessage,omitempty"`
	SyncMessage     *wireSync    `json:"syncMessage,omitempty"`
	CallMessage     any          `json:"callMessage,omitempty"`
	ReceiptMessage  *wireReceipt `json:"receiptMessage,omitempty"`
	TypingMessage   *wireTyping  `json:"typingMessage,omitempty"`
}

type wireData struct {
	Timestamp          int64             `json:"timestamp"`
	Message            *string           `json:"message"`
	ExpiresInSeconds   int               `json:"expiresInSeconds"`
	IsExpirationUpdate *bool             `json:"isExpirationUpdate,omitempty"` // 0.14
	ViewOnce           *bool             `json:"viewOnce,omitempty"`
	Reaction           *wireReaction     `json:"reaction,omitempty"`
	Quote              *wireQuote        `json:"quote,omitempty"`
	Payment            *wirePayment      `json:"payment,omitempty"`
	Mentions           []wireMention     `json:"mentions,omitempty"`
	Previews           []wirePreview     `json:"previews,omitempty"`
	Attachments        []wireAttachment  `json:"attachments,omitempty"`
	Sticker            *wireSticker      `json:"sticker,omitempty"`
	RemoteDelete       *wireDelete       `json:"remoteDelete,omitempty"`
	Contacts           []wireCard        `json:"contacts,omitempty"`
	PollCreate         *wirePoll         `json:"pollCreate,omitempty"`
	TextStyles         []Style           `json:"textStyles,omitempty"`
	GroupInfo          *wireGroup        `json:"groupInfo,omitempty"`
	StoryContext       *wireStoryContext `json:"storyContext,omitempty"`
}

type wireReaction struct {
	Emoji               string  `json:"emoji"`
	TargetAuthor        string  `json:"targetAuthor"`
	TargetAuthorNumber  *string `json:"targetAuthorNumber"`
	TargetAuthorUUID    *string `json:"targetAuthorUuid"`
	TargetSentTimestamp int64   `json:"targetSentTimestamp"`
	IsRemove            bool    `json:"isRemove"`
}

type wireQuote struct {
	ID           int64        `json:"id"`
	Author       string       `json:"author"`
	AuthorNumber *string      `json:"authorNumber"`
	AuthorUUID   *string      `json:"authorUuid"`
	Text         *string      `json:"text"`
	Attachments  []wireQuoted `json:"attachments"`
}

// wireQuoted is a file of the quoted message, with the small picture of it that the
// quoting program sends along (JsonQuotedAttachment).
type wireQuoted struct {
	ContentType string          `json:"contentType"`
	Filename    *string         `json:"filename"`
	Thumbnail   *wireAttachment `json:"thumbnail,omitempty"`
}

// wireCard is JsonSharedContact, as far as people's programs fill it in.
type wireCard struct {
	Name struct {
		Nickname *string `json:"nickname"`
		Given    *string `json:"given"`
		Family   *string `json:"family"`
		Prefix   *string `json:"prefix"`
		Suffix   *string `json:"suffix"`
		Middle   *string `json:"middle"`
	} `json:"name"`
	Avatar       *wireAvatar `json:"avatar,omitempty"`
	Phone        []wirePhone `json:"phone,omitempty"`
	Organization *string     `json:"organization"`
}

type wireAvatar struct {
	Attachment wireAttachment `json:"attachment"`
	IsProfile  bool           `json:"isProfile"`
}

type wirePhone struct {
	Value string  `json:"value"`
	Type  string  `json:"type"`
	Label *string `json:"label"`
}

type wirePoll struct {
	Question      string   `json:"question"`
	AllowMultiple bool     `json:"allowMultiple"`
	Options       []string `json:"options"`
}

type wirePayment struct {
	Note    string `json:"note"`
	Receipt []byte `json:"receipt"`
}

type wireMention struct {
	Name   string  `json:"name"`
	Number *string `json:"number"`
	UUID   *string `json:"uuid"`
	Start  int     `json:"start"`
	Length int     `json:"length"`
}

type wirePreview struct {
	URL         string          `json:"url"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Image       *wireAttachment `json:"image"`
}

type wireAttachment struct {
	ContentType     string  `json:"contentType"`
	Filename        *string `json:"filename"`
	ID              *string `json:"id"`
	Size            *int64  `json:"size"`
	Width           *int    `json:"width"`
	Height          *int    `json:"height"`
	Caption         *string `json:"caption"`
	UploadTimestamp *int64  `json:"uploadTimestamp"`
}

type wireSticker struct {
	PackID    string `json:"packId"`
	StickerID int    `json:"stickerId"`
}

type wireDelete struct {
	Timestamp int64 `json:"timestamp"`
}

type wireGroup struct {
	GroupID   string  `json:"groupId"`
	GroupName *string `json:"groupName"`
	Revision  int     `json:"revision"`
	Type      string  `json:"type"` // DELIVER or UPDATE
}

type wireStoryContext struct {
	AuthorNumber  *string `json:"authorNumber"`
	AuthorUUID    *string `json:"authorUuid"`
	SentTimestamp int64   `json:"sentTimestamp"`
}

type wireEdit struct {
	TargetSentTimestamp int64     `json:"targetSentTimestamp"`
	DataMessage         *wireData `json:"dataMessage"`
}

type wireStory struct {
	AllowsReplies  bool           `json:"allowsReplies"`
	GroupID        string         `json:"groupId,omitempty"`
	TextAttachment *wireTextStory `json:"textAttachment,omitempty"`
}

type wireTextStory struct {
	Text  string `json:"text"`
	Style string `json:"style"`
}

// wireSync is {} for what signal-cli handles without telling.
type wireSync struct {
	SentMessage    *wireSent         `json:"sentMessage,omitempty"`
	BlockedNumbers []string          `json:"blockedNumbers,omitempty"`
	ReadMessages   []wireReadMessage `json:"readMessages,omitempty"`
}

type wireSent struct {
	Destination       *string   `json:"destination"`
	DestinationNumber *string   `json:"destinationNumber"`
	DestinationUUID   *string   `json:"destinationUuid"`
	EditMessage       *wireEdit `json:"editMessage,omitempty"`
	*wireData
}

type wireReadMessage struct {
	Sender       string  `json:"sender"`
	SenderNumber *string `json:"senderNumber"`
	SenderUUID   *string `json:"senderUuid"`
	Timestamp    int64   `json:"timestamp"`
}

type wireReceipt struct {
	When       int64   `json:"when"`
	IsDelivery bool    `json:"isDelivery"`
	IsRead     bool    `json:"isRead"`
	IsViewed   bool    `json:"isViewed"`
	Timestamps []int64 `json:"timestamps"`
}

type wireTyping struct {
	Action    string `json:"action"` // STARTED or STOPPED
	Timestamp int64  `json:"timestamp"`
	GroupID   string `json:"groupId,omitempty"`
}

// utf16Len counts the UTF-16 code units of s.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}
