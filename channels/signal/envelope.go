package signal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
)

// The parts of signal-cli's events that parley reads. They are few on purpose:
// whatever is added or changed elsewhere cannot make an event unreadable.

// journalEntry is one line of the journal, and one event of an attached daemon.
type journalEntry struct {
	Envelope  *envelope `json:"envelope"`
	Account   string    `json:"account"`
	Exception *struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	} `json:"exception"`
}

type envelope struct {
	Source       string `json:"source"`
	SourceNumber string `json:"sourceNumber"`
	SourceUUID   string `json:"sourceUuid"`
	SourceName   string `json:"sourceName"`
	SourceDevice int    `json:"sourceDevice"`
	Timestamp    int64  `json:"timestamp"`

	Data    *dataMessage    `json:"dataMessage"`
	Edit    *editMessage    `json:"editMessage"`
	Sync    json.RawMessage `json:"syncMessage"` // {} of what signal-cli does by itself
	Receipt json.RawMessage `json:"receiptMessage"`
	Typing  json.RawMessage `json:"typingMessage"`
	Story   json.RawMessage `json:"storyMessage"`
	Call    json.RawMessage `json:"callMessage"`
}

type editMessage struct {
	Target int64        `json:"targetSentTimestamp"`
	Data   *dataMessage `json:"dataMessage"`
}

type dataMessage struct {
	Timestamp   int64           `json:"timestamp"`
	Message     *string         `json:"message"`
	ViewOnce    bool            `json:"viewOnce"`
	Timer       bool            `json:"isExpirationUpdate"`
	Expires     int64           `json:"expiresInSeconds"`
	Quote       *quote          `json:"quote"`
	Mentions    []mention       `json:"mentions"`
	Attachments []attachment    `json:"attachments"`
	Reaction    json.RawMessage `json:"reaction"`
	Delete      *deletion       `json:"remoteDelete"`
	AdminDelete *deletion       `json:"adminDelete"` // since 0.14
	Story       json.RawMessage `json:"storyContext"`
	Group       *groupInfo      `json:"groupInfo"`
	extras
}

type groupInfo struct {
	ID   string `json:"groupId"`
	Type string `json:"type"` // DELIVER, UPDATE or QUIT
}

// deletion takes a message back: one of the sender's own, or of whom it names.
type deletion struct {
	Timestamp    int64  `json:"timestamp"`
	Target       int64  `json:"targetTimestamp"`
	TargetSent   int64  `json:"targetSentTimestamp"` // before targetTimestamp was there
	AuthorNumber string `json:"targetAuthorNumber"`
	AuthorUUID   string `json:"targetAuthorUuid"`
}

type quote struct {
	ID           int64     `json:"id"`
	Author       string    `json:"author"`
	AuthorNumber string    `json:"authorNumber"`
	AuthorUUID   string    `json:"authorUuid"`
	Text         string    `json:"text"`
	Mentions     []mention `json:"mentions"`
}

type mention struct {
	Name   string `json:"name"`
	Number string `json:"number"`
	UUID   string `json:"uuid"`
	Start  int    `json:"start"`
	Length int    `json:"length"`
}

type attachment struct {
	ContentType string `json:"contentType"`
	Filename    string `json:"filename"`
	ID          string `json:"id"`
	Size        int64  `json:"size"`
}

// longTextType is the file in which a text travels that is too long for one.
const longTextType = "text/x-signal-plain"

// hasValue reports whether a key is there with something behind it, be it {}.
func hasValue(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// hasKey reports whether a key is there at all.
func hasKey(raw json.RawMessage) bool { return len(raw) > 0 }

// eventID names an event for ever. No part but the last may hold a dot.
func eventID(sender string, device int, at int64, kind string) string {
	return strings.Join([]string{sender, strconv.Itoa(device), strconv.FormatInt(at, 10), kind}, ".")
}

// hashID names an event that has no id by what it says.
func hashID(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "sha256-" + hex.EncodeToString(sum[:16])
}

// maxGarbled is how much is kept of an event that cannot be read, in bytes.
const maxGarbled = 32 << 10

// asJSON returns an event as it came, or JSON made of one that is none.
func asJSON(raw []byte) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	out, _ := json.Marshal(map[string]string{"garbled": strings.ToValidUTF8(string(raw[:min(len(raw), maxGarbled)]), "\uFFFD")}) // strings: cannot fail
	return out
}
