package signal

import (
	"encoding/json"
	"strings"
)

// cards is what a message is made of that is neither text nor a file
// (JsonDataMessage). A part that cannot be read is named and not described.
type cards struct {
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
		return unshown("a message to be seen once")
	}
	var words []string
	if there(d.Story) {
		words = append(words, "(answering a story, which cannot be shown here)")
	}
	for _, part := range []struct {
		raw  json.RawMessage
		name string
		say  func(json.RawMessage) string
	}{
		{d.Sticker, "a sticker", saySticker},
		{d.Contacts, "a contact", sayContacts},
		{d.Poll, "a poll", sayPoll},
		{d.Payment, "a payment", sayPayment},
	} {
		if !there(part.raw) {
			continue
		}
		said := part.say(part.raw)
		if said == "" {
			said = unshown(part.name)
		}
		words = append(words, said)
	}
	for _, a := range d.Attachments {
		if a.ID == "" { // signal-cli could not fetch it
			words = append(words, unshown("a file"))
		}
	}
	return strings.Join(words, "\n")
}

func unshown(what string) string { return "(shared " + what + ", which cannot be shown here)" }

// decode reads a part; what it has not stays empty.
func decode[T any](raw json.RawMessage) (v T) {
	_ = json.Unmarshal(raw, &v)
	return v
}

// saySticker gives the emoji that stands for a sticker, where signal-cli tells it.
func saySticker(raw json.RawMessage) string {
	return brief(decode[struct {
		Emoji string `json:"emoji"`
	}](raw).Emoji)
}

// mostCards is how many contacts of one message are described.
const mostCards = 10

func sayContacts(raw json.RawMessage) string {
	all := decode[[]struct {
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
	for _, c := range all[:min(len(all), mostCards)] {
		n := c.Name
		parts := []string{name(strings.Join([]string{n.Given, n.Middle, n.Family}, " "))}
		if parts[0] == "" {
			parts[0] = name(n.Nickname)
		}
		parts = append(parts, brief(c.Organization))
		for _, p := range c.Phone {
			parts = append(parts, brief(p.Value))
		}
		for _, e := range c.Email {
			parts = append(parts, brief(e.Value))
		}
		if s := joined(", ", parts...); s != "" {
			words = append(words, "(shared a contact: "+s+")")
		}
	}
	return strings.Join(words, "\n")
}

func sayPoll(raw json.RawMessage) string {
	p := decode[struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}](raw)
	if p.Question == "" {
		return ""
	}
	return "(shared a poll: " + strings.Join(append([]string{p.Question}, p.Options...), "\n- ") + ")"
}

// sayPayment says that there is one: how much it is only the programs of who sent and
// who got it can read.
func sayPayment(raw json.RawMessage) string {
	note := brief(decode[struct {
		Note string `json:"note"`
	}](raw).Note)
	if note == "" {
		return ""
	}
	return "(sent a payment: " + note + ")"
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
