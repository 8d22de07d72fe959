package overview

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"parley/tools"
	"parley/tools/match"
	"parley/transcript"
)

//go:embed read_output.md
var outputDoc string

// OutputName is the tool that reads what requests hold of a tool's result in part only.
const OutputName = "read_output"

// How much one call of it shows.
const (
	pageBytes  = 16 << 10
	foundBytes = 300 // around a match
	searchTime = 5 * time.Second
)

type outputInput struct {
	Output  int    `json:"output" minimum:"1"`
	From    int    `json:"from,omitempty" jsonschema:"first byte" minimum:"0"`
	Pattern string `json:"pattern,omitempty" jsonschema:"RE2 to search for"`
}

// output shows a part of a result, or where a pattern is found in it. Results are numbered
// by their place in the history, which never changes; see sessions_history.
func (l *inspector) output(ctx context.Context, in outputInput, c tools.Call) (tools.Result, error) {
	messages, _, err := l.messagesOf(ctx, "", c)
	if err != nil {
		return tools.Result{}, err
	}
	if in.Output > len(messages) || len(messages[in.Output-1].Results()) == 0 {
		return tools.Result{}, tools.Errorf(tools.Permanent, "no output has the number %d; the notice in a shortened output names its number", in.Output)
	}
	text, who := outputText(messages[in.Output-1])
	if in.From > 0 && in.From >= len(text) {
		return tools.Result{}, tools.Errorf(tools.Permanent, "output %d ends at byte %d", in.Output, len(text))
	}
	if in.Pattern != "" {
		return l.searchOutput(ctx, in, text, who)
	}
	begin, end := pageOf(text, in.From, l.pageBytes())
	note := fmt.Sprintf("[bytes %d to %d of %d: this is all]", begin, end, len(text))
	switch {
	case end < len(text):
		note = fmt.Sprintf("[bytes %d to %d of %d; go on with from %d]", begin, end, len(text), end)
	case begin > 0:
		note = fmt.Sprintf("[bytes %d to %d of %d: the end]", begin, end, len(text))
	}
	return tools.Result{Content: tools.FrameUntrusted(who, text[begin:end]) + "\n" + note}, nil
}

// pageBytes is how much one call shows: less where a request would hold only a part of it.
func (l *inspector) pageBytes() int {
	const frame = 256
	if l.ResultBytes > 0 {
		return min(pageBytes, max(l.ResultBytes-frame, frame))
	}
	return pageBytes
}

// outputText is what the tools returned whose results a message holds, and whose words it is.
func outputText(m transcript.Message) (text, who string) {
	var all, names []string
	for _, r := range m.Results() {
		all, names = append(all, r.Content), append(names, r.Name)
	}
	return strings.Join(all, "\n\n"), "the tool " + strings.Join(names, ", ")
}

// pageOf returns where the page that begins at from ends: behind a line, if the page holds
// one that is not far from its end, else between two characters.
func pageOf(text string, from, size int) (begin, end int) {
	begin = startOf(text, from)
	if len(text)-begin <= size {
		return begin, len(text)
	}
	end = startOf(text, begin+size)
	if line := strings.LastIndexByte(text[begin:end], '\n'); line >= size/2 {
		end = begin + line + 1
	}
	return begin, end
}

// startOf is the last place at or before at where a character begins.
func startOf(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

var errSlow = errors.New("search took too long")

// searchOutput shows where the pattern is found, with what stands around it.
func (l *inspector) searchOutput(ctx context.Context, in outputInput, text, who string) (tools.Result, error) {
	pattern, err := match.Compile(in.Pattern, match.Options{})
	if err != nil {
		return tools.Result{}, tools.Errorf(tools.Permanent, "%w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, searchTime, errSlow)
	defer cancel()
	var found strings.Builder
	at, limit := startOf(text, in.From), l.pageBytes()
	for at < len(text) {
		if errors.Is(context.Cause(ctx), errSlow) {
			break
		}
		if ctx.Err() != nil {
			return tools.Result{}, context.Cause(ctx)
		}
		end := pieceEnd(text, at, pattern.Reach)
		piece := strings.TrimRight(text[at:end], "\r\n")
		if loc := pattern.FindStringIndex(piece); loc != nil {
			line := fmt.Sprintf("%d: %s\n", at+loc[0], around(piece, loc))
			if found.Len()+len(line) > limit {
				break
			}
			found.WriteString(line)
		}
		at = end
	}
	note := fmt.Sprintf("[searched bytes %d to %d; each match stands behind its byte]", in.From, at)
	if at < len(text) {
		note = fmt.Sprintf("[searched bytes %d to %d of %d; go on with from %d]", in.From, at, len(text), at)
	}
	if found.Len() == 0 {
		return tools.Result{Content: "[no match]\n" + note}, nil
	}
	return tools.Result{Content: tools.FrameUntrusted(who, strings.TrimSuffix(found.String(), "\n")) + "\n" + note}, nil
}

// pieceEnd is where the piece that is matched as one ends: behind its line, at most size
// bytes on.
func pieceEnd(text string, at, size int) int {
	end := startOf(text, min(at+size, len(text)))
	if line := strings.IndexByte(text[at:end], '\n'); line >= 0 {
		return at + line + 1
	}
	return end
}

// around is a match with a part of its line.
func around(line string, loc []int) string {
	from := startOf(line, max(0, loc[0]-foundBytes/3))
	to := startOf(line, min(from+foundBytes, len(line)))
	text := line[from:to]
	if from > 0 {
		text = "[...] " + text
	}
	if to < len(line) {
		text += " [...]"
	}
	return text
}
