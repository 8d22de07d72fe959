package overview

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
	"parley/transcript"
)

//go:embed sessions_history.md
var historyDoc string

// How much of a history one call shows, in bytes but for told.
const (
	told      = 20 // messages, when nobody says how many
	maxWords  = 2000
	maxInput  = 300 // of a call's arguments
	maxOutput = 500 // of a tool's result
	maxTold   = 16 << 10
)

type historyInput struct {
	Session string `json:"session,omitempty" jsonschema:"id; default: this one"`
	Offset  int    `json:"offset,omitempty" jsonschema:"first message, from 1" minimum:"1"`
	Limit   int    `json:"limit,omitempty" jsonschema:"default 20" minimum:"1" maximum:"100"`
}

func (l *inspector) history(ctx context.Context, in historyInput, c tools.Call) (tools.Result, error) {
	messages, id, err := l.messagesOf(ctx, in.Session, c)
	if err != nil {
		return tools.Result{}, err
	}
	first := max(in.Offset, 1)
	if first > len(messages) {
		if len(messages) == 0 {
			return tools.Result{Content: "[nothing was said yet]"}, nil
		}
		return tools.Result{}, tools.Errorf(tools.Permanent, "offset %d is past the end: there are %s", first, plural(len(messages), "message"))
	}
	text, last := transcribe(messages, first, cmp.Or(in.Limit, told))
	content := tools.FrameUntrusted("session "+string(id), text)
	if last < len(messages) {
		content += fmt.Sprintf("\n[messages %d to %d of %d; go on with offset %d]", first, last, len(messages), last+1)
	}
	return tools.Result{Content: content}, nil
}

// messagesOf reads the history of a session of the caller's own: the one that is named, or
// the caller's.
func (l *inspector) messagesOf(ctx context.Context, named string, c tools.Call) ([]transcript.Message, sessionkeys.SessionID, error) {
	tree, err := l.Store.Tree(ctx, c.Session)
	if err != nil {
		return nil, "", l.readError(ctx, c, err)
	}
	id := sessionkeys.SessionID(cmp.Or(named, string(c.Session)))
	if !slices.ContainsFunc(tree, func(s sessions.Session) bool { return s.ID == id }) {
		return nil, "", tools.Errorf(tools.Permanent, "there is no such session among yours; sessions_list shows them")
	}
	messages, err := l.Store.Messages(ctx, id)
	if err != nil {
		return nil, "", l.readError(ctx, c, err)
	}
	return messages, id, nil
}

// transcribe writes out up to limit messages from number first on, as many as
// there is room for, one at least; last is the number of the last one.
func transcribe(messages []transcript.Message, first, limit int) (text string, last int) {
	var b strings.Builder
	for n := first; n <= min(len(messages), first+limit-1); n++ {
		entry := fmt.Sprintf("#%d %s", n, plainText(messages[n-1]))
		if b.Len() > 0 && b.Len()+len(entry) > maxTold {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(tools.Truncate(entry, maxTold))
		last = n
	}
	return b.String(), last
}

// toolName returns a tool's name as the model wrote it: there may be no such tool.
func toolName(s string) string { return tools.Truncate(s, maxLabel) }

// plainText returns one message in plain text, without what the model thought.
func plainText(m transcript.Message) string {
	lines := []string{}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case transcript.Text:
			lines = append(lines, tools.Truncate(strings.TrimSpace(p.Text), maxWords))
		case transcript.ToolCall:
			lines = append(lines, "calls "+toolName(p.Name)+" "+tools.Truncate(p.Input, maxInput))
		case transcript.ToolResult:
			kind := "result of "
			if p.IsError {
				kind = "error of "
			}
			lines = append(lines, kind+toolName(p.Name)+": "+tools.Truncate(strings.TrimSpace(p.Content), maxOutput))
		case transcript.Finish:
			if p.Reason == transcript.Canceled || p.Reason == transcript.TimedOut || p.Reason == transcript.Failed {
				lines = append(lines, "[not finished: "+string(p.Reason)+"]")
			}
		case transcript.Overlay:
			lines = append(lines, overlayText(p))
		case transcript.Binary, transcript.ImageURL:
			lines = append(lines, "[an attachment]")
		}
	}
	if len(lines) == 0 {
		lines = []string{"[no words]"}
	}
	return string(m.Role) + ": " + strings.Join(lines, "\n")
}

// overlayText returns what changed for later requests.
func overlayText(o transcript.Overlay) string {
	switch o.Kind {
	case transcript.Summarised:
		return fmt.Sprintf("[a summary stands for messages 1 to %d: %s]", o.Through, tools.Truncate(o.Summary, maxWords))
	case transcript.Trimmed:
		return fmt.Sprintf("[long outputs up to message %d are shortened]", o.Through)
	case transcript.Undone:
		return "[the last summary was taken back]"
	default:
		return "[a summary failed]"
	}
}
