package telegram

import (
	"fmt"
	"testing"

	"parley/channels"
)

// firstday T2. Bot API, Message: what has no text and no file is said in words.
func TestDescribe_WhatHasNoTextIsSaidInWords(t *testing.T) {
	t.Parallel()
	r := translator(t)
	for name, c := range map[string]struct{ fields, text string }{
		"a contact": {
			`"contact":{"phone_number":"+4915550000001","first_name":"Ben","last_name":"Cole","user_id":7}`,
			"(shared a contact: Ben Cole, +4915550000001)",
		},
		"a location": {
			`"location":{"latitude":52.52,"longitude":13.405,"horizontal_accuracy":12.5}`,
			"(shared a location: latitude 52.52, longitude 13.405, to 12.5 m)",
		},
		"a location at zero": {
			`"location":{"latitude":0,"longitude":0}`, "(shared a location: latitude 0, longitude 0)",
		},
		"a live location": {
			`"location":{"latitude":-1.5,"longitude":2,"live_period":900}`,
			"(shared a live location, as it is now: latitude -1.5, longitude 2)",
		},
		"a venue, which has a location too": {
			`"location":{"latitude":1,"longitude":2},"venue":{"location":{"latitude":1,"longitude":2},"title":"Café","address":"Street 1"}`,
			"(shared a place: Café, Street 1, latitude 1, longitude 2)",
		},
		"a poll": {
			`"poll":{"id":"1","question":"Tea?","options":[{"text":"yes","voter_count":0},{"text":"no","voter_count":0}]}`,
			"(shared a poll: Tea?\n- yes\n- no)",
		},
		"a dice":     {`"dice":{"emoji":"🎲","value":4}`, "(threw 🎲 and got 4)"},
		"a story":    {`"story":{"id":3,"chat":{"id":9,"type":"private","first_name":"Ben"}}`, "(shared a story of Ben, which only Telegram shows)"},
		"an invoice": {`"invoice":{"title":"x"}`, "(shared an invoice, which cannot be shown here)"},
		"a checklist": {
			`"checklist":{"title":"Trip","tasks":[{"id":1,"text":"pack","completion_date":1800000000},{"id":2,"text":"go"}]}`,
			"(shared a checklist: Trip\n- [x] pack\n- [ ] go)",
		},
		"a sticker's emoji":               {`"sticker":{"file_id":"s1","emoji":"👍"}`, "👍"},
		"a sticker without one":           {`"sticker":{"file_id":"s1"}`, "(shared a sticker, which cannot be shown here)"},
		"a contact of another form":       {`"contact":[1]`, "(shared a contact, which cannot be shown here)"},
		"a poll whose form has changed":   {`"poll":{"question":{"text":"Tea?"}}`, "(shared a poll, which cannot be shown here)"},
		"nothing that anybody has shared": {`"pinned_message":{"message_id":3}`, ""},
	} {
		m := r.read(fmt.Sprintf(`{"update_id":9,"message":{"message_id":5,"date":1,"from":{"id":7,"first_name":"Ann"},"chat":{"id":7,"type":"private"},%s}}`, c.fields))
		if want := c.text != ""; m.Text != c.text || (m.Kind == channels.Said) != want {
			t.Errorf("%s: %s %q, want %q", name, m.Kind, m.Text, c.text)
		}
	}
}

// firstday T2: who passes a contact on says it as little as a text, and who answers
// one means it.
func TestDescribe_AlsoWhatIsForwardedAndAnswered(t *testing.T) {
	t.Parallel()
	r := translator(t)
	const contact = `"contact":{"phone_number":"1","first_name":"Ben"}`
	head := `"date":1,"from":{"id":7,"first_name":"Ann"},"chat":{"id":7,"type":"private"}`
	m := r.read(`{"update_id":9,"message":{"message_id":5,` + head + `,"forward_origin":{"type":"hidden_user","sender_user_name":"Cy"},` + contact + `}}`)
	if m.Text != "" || len(m.Forwarded) != 1 || m.Forwarded[0].Text != "(shared a contact: Ben, 1)" {
		t.Errorf("forwarded: %q, %+v", m.Text, m.Forwarded)
	}
	m = r.read(`{"update_id":9,"message":{"message_id":6,` + head + `,"text":"call him","reply_to_message":{"message_id":5,` + head + `,` + contact + `}}}`)
	if m.ReplyTo == nil || m.ReplyTo.Text != "(shared a contact: Ben, 1)" {
		t.Errorf("answered: %+v", m.ReplyTo)
	}
}
