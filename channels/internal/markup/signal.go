package markup

import "cmp"

// What one message of Signal may hold. Longer texts travel as a file of which
// clients show the beginning only.
const (
	SignalBytes  = 2000
	SignalStyles = 100
)

// SignalMessage is one message of Signal.
type SignalMessage struct {
	Text   string
	Styles []SignalStyle
}

// SignalStyle is a range of a message. Start and Length are in UTF-16 code
// units; Style is BOLD, ITALIC, SPOILER, STRIKETHROUGH or MONOSPACE.
type SignalStyle struct {
	Start  int    `json:"start"`
	Length int    `json:"length"`
	Style  string `json:"style"`
}

// SignalOptions are choices of an operator.
type SignalOptions struct {
	// Bytes is the longest text of one message; 0 means SignalBytes, and no
	// value goes beyond it.
	Bytes int
}

// Signal renders Markdown as messages with styles, each within the limits of
// Signal, which has neither links with a text of their own nor quotes within a
// message: addresses stand behind what they are of, and quoted lines behind >.
// Text without anything visible gives none.
func Signal(markdown string, o SignalOptions) []SignalMessage {
	l := limits{
		units: max(minUnits, min(cmp.Or(o.Bytes, SignalBytes), SignalBytes)),
		spans: SignalStyles,
		size:  UTF8,
	}
	// Its letters of one width are not of one width everywhere: no grids.
	shape := layout{tableWidth: -1, spelled: true}
	parts := splitFlat(shape.flatten(Parse(markdown)), l)
	if len(parts) == 0 {
		return nil
	}
	out := make([]SignalMessage, len(parts))
	for i, p := range parts {
		out[i] = SignalMessage{Text: p.text, Styles: styles(p)}
	}
	return out
}

// styles counts the spans of p in UTF-16 code units.
func styles(p flatText) []SignalStyle {
	spans := trimSpans(p.text, p.spans)
	units := unitsAt(p.text, spans)
	var out []SignalStyle
	for _, s := range spans {
		var name string
		switch s.Style {
		case Bold:
			name = "BOLD"
		case Italic:
			name = "ITALIC"
		case Strike:
			name = "STRIKETHROUGH"
		case Spoiler:
			name = "SPOILER"
		case Mono, Pre:
			name = "MONOSPACE"
		default:
			continue // it is spelled out
		}
		out = append(out, SignalStyle{Start: units[s.Start], Length: units[s.End] - units[s.Start], Style: name})
	}
	return out
}
