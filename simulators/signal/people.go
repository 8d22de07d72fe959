package signal

import "cmp"

// Person is somebody who writes to an account. People are known by their ACI;
// the number and the name are what an account happens to know of them.
type Person struct {
	ACI    string `json:"aci"`
	Number string `json:"number,omitempty"`
	// SharesNumber lets accounts see the number; otherwise an envelope has null
	// in its place. Accounts can send to the number either way.
	SharesNumber bool `json:"shares_number,omitempty"`
	// Undiscoverable: who asks the service for the number finds nobody.
	Undiscoverable bool `json:"undiscoverable,omitempty"`
	// Name is the profile's; empty: the account has no key for the profile, and
	// the envelope's name is empty.
	Name string `json:"name,omitempty"`
	// Unsealed: what they send says on its outside who they are, as the first messages
	// of somebody do who was not given the account's profile yet. Otherwise they are a
	// sealed sender.
	Unsealed bool `json:"unsealed,omitempty"`
	// Device is the one written from; zero: the first.
	Device int `json:"device,omitempty"`
}

func (p Person) address() address {
	a := address{ACI: p.ACI}
	if p.SharesNumber {
		a.Number = p.Number
	}
	return a
}

// Chat is where people write: a group, or the direct conversation with an
// account.
type Chat struct {
	// Account is the number or ACI of the account; empty: the first. In a group
	// every account that is a member gets the message.
	Account string `json:"account,omitempty"`
	// Group is the group's id; empty: the direct conversation.
	Group string `json:"group,omitempty"`
	// Name of the group. Empty leaves the name that it has; a group without one is
	// called null, as groups are that the account has not fetched yet.
	Name string `json:"name,omitempty"`
}

// address is somebody as signal-cli names them. What is empty is null on the
// wire.
type address struct{ ACI, Number string }

// legacy returns the identifier that older fields carry: the number if it is known.
func (a address) legacy() string { return cmp.Or(a.Number, a.ACI) }

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// SayOptions shape a message beyond its text. The zero value is a plain message.
type SayOptions struct {
	// Quote is the message answered to.
	Quote *Quote `json:"quote,omitempty"`
	// Mentions are names in the text that stand for somebody: their first
	// occurrence becomes the object replacement character, which is all that an
	// envelope's text has of it.
	Mentions []Mention `json:"mentions,omitempty"`
	// Styles are ranges of the text, in UTF-16 units, after mentions were put in.
	Styles      []Style      `json:"styles,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	Previews    []Preview    `json:"previews,omitempty"`
	// Sticker makes the message a sticker: its pack's id in hexadecimal.
	Sticker  string `json:"sticker,omitempty"`
	ViewOnce bool   `json:"view_once,omitempty"`
	// Contacts, Poll and Payment make the message one of those.
	Contacts []Contact `json:"contacts,omitempty"`
	Poll     *Poll     `json:"poll,omitempty"`
	Payment  *Payment  `json:"payment,omitempty"`
	// StoryReply answers a story of the author with that timestamp.
	StoryReply *Quote `json:"story_reply,omitempty"`
	// Timestamp forces the message's id; zero: the next free one of the clock.
	Timestamp int64 `json:"timestamp,omitempty"`
}

// Quote is a message that is quoted. It need not exist, as quotes of deleted
// messages do not.
type Quote struct {
	Timestamp int64 `json:"timestamp"`
	// Author is the ACI of who wrote it.
	Author string `json:"author"`
	// Text as the quoting program remembers it; empty: what the conversation has.
	Text string `json:"text,omitempty"`
	// Thumbnail is the small picture of a file of it that people's programs send along.
	Thumbnail *Attachment `json:"thumbnail,omitempty"`
}

// Contact is a card of somebody, with their number and perhaps a picture.
type Contact struct {
	Given        string      `json:"given,omitempty"`
	Family       string      `json:"family,omitempty"`
	Number       string      `json:"number,omitempty"`
	Organization string      `json:"organization,omitempty"`
	Avatar       *Attachment `json:"avatar,omitempty"`
}

// Poll is a question with answers to choose from.
type Poll struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
	Multiple bool     `json:"multiple,omitempty"`
}

// Payment means that money was sent.
type Payment struct {
	Note string `json:"note,omitempty"`
}

// Mention is the first occurrence of Name in the text, standing for ACI.
type Mention struct {
	Name string `json:"name"`
	ACI  string `json:"aci"`
}

// Style is a range of a text. Start and Length count UTF-16 units.
type Style struct {
	// Style is BOLD, ITALIC, SPOILER, STRIKETHROUGH or MONOSPACE.
	Style  string `json:"style"`
	Start  int    `json:"start"`
	Length int    `json:"length"`
}

// Preview is a link that is shown as a card.
type Preview struct {
	URL         string `json:"url"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Image is the picture of the card.
	Image *Attachment `json:"image,omitempty"`
}

// Attachment is a file sent to an account.
type Attachment struct {
	ContentType string `json:"content_type"`
	// Filename is what the sender calls it; empty: null on the wire.
	Filename string `json:"filename,omitempty"`
	Data     []byte `json:"data,omitempty"`
	Caption  string `json:"caption,omitempty"`
	Width    int    `json:"width,omitempty"`
	Height   int    `json:"height,omitempty"`
	// Missing leaves the file out of the daemon's folder: its download failed.
	Missing bool `json:"missing,omitempty"`
}

// Ref names an envelope in an account's queue.
type Ref struct {
	Account string `json:"account"`
	ID      int64  `json:"id"`
}

// ActionResult is what became of something a person did. Timestamp and the author's ACI
// are the message's id everywhere in Signal. Envelopes is empty when no account
// may see it.
type ActionResult struct {
	Timestamp int64  `json:"timestamp"`
	Author    string `json:"author"`
	Envelopes []Ref  `json:"envelopes,omitempty"`
}
