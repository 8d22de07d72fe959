package signal

import (
	"encoding/json"

	"parley/channels/internal/markup"
)

// extras is what a message is made of that is neither text nor a file
// (JsonDataMessage). A part that cannot be read is named and not described.
type extras struct {
	Sticker  json.RawMessage `json:"sticker"`
	Contacts json.RawMessage `json:"contacts"`
	Poll     json.RawMessage `json:"pollCreate"`
	Payment  json.RawMessage `json:"payment"`
}

// describe says in words what a message has beside its text; empty: nothing. What
// signal-cli hands on as an empty message, such as the news of a group call or of
// somebody's profile, is nobody's words and stays so.
func (d *dataMessage) describe() string {
	if d.ViewOnce { // to look at it, and to keep what was seen, is not what it was sent for
		return markup.NotShown("a message to be seen once")
	}
	var words []string
	if hasValue(d.Story) {
		words = append(words, "(answering a story, which cannot be shown here)")
	}
	for _, part := range []markup.Part{
		{Raw: d.Sticker, Name: "a sticker", Describe: describeSticker},
		{Raw: d.Contacts, Name: "a contact", Describe: describeContacts},
		{Raw: d.Poll, Name: "a poll", Describe: describePoll},
		{Raw: d.Payment, Name: "a payment", Describe: describePayment},
	} {
		words = append(words, part.Text())
	}
	for _, a := range d.Attachments {
		if a.ID == "" { // signal-cli could not fetch it
			words = append(words, markup.NotShown("a file"))
		}
	}
	return markup.JoinNonEmpty("\n", words...)
}

// describeSticker gives the emoji that stands for a sticker, where signal-cli tells it.
func describeSticker(raw json.RawMessage) string {
	return markup.Brief(markup.Decode[struct {
		Emoji string `json:"emoji"`
	}](raw).Emoji)
}

// maxCards is how many contacts of one message are described.
const maxCards = 10

func describeContacts(raw json.RawMessage) string {
	all := markup.Decode[[]struct {
		Name struct {
			Nickname, Given, Middle, Family string
		} `json:"name"`
		Phone []struct {
			Value string `json:"value"`
		} `json:"phone"`
		Email []struct {
			Value string `json:"value"`
		} `json:"email"`
		Organization string `json:"organization"`
	}](raw)
	var words []string
	for _, c := range all[:min(len(all), maxCards)] {
		n := c.Name
		parts := []string{markup.Name(n.Given+" "+n.Middle+" "+n.Family, n.Nickname), markup.Brief(c.Organization)}
		for _, p := range c.Phone {
			parts = append(parts, markup.Brief(p.Value))
		}
		for _, e := range c.Email {
			parts = append(parts, markup.Brief(e.Value))
		}
		words = append(words, markup.Shared("a contact", parts...))
	}
	return markup.JoinNonEmpty("\n", words...)
}

func describePoll(raw json.RawMessage) string {
	p := markup.Decode[struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}](raw)
	return markup.SharedList("a poll", p.Question, p.Options)
}

// describePayment reports that there is one: how much it is only the programs of who sent
// and who got it can read.
func describePayment(raw json.RawMessage) string {
	note := markup.Brief(markup.Decode[struct {
		Note string `json:"note"`
	}](raw).Note)
	if note == "" {
		return ""
	}
	return "(sent a payment: " + note + ")"
}
