package telegram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"parley/channels/internal/markup"
)

// extras is what a message is made of that is neither text nor a file. A part that
// cannot be read, or of a form that Telegram has changed, is named and not described.
type extras struct {
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
	c, ok := decode[extras](raw)
	if !ok {
		return ""
	}
	venue := len(c.Venue) > 0 // it has a location beside it
	for _, part := range []struct {
		raw  json.RawMessage
		name string
		say  func(json.RawMessage) string
	}{
		{c.Sticker, "a sticker", describeEmoji},
		{c.Dice, "a dice", describeDice},
		{c.Contact, "a contact", describeContact},
		{c.Venue, "a place", describeVenue},
		{c.Location, "a location", describeLocation},
		{c.Poll, "a poll", describePoll},
		{c.Checklist, "a checklist", describeChecklist},
		{c.Story, "a story", describeStory},
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

// decode decodes a part; what it has not stays empty.
func decode[T any](raw json.RawMessage) (v T, ok bool) {
	return v, json.Unmarshal(raw, &v) == nil
}

func describeEmoji(raw json.RawMessage) string {
	s, _ := decode[struct {
		Emoji string `json:"emoji"`
	}](raw)
	return markup.Brief(s.Emoji)
}

func describeDice(raw json.RawMessage) string {
	d, ok := decode[struct {
		Emoji string `json:"emoji"`
		Value int    `json:"value"`
	}](raw)
	if !ok || d.Emoji == "" {
		return ""
	}
	return fmt.Sprintf("(threw %s and got %d)", markup.Brief(d.Emoji), d.Value)
}

func describeContact(raw json.RawMessage) string {
	c, ok := decode[struct {
		Phone string `json:"phone_number"`
		First string `json:"first_name"`
		Last  string `json:"last_name"`
	}](raw)
	name := markup.Name(c.First+" "+c.Last, "")
	if !ok || name == "" && c.Phone == "" {
		return ""
	}
	return "(shared a contact: " + joinNonEmpty(", ", name, markup.Brief(c.Phone)) + ")"
}

type location struct {
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
	Accuracy  float64  `json:"horizontal_accuracy"`
	LiveFor   int      `json:"live_period"`
}

// coordinates is a place on earth, or empty.
func (l location) coordinates() string {
	if l.Latitude == nil || l.Longitude == nil {
		return ""
	}
	return fmt.Sprintf("latitude %v, longitude %v", *l.Latitude, *l.Longitude)
}

func describeLocation(raw json.RawMessage) string {
	l, _ := decode[location](raw)
	if l.coordinates() == "" {
		return ""
	}
	kind, within := "a location", ""
	if l.LiveFor > 0 {
		kind = "a live location, as it is now"
	}
	if l.Accuracy > 0 {
		within = fmt.Sprintf("to %v m", l.Accuracy)
	}
	return "(shared " + kind + ": " + joinNonEmpty(", ", l.coordinates(), within) + ")"
}

func describeVenue(raw json.RawMessage) string {
	v, _ := decode[struct {
		Location location `json:"location"`
		Title    string   `json:"title"`
		Address  string   `json:"address"`
	}](raw)
	words := joinNonEmpty(", ", markup.Brief(v.Title), markup.Brief(v.Address), v.Location.coordinates())
	if words == "" {
		return ""
	}
	return "(shared a place: " + words + ")"
}

func describePoll(raw json.RawMessage) string {
	p, _ := decode[struct {
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

func describeChecklist(raw json.RawMessage) string {
	c, _ := decode[struct {
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

func describeStory(raw json.RawMessage) string {
	s, _ := decode[struct {
		Chat chat `json:"chat"`
	}](raw)
	by := markup.Name(joinNonEmpty(" ", s.Chat.Title, s.Chat.FirstName, s.Chat.LastName), "")
	if by == "" {
		return ""
	}
	return "(shared a story of " + by + ", which only Telegram shows)"
}

// joinNonEmpty puts together what is not empty.
func joinNonEmpty(by string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, by)
}
