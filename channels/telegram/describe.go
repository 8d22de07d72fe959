package telegram

import (
	"encoding/json"
	"fmt"

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
	c := markup.Decode[extras](raw)
	if len(c.Venue) > 0 { // it has a location beside it
		c.Location = nil
	}
	for _, part := range []markup.Part{
		{Raw: c.Sticker, Name: "a sticker", Describe: describeEmoji},
		{Raw: c.Dice, Name: "a dice", Describe: describeDice},
		{Raw: c.Contact, Name: "a contact", Describe: describeContact},
		{Raw: c.Venue, Name: "a place", Describe: describeVenue},
		{Raw: c.Location, Name: "a location", Describe: describeLocation},
		{Raw: c.Poll, Name: "a poll", Describe: describePoll},
		{Raw: c.Checklist, Name: "a checklist", Describe: describeChecklist},
		{Raw: c.Story, Name: "a story", Describe: describeStory},
		{Raw: c.Game, Name: "a game"},
		{Raw: c.Invoice, Name: "an invoice"},
		{Raw: c.PaidMedia, Name: "paid media"},
		{Raw: c.Giveaway, Name: "a giveaway"},
		{Raw: c.Gift, Name: "a gift"},
		{Raw: c.LivePhoto, Name: "a live photo"},
		{Raw: c.Rich, Name: "a rich message"},
	} {
		if text := part.Text(); text != "" {
			return text
		}
	}
	return ""
}

// isMoving reports whether a message is a location, of which an edit is a movement.
func isMoving(raw json.RawMessage) bool {
	return len(markup.Decode[extras](raw).Location) > 0
}

func describeEmoji(raw json.RawMessage) string {
	return markup.Brief(markup.Decode[struct {
		Emoji string `json:"emoji"`
	}](raw).Emoji)
}

func describeDice(raw json.RawMessage) string {
	d := markup.Decode[struct {
		Emoji string `json:"emoji"`
		Value int    `json:"value"`
	}](raw)
	if d.Emoji == "" || d.Value == 0 { // there is no such side
		return ""
	}
	return fmt.Sprintf("(threw %s and got %d)", markup.Brief(d.Emoji), d.Value)
}

func describeContact(raw json.RawMessage) string {
	c := markup.Decode[struct {
		Phone string `json:"phone_number"`
		First string `json:"first_name"`
		Last  string `json:"last_name"`
	}](raw)
	return markup.Shared("a contact", markup.Name(c.First+" "+c.Last), markup.Brief(c.Phone))
}

type location struct {
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
	Accuracy  float64  `json:"horizontal_accuracy"`
	LiveFor   int      `json:"live_period"`
}

// coordinates returns a place on earth, or empty.
func (l location) coordinates() string {
	if l.Latitude == nil || l.Longitude == nil {
		return ""
	}
	return fmt.Sprintf("latitude %v, longitude %v", *l.Latitude, *l.Longitude)
}

func describeLocation(raw json.RawMessage) string {
	l := markup.Decode[location](raw)
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
	return markup.Shared(kind, l.coordinates(), within)
}

func describeVenue(raw json.RawMessage) string {
	v := markup.Decode[struct {
		Location location `json:"location"`
		Title    string   `json:"title"`
		Address  string   `json:"address"`
	}](raw)
	return markup.Shared("a place", markup.Brief(v.Title), markup.Brief(v.Address), v.Location.coordinates())
}

func describePoll(raw json.RawMessage) string {
	p := markup.Decode[struct {
		Question string `json:"question"`
		Options  []struct {
			Text string `json:"text"`
		} `json:"options"`
	}](raw)
	var options []string
	for _, o := range p.Options {
		options = append(options, o.Text)
	}
	return markup.SharedList("a poll", p.Question, options)
}

func describeChecklist(raw json.RawMessage) string {
	c := markup.Decode[struct {
		Title string `json:"title"`
		Tasks []struct {
			Text string `json:"text"`
			Done int64  `json:"completion_date"`
		} `json:"tasks"`
	}](raw)
	var tasks []string
	for _, t := range c.Tasks {
		box := "[ ] "
		if t.Done > 0 {
			box = "[x] "
		}
		tasks = append(tasks, box+t.Text)
	}
	return markup.SharedList("a checklist", c.Title, tasks)
}

func describeStory(raw json.RawMessage) string {
	s := markup.Decode[struct {
		Chat chat `json:"chat"`
	}](raw)
	by := markup.Name(s.Chat.Title + " " + s.Chat.FirstName + " " + s.Chat.LastName)
	if by == "" {
		return ""
	}
	return "(shared a story of " + by + ", which only Telegram shows)"
}
