package llm

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"parley/transcript"
)

const (
	charsPerToken   = 4
	charsPerMessage = 16
	imageTokens     = 1600 // a picture of common size

	// pieceOverhead is more bytes than any provider spends on the frame of one
	// message, part or tool.
	pieceOverhead = 64
	// toolPrompt is more tokens than the hidden instructions that providers add
	// when a request has tools or a system message.
	toolPrompt = 2048
	// imageUpper is more tokens than any listed model charges for one picture.
	imageUpper = 65_536
)

// Estimate guesses the input tokens of r where no real count is known:
// (characters + 16 for each message) / 4, rounded up, where the system blocks
// together count as one message, and tools with their names, descriptions and
// schemas as characters. Characters are runes, not bytes. It is a guess in
// either direction; a picture counts as 1600 tokens. (TX04)
func Estimate(r Request) int64 {
	var chars int64
	if len(r.System) > 0 {
		chars += charsPerMessage
	}
	for _, b := range r.System {
		chars += countRunes(b.Text)
	}
	for _, m := range r.Messages {
		chars += messageChars(m)
	}
	for _, d := range r.Tools {
		chars += countRunes(d.Name) + countRunes(d.Description) + int64(utf8.RuneCount(d.Schema))
	}
	return charsToTokens(chars)
}

// EstimateText guesses the tokens of a piece of text of n characters or bytes:
// n/4, rounded up.
func EstimateText(n int) int64 { return charsToTokens(int64(n)) }

func charsToTokens(chars int64) int64 { return (chars + charsPerToken - 1) / charsPerToken }

func countRunes(s string) int64 { return int64(utf8.RuneCountInString(s)) }

func messageChars(m transcript.Message) int64 {
	chars := int64(charsPerMessage)
	for _, p := range m.Parts {
		switch p := p.(type) {
		case transcript.Text:
			chars += countRunes(p.Text)
		case transcript.Reasoning:
			chars += countRunes(p.Thinking)
		case transcript.ToolCall:
			chars += countRunes(p.Name) + countRunes(p.Input)
		case transcript.ToolResult:
			chars += countRunes(p.Content)
		case transcript.Binary:
			if strings.HasPrefix(p.MIMEType, "image/") && len(p.Data) > 0 {
				chars += imageTokens * charsPerToken
			} else {
				chars += countRunes(p.Path) + int64(utf8.RuneCount(p.Data))
			}
		case transcript.ImageURL:
			chars += imageTokens * charsPerToken
		}
	}
	return chars
}

// UpperBound is never less than the input tokens for which r can be billed, so that
// a reservation made with it holds. It rests on this: the tokenisers of all
// supported providers work on bytes, so a token is at least one byte, and a
// text has no more tokens than bytes; a request has no more tokens than it has
// bytes when written out, plus what the provider adds by itself (a frame for
// each message and tool, hidden instructions when there are tools), plus its
// pictures, which are billed by size and not by bytes. It is three to four
// times the true number for ordinary English text.
func UpperBound(r Request) int64 {
	upper := int64(pieceOverhead)
	if len(r.Tools) > 0 || len(r.System) > 0 {
		upper += toolPrompt
	}
	for _, b := range r.System {
		upper += pieceOverhead + int64(len(b.Text))
	}
	for _, d := range r.Tools {
		upper += pieceOverhead + int64(len(d.Name)+len(d.Description)+len(d.Schema))
	}
	for _, m := range r.Messages {
		upper += pieceOverhead + max(partsUpper(m, cmp.Or(r.Picture, imageUpper)), nativeUpper(m.Native))
	}
	return upper
}

func partsUpper(m transcript.Message, picture int64) (upper int64) {
	for _, p := range m.Parts {
		upper += pieceOverhead
		switch p := p.(type) {
		case transcript.Text:
			upper += int64(len(p.Text))
		case transcript.Reasoning:
			upper += int64(len(p.Thinking))
		case transcript.ToolCall:
			upper += int64(len(p.ID) + len(p.Name) + 2*len(p.Input)) // invalid JSON is sent quoted
		case transcript.ToolResult:
			upper += int64(len(p.ToolCallID) + len(p.Name) + len(p.Content))
		case transcript.Binary:
			upper += int64(len(p.Path) + len(p.MIMEType))
			switch {
			case !strings.HasPrefix(p.MIMEType, "image/"):
				upper += int64(len(p.Data))
			case len(p.Data) > 0:
				upper += picture
			}
		case transcript.ImageURL:
			upper += picture
		case transcript.Unknown:
			upper += int64(len(p.Data))
		}
	}
	return upper
}

func nativeUpper(n *transcript.Native) (upper int64) {
	if n == nil {
		return 0
	}
	for _, b := range n.Blocks {
		upper += pieceOverhead + int64(len(b))
	}
	return upper
}
