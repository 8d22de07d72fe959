// Package sessionkeys identifies where a conversation is, which agent answers it,
// and whose child it is.
//
// A [Key] is a pure function of an agent and an [Address]. Its text form is
// what people read in logs and what the store keeps; its [Key.Token] is what
// subjects, file names and other places with an alphabet of their own use. A
// key routes. It never authorises: permissions are decided from the
// record behind the key, never from its text.
//
// The grammar, which [Parse] and [Key.String] undo in both directions:
//
//	key      = main / sub
//	main     = agent ":" field ":" channel ":" kind ":" field [ ":thread:" field ]
//	sub      = "agent:" agent ":sub:" depth ":" key       ; the parent is the whole rest
//	agent    = [a-z0-9][a-z0-9_-]{0,31}, not "agent"
//	channel  = [a-z][a-z0-9-]{0,31}, none of "agent", "sub", "dm", "group",
//	           "channel", "thread"                        ; the network's name
//	kind     = "dm" | "group" | "channel"
//	depth    = 1..8, = depth(parent)+1
//	field    = 1..255 bytes, of which 0x21..0x7E except ":" and "%" stand as
//	           they are and every other byte as %XX in upper case
//
// The fields of a main key are the bot account's stable id, and the chat's. No
// case is folded and no Unicode is normalised: there are networks whose ids care.
// Which networks exist the grammar does not know; it only takes no name that reads
// as one of its own words.
package sessionkeys

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Limits of the grammar.
const (
	MaxName  = 32  // bytes of the name of an agent or a network
	MaxField = 255 // bytes of one field, before escaping
	MaxDepth = 8   // children of children
)

// maxText is more than the longest key has, so that a hostile text is refused
// before it is taken apart.
const maxText = 4096

// ErrInvalid is the kind of every error of this package: the text is not a
// key, or the address cannot become one. The caller refuses what it was about
// to route; trying again cannot help.
var ErrInvalid = errors.New("invalid session key")

// Kind describes what sort of place a conversation is.
type Kind string

// The kinds of places.
const (
	DM      Kind = "dm"
	Group   Kind = "group"
	Channel Kind = "channel"
)

// Address is one place on one network as one bot account sees it. The adapter
// fills it from what the network calls stable: never from a display name.
type Address struct {
	Channel string `json:"channel"`          // the network's name, for which see CheckChannel
	Account string `json:"account"`          // the network's own stable id of the bot account
	Kind    Kind   `json:"kind"`             // DM, Group or Channel
	Peer    string `json:"peer"`             // the chat: a person for DM, else the group's id
	Thread  string `json:"thread,omitempty"` // topic or thread inside the chat; empty: none
}

// Key is a well-formed session key. The zero Key is none. Keys compare with ==
// and may be used as map keys.
type Key struct{ text string }

// For gives the key under which agent answers at a. It returns ErrInvalid when
// the agent's or the network's name is bad, or a part of a other than Thread is
// empty, or one is longer than [MaxField], or its kind is none of those above.
func For(agent string, a Address) (Key, error) {
	if err := CheckAgent(agent); err != nil {
		return Key{}, err
	}
	if err := CheckChannel(a.Channel); err != nil {
		return Key{}, err
	}
	if !isKind(a.Kind) {
		return Key{}, fmt.Errorf("%w: unknown kind %s", ErrInvalid, quote(string(a.Kind)))
	}
	var b strings.Builder
	b.WriteString(agent)
	b.WriteByte(':')
	if err := escape(&b, "account", a.Account); err != nil {
		return Key{}, err
	}
	b.WriteString(":" + a.Channel + ":" + string(a.Kind) + ":")
	if err := escape(&b, "peer", a.Peer); err != nil {
		return Key{}, err
	}
	if a.Thread != "" {
		b.WriteString(":thread:")
		if err := escape(&b, "thread", a.Thread); err != nil {
			return Key{}, err
		}
	}
	return Key{b.String()}, nil
}

// Parse reads the text form. Exactly the texts that some key's String returns
// are accepted: an unneeded or lower-case escape is an error.
func Parse(s string) (Key, error) {
	if len(s) > maxText {
		return Key{}, fmt.Errorf("%w: %d bytes are more than any key has", ErrInvalid, len(s))
	}
	rest := s
	var depths []int
	for strings.HasPrefix(rest, "agent:") {
		parts := strings.SplitN(rest, ":", 5)
		if len(parts) != 5 || parts[2] != "sub" {
			return Key{}, fmt.Errorf("%w: %s is not agent:<agent>:sub:<depth>:<parent>", ErrInvalid, quote(rest))
		}
		if err := CheckAgent(parts[1]); err != nil {
			return Key{}, err
		}
		d, err := strconv.Atoi(parts[3])
		if err != nil || d < 1 || d > MaxDepth || strconv.Itoa(d) != parts[3] {
			return Key{}, fmt.Errorf("%w: depth %s is not 1..%d", ErrInvalid, quote(parts[3]), MaxDepth)
		}
		depths = append(depths, d)
		rest = parts[4]
	}
	for i, d := range depths {
		if d != len(depths)-i {
			return Key{}, fmt.Errorf("%w: depth %d stands where %d belongs", ErrInvalid, d, len(depths)-i)
		}
	}
	if err := checkMain(rest); err != nil {
		return Key{}, err
	}
	return Key{s}, nil
}

