package web

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// isHidden reports whether an element says itself that it is not shown. Rules of its style
// sheets are not known.
func isHidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch {
		case a.Key == "hidden":
			return true
		case a.Key == "style" && hidesItself(a.Val):
			return true
		}
	}
	return false
}

// hidesItself reports whether a style makes something invisible.
func hidesItself(style string) bool {
	for rule := range strings.SplitSeq(strings.ToLower(style), ";") {
		name, value, _ := strings.Cut(rule, ":")
		value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "!important"))
		number, err := strconv.ParseFloat(strings.TrimRight(value, "%abcdefghijklmnopqrstuvwxyz"), 64)
		isZero := err == nil && number == 0
		switch strings.TrimSpace(name) {
		case "display":
			if value == "none" {
				return true
			}
		case "visibility":
			if value == "hidden" || value == "collapse" {
				return true
			}
		case "opacity", "font-size", "max-height":
			if isZero {
				return true
			}
		}
	}
	return false
}
