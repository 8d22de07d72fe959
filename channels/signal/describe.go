package signal

import (
	"encoding/json"
	"strings"
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
		return notShown("a message to be seen once")
	}
	var words []string
	if hasValue(d.Story) {
		words = append(words, "(answering a story, which cannot be shown here)")
	}
	for _, part := range []struct {
		raw  json.RawMessage
		name string
		say  func(json.RawMessage) string
	}{
		{d.Sticker, "a sticker", describeSticker},
		{d.Contacts, "a contact", describeContacts},
		{d.Poll, "a poll", describePoll},
		{d.Payment, "a payment", describePayment},
	} {
		if !hasValue(part.raw) {
			continue
		}
		said := part.say(part.raw)
		if said == "" {
			said = notShown(part.name)
		}
		words = append(words, said)
	}
	for _, a := range d.Attachments {
		if a.ID == "" { // signal-cli could not fetch it
			words = append(words, notShown("a file"))
		}
	}
	return strings.Join(words, "\n")
}

func notShown(what string) string { return "(shared " + what + ", which cannot be shown here)" }

// decode reads a part; what it has not stays empty.
func decode[T any](raw json.RawMessage) (v T) {
	_ = json.Unmarshal(raw, &v)
	return v
}

// describeSticker gives the emoji that stands for a sticker, where signal-cli tells it.
func describeSticker(raw json.RawMessage) string {
	return brief(decode[struct {
		Emoji string `json:"emoji"`
	}](raw).Emoji)
}

// maxCards is how many contacts of one message are described.
const maxCards = 10

func describeContacts(raw json.RawMessage) string {
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
	for _, c := range all[:min(len(all), maxCards)] {
		n := c.Name
		parts := []string{displayName(strings.Join([]string{n.Given, n.Middle, n.Family}, " "))}
		if parts[0] == "" {
			parts[0] = displayName(n.Nickname)
		}
		parts = append(parts, brief(c.Organization))
		for _, p := range c.Phone {
			parts = append(parts, brief(p.Value))
		}
		for _, e := range c.Email {
			parts = append(parts, brief(e.Value))
		}
		if s := joinNonEmpty(", ", parts...); s != "" {
			words = append(words, "(shared a contact: "+s+")")
		}
	}
	return strings.Join(words, "\n")
}

func describePoll(raw json.RawMessage) string {
	p := decode[struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}](raw)
	if p.Question == "" {
		return ""
	}
	return "(shared a poll: " + strings.Join(append([]string{p.Question}, p.Options...), "\n- ") + ")"
}

// describePayment says that there is one: how much it is only the programs of who sent and
// who got it can read.
func describePayment(raw json.RawMessage) string {
	note := brief(decode[struct {
		Note string `json:"note"`
	}](raw).Note)
	if note == "" {
		return ""
	}
	return "(sent a payment: " + note + ")"
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
