package telegram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"parley/channels/internal/markup"
)

// content is what a message is made of that is neither text nor a file. A part that
// cannot be read, or of a form that Telegram has changed, is named and not described.
type content struct {
	Sticker   json.RawMessage `json:"sticker"`
	Contact   json.RawMessage `json:"contact"`
	Location  json.RawMessage `json:"location"`
	Venue     json.RawMessage `json:"venue"`
	Poll      json.RawMessage `json:"poll"`
	Dice      json.RawMessage `json:"dice"`
	Story     json.RawMessage `json:"story"`
	Checklist json.RawMessage `json:"checklist"`

	Game      json.RawMessage `json:"game"`
	Invoice   json.RawMessage `json:"invoice"`
	PaidMedia json.RawMessage `json:"paid_media"`
	Giveaway  json.RawMessage `json:"giveaway"`
	Gift      json.RawMessage `json:"gift"`
	LivePhoto json.RawMessage `json:"live_photo"`
	Rich      json.RawMessage `json:"rich_message"`
}

// describe says in words what a message is that has no text; empty: nothing came
// beside files, as in a message of the network itself about the chat.
func describe(raw json.RawMessage) string {
	c, ok := read[content](raw)
	if !ok {
		return ""
	}
	venue := len(c.Venue) > 0 // it has a location beside it
	for _, part := range []struct {
		raw  json.RawMessage
		name string
		say  func(json.RawMessage) string
	}{
		{c.Sticker, "a sticker", sayEmoji},
		{c.Dice, "a dice", sayDice},
		{c.Contact, "a contact", sayContact},
		{c.Venue, "a place", sayVenue},
		{c.Location, "a location", sayLocation},
		{c.Poll, "a poll", sayPoll},
		{c.Checklist, "a checklist", sayChecklist},
		{c.Story, "a story", sayStory},
		{c.Game, "a game", nil},
		{c.Invoice, "an invoice", nil},
		{c.PaidMedia, "paid media", nil},
		{c.Giveaway, "a giveaway", nil},
		{c.Gift, "a gift", nil},
		{c.LivePhoto, "a live photo", nil},
		{c.Rich, "a rich message", nil},
	} {
		if len(part.raw) == 0 || string(part.raw) == "null" || venue && part.name == "a location" {
			continue
		}
		said := ""
		if part.say != nil {
			said = part.say(part.raw)
		}
		return cmp.Or(said, "(shared "+part.name+", which cannot be shown here)")
	}
	return ""
}

// read decodes a part; what it has not stays empty.
func read[T any](raw json.RawMessage) (v T, ok bool) {
	return v, json.Unmarshal(raw, &v) == nil
}

func sayEmoji(raw json.RawMessage) string {
	s, _ := read[struct {
		Emoji string `json:"emoji"`
	}](raw)
	return markup.Brief(s.Emoji)
}

func sayDice(raw json.RawMessage) string {
	d, ok := read[struct {
		Emoji string `json:"emoji"`
		Value int    `json:"value"`
	}](raw)
	if !ok || d.Emoji == "" {
		return ""
	}
	return fmt.Sprintf("(threw %s and got %d)", markup.Brief(d.Emoji), d.Value)
}

func sayContact(raw json.RawMessage) string {
	c, ok := read[struct {
		Phone string `json:"phone_number"`
		First string `json:"first_name"`
		Last  string `json:"last_name"`
	}](raw)
	name := markup.Name(c.First+" "+c.Last, "")
	if !ok || name == "" && c.Phone == "" {
		return ""
	}
	return "(shared a contact: " + joined(", ", name, markup.Brief(c.Phone)) + ")"
}

type location struct {
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
	Accuracy  float64  `json:"horizontal_accuracy"`
	LiveFor   int      `json:"live_period"`
}

// where is a place on earth, or empty.
func (l location) where() string {
	if l.Latitude == nil || l.Longitude == nil {
		return ""
	}
	return fmt.Sprintf("latitude %v, longitude %v", *l.Latitude, *l.Longitude)
}

func sayLocation(raw json.RawMessage) string {
	l, _ := read[location](raw)
	if l.where() == "" {
		return ""
	}
	kind, within := "a location", ""
	if l.LiveFor > 0 {
		kind = "a live location, as it is now"
	}
	if l.Accuracy > 0 {
		within = fmt.Sprintf("to %v m", l.Accuracy)
	}
	return "(shared " + kind + ": " + joined(", ", l.where(), within) + ")"
}

func sayVenue(raw json.RawMessage) string {
	v, _ := read[struct {
		Location location `json:"location"`
		Title    string   `json:"title"`
		Address  string   `json:"address"`
	}](raw)
	words := joined(", ", markup.Brief(v.Title), markup.Brief(v.Address), v.Location.where())
	if words == "" {
		return ""
	}
	return "(shared a place: " + words + ")"
}

func sayPoll(raw json.RawMessage) string {
	p, _ := read[struct {
		Question string `json:"question"`
		Options  []struct {
			Text string `json:"text"`
		} `json:"options"`
	}](raw)
	if p.Question == "" {
		return ""
	}
	lines := []string{"(shared a poll: " + p.Question}
	for _, o := range p.Options {
		lines = append(lines, "- "+o.Text)
	}
	return strings.Join(lines, "\n") + ")"
}

func sayChecklist(raw json.RawMessage) string {
	c, _ := read[struct {
		Title string `json:"title"`
		Tasks []struct {
			Text string `json:"text"`
			Done int64  `json:"completion_date"`
		} `json:"tasks"`
	}](raw)
	if c.Title == "" {
		return ""
	}
	lines := []string{"(shared a checklist: " + c.Title}
	for _, t := range c.Tasks {
		box := "- [ ] "
		if t.Done > 0 {
			box = "- [x] "
		}
		lines = append(lines, box+t.Text)
	}
	return strings.Join(lines, "\n") + ")"
}

func sayStory(raw json.RawMessage) string {
	s, _ := read[struct {
		Chat chat `json:"chat"`
	}](raw)
	by := markup.Name(joined(" ", s.Chat.Title, s.Chat.FirstName, s.Chat.LastName), "")
	if by == "" {
		return ""
	}
	return "(shared a story of " + by + ", which only Telegram shows)"
}

// joined puts together what is not empty.
func joined(by string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, by)
}
