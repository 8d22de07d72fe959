package markup

import "unicode"

// IsBlank reports whether there is nothing but spaces in UTF-16 units of a text.
func IsBlank(units []uint16) bool {
	for _, u := range units {
		if !unicode.IsSpace(rune(u)) {
			return false
		}
	}
	return true
}

// SkipGreeting returns the place behind "," or ":" and the spaces after a mention,
// which ends at a place in UTF-16 units of a text.
func SkipGreeting(units []uint16, at int) int {
	if at < len(units) && (units[at] == ',' || units[at] == ':') {
		at++
	}
	for at < len(units) && unicode.IsSpace(rune(units[at])) {
		at++
	}
	return at
}
