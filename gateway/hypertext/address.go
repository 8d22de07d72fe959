package hypertext

import (
	"net/url"
	"strings"
)

// Address is where a link or a form leads: always within the own site, whatever others
// chose of it.
type Address struct{ text string }

// At returns the address of a section, and of what has these ids in it. That of no section and no ids is
// the first page.
func At(section string, ids ...string) Address {
	text := "/" + url.PathEscape(section)
	for _, id := range ids {
		text += "/" + url.PathEscape(id)
	}
	return Address{text}
}

// With returns the address with a question behind it, which is made of names and their values. The zero
// Address asks the page that bears the link.
func (a Address) With(pairs ...string) Address {
	for i := 0; i+1 < len(pairs); i += 2 {
		between := "?"
		if strings.Contains(a.text, "?") {
			between = "&"
		}
		a.text += between + url.QueryEscape(pairs[i]) + "=" + url.QueryEscape(pairs[i+1])
	}
	return a
}

// Part is the address of an element of the document that bears the link, by its id.
func Part(id string) Address { return Address{"#" + url.PathEscape(id)} }
