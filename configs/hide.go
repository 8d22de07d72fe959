package configs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// shortest is the length from which a text is taken out of messages; what is
// shorter is no secret, and its letters stand in ordinary words.
const shortest = 4

const hidden = "…"

// addSecret remembers a text that no message may hold.
func (d *decoder) addSecret(text string) {
	if len(text) >= shortest && !slices.Contains(d.secrets, text) {
		d.secrets = append(d.secrets, text)
	}
}

func (d *decoder) withoutSecrets(s string) string { return replaceTexts(s, d.secrets) }

// replaceTexts takes texts out of s, the longest first.
func replaceTexts(s string, texts []string) string {
	byLength := slices.Clone(texts)
	slices.SortStableFunc(byLength, func(a, b string) int { return len(b) - len(a) })
	for _, t := range byLength {
		if len(t) < shortest {
			continue
		}
		q := fmt.Sprintf("%q", t)
		s = strings.ReplaceAll(s, q[1:len(q)-1], hidden)
		s = strings.ReplaceAll(s, t, hidden)
	}
	return s
}

var (
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// word is a key or a name that may be shown: what was meant as one. Tokens
	// of networks and providers are longer or hold other characters.
	word = regexp.MustCompile(`^(?:[a-z0-9_-]{1,32}|[A-Za-z_-]{1,32}[0-9]{0,3})$`)
)

// displayKey is key, if it can be shown; a secret may stand where a key belongs.
func displayKey(key string) (string, bool) {
	if word.MatchString(key) {
		return key, true
	}
	return hidden, false
}

// longest is how much of a value is quoted; what is longer may be a secret in
// the wrong place.
const longest = 20

// display returns how a message names the value it refuses.
func (e expansion) display() string {
	switch {
	case len(e.substituted) > 0:
		return "what ${…} yields"
	case len(e.text) > longest:
		return "this value"
	}
	return fmt.Sprintf("%q", e.text)
}

// conceal takes the value out of a message that a part of the gateway gave of
// it, if it came from elsewhere or is longer than names are.
func (e expansion) conceal(message string) string {
	if len(e.substituted) == 0 && len(e.text) <= 2*longest {
		return message
	}
	message = replaceTexts(message, append([]string{e.text}, e.substituted...))
	return quoted.ReplaceAllString(message, `"`+hidden+`"`)
}