func checkMain(s string) error {
	parts := strings.Split(s, ":")
	if len(parts) != 5 && len(parts) != 7 {
		return fmt.Errorf("%w: %s has %d parts, not 5 or 7", ErrInvalid, quote(s), len(parts))
	}
	if err := CheckAgent(parts[0]); err != nil {
		return err
	}
	if err := CheckChannel(parts[2]); err != nil {
		return err
	}
	if !isKind(Kind(parts[3])) {
		return fmt.Errorf("%w: unknown kind %s", ErrInvalid, quote(parts[3]))
	}
	if _, err := unescape("account", parts[1]); err != nil {
		return err
	}
	if _, err := unescape("peer", parts[4]); err != nil {
		return err
	}
	if len(parts) == 5 {
		return nil
	}
	if parts[5] != "thread" {
		return fmt.Errorf("%w: %s stands where thread belongs", ErrInvalid, quote(parts[5]))
	}
	_, err := unescape("thread", parts[6])
	return err
}

// String returns the text form: printable ASCII without spaces. With the ids that
// the networks really give it has about a hundred bytes; hostile ones, in which
// every byte is escaped, and eight levels of children stay below 3 KiB.
func (k Key) String() string { return k.text }

// IsZero reports whether k is no key.
func (k Key) IsZero() bool { return k.text == "" }

// MarshalText returns the text form, for JSON and logs.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.text), nil }

// UnmarshalText reads the text form as Parse does; empty text is the zero Key.
func (k *Key) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*k = Key{}
		return nil
	}
	p, err := Parse(string(b))
	if err != nil {
		return err
	}
	*k = p
	return nil
}

// Child returns the key of a child that agent runs for k. Siblings share it: what
// tells them apart is their [SessionID]. It returns ErrInvalid for a bad agent
// name, for the zero Key, and for a child that would stand deeper than MaxDepth.
func (k Key) Child(agent string) (Key, error) {
	if k.IsZero() {
		return Key{}, fmt.Errorf("%w: a child of no key", ErrInvalid)
	}
	if err := CheckAgent(agent); err != nil {
		return Key{}, err
	}
	d := k.Depth() + 1
	if d > MaxDepth {
		return Key{}, fmt.Errorf("%w: a child would stand at depth %d of at most %d", ErrInvalid, d, MaxDepth)
	}
	return Key{"agent:" + agent + ":sub:" + strconv.Itoa(d) + ":" + k.text}, nil
}

// Parent returns the key that k is a child of, and false for a main key.
func (k Key) Parent() (Key, bool) {
	if !strings.HasPrefix(k.text, "agent:") {
		return Key{}, false
	}
	return Key{strings.SplitN(k.text, ":", 5)[4]}, true
}

// Root returns the main key at the top: k itself when it is no child.
func (k Key) Root() Key {
	for {
		p, ok := k.Parent()
		if !ok {
			return k
		}
		k = p
	}
}

// Depth returns how many parents stand above k. It is what the text says; rights
// come from the session's row, never from here.
func (k Key) Depth() int {
	d := 0
	for p, ok := k.Parent(); ok; p, ok = p.Parent() {
		d++
	}
	return d
}

// Agent returns the name of the agent that answers at k.
func (k Key) Agent() string {
	if k.IsZero() {
		return ""
	}
	if _, child := k.Parent(); child {
		return strings.SplitN(k.text, ":", 3)[1]
	}
	return k.text[:strings.IndexByte(k.text, ':')]
}

// Address returns the place of the conversation at the top of k.
func (k Key) Address() Address {
	if k.IsZero() {
		return Address{}
	}
	parts := strings.Split(k.Root().text, ":")
	field := func(s string) string { v, _ := unescape("", s); return v }
	a := Address{Channel: parts[2], Account: field(parts[1]), Kind: Kind(parts[3]), Peer: field(parts[4])}
	if len(parts) == 7 {
		a.Thread = field(parts[6])
	}
	return a
}

// Token returns the first 128 bits of a hash of k as 32 lower-case hex digits: safe
// in subjects, file names and keys of other stores, and telling nothing of
// whom it names.
func (k Key) Token() string { return hashToken("session-key-v1\x00" + k.text) }

func hashToken(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// CheckAgent returns ErrInvalid when s is no name that an agent may have in a key.
func CheckAgent(s string) error {
	ok := len(s) >= 1 && len(s) <= MaxName && s != "agent"
	for i := 0; ok && i < len(s); i++ {
		c := s[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && (c == '_' || c == '-')
	}
	if !ok {
		return fmt.Errorf("%w: agent %s is not [a-z0-9][a-z0-9_-]{0,31} or is the reserved word", ErrInvalid, quote(s))
	}
	return nil
}

// CheckChannel returns ErrInvalid when s is no name that a network may have in a key.
func CheckChannel(s string) error {
	ok := len(s) >= 1 && len(s) <= MaxName
	for i := 0; ok && i < len(s); i++ {
		c := s[i]
		ok = c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '-')
	}
	if !ok || isReserved(s) {
		return fmt.Errorf("%w: network %s is not [a-z][a-z0-9-]{0,31} or is a reserved word", ErrInvalid, quote(s))
	}
	return nil
}

// isReserved reports whether s is a word of the grammar.
func isReserved(s string) bool {
	return s == "agent" || s == "sub" || s == "thread" || isKind(Kind(s))
}

func isKind(k Kind) bool { return k == DM || k == Group || k == Channel }

// quote shows a stranger's text in an error: bounded and without control
// characters.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
