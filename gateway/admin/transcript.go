package admin

import (
	"context"
	"fmt"
	"time"

	"parley/sessionkeys"
	"parley/transcript"
)

// Message is one entry of a transcript. Configured secrets are taken out.
type Message struct {
	At    time.Time `json:"at"`
	Role  string    `json:"role"` // user, assistant or tool
	Model string    `json:"model,omitempty"`
	Parts []Part    `json:"parts"`
}

// Part is one piece of a message.
type Part struct {
	Type  string `json:"type"`            // text, reasoning, tool_call, tool_result, finish, file or another
	Tool  string `json:"tool,omitempty"`  // of a tool_call and its tool_result
	Call  string `json:"call,omitempty"`  // that ties both together
	Text  string `json:"text,omitempty"`  // the words, the call's input, the result
	Error bool   `json:"error,omitempty"` // a result that is an error
}

func (desk treeDesk) transcript(ctx context.Context, id sessionkeys.SessionID) ([]Message, error) {
	history, err := desk.o.Store.Messages(ctx, id)
	if err != nil {
		return nil, err
	}
	return desk.describeMessages(history), nil
}

// describeMessages returns messages as operators read them.
func (desk treeDesk) describeMessages(history []transcript.Message) []Message {
	said := make([]Message, 0, len(history))
	for _, m := range history {
		one := Message{At: m.CreatedAt.UTC(), Role: string(m.Role), Model: m.Model, Parts: []Part{}}
		for _, p := range m.Parts {
			part := newPart(p)
			part.Text = desk.o.Redact(part.Text)
			one.Parts = append(one.Parts, part)
		}
		said = append(said, one)
	}
	return said
}

func newPart(p transcript.Part) Part {
	switch p := p.(type) {
	case transcript.Text:
		return Part{Type: "text", Text: p.Text}
	case transcript.Reasoning:
		return Part{Type: "reasoning", Text: p.Thinking}
	case transcript.ToolCall:
		return Part{Type: "tool_call", Tool: p.Name, Call: p.ID, Text: p.Input}
	case transcript.ToolResult:
		return Part{Type: "tool_result", Tool: p.Name, Call: p.ToolCallID, Text: p.Content, Error: p.IsError}
	case transcript.Finish:
		return Part{Type: "finish", Text: string(p.Reason)}
	case transcript.Binary:
		return Part{Type: "file", Text: p.Path}
	case transcript.ImageURL:
		return Part{Type: "image_url", Text: p.URL}
	case transcript.Overlay:
		return Part{Type: "overlay " + string(p.Kind), Text: overlayText(p)}
	case transcript.Unknown:
		return Part{Type: p.Type, Text: string(p.Data)}
	}
	return Part{Type: "unknown"}
}

// overlayText says what an overlay does to later requests.
func overlayText(o transcript.Overlay) string {
	switch o.Kind {
	case transcript.Summarised:
		return fmt.Sprintf("in place of messages 1 to %d (about %d tokens before, %d after):\n%s", o.Through, o.Before, o.After, o.Summary)
	case transcript.Trimmed:
		return fmt.Sprintf("of results of tools in messages 1 to %d, %d bytes each are shown (about %d tokens before, %d after)", o.Through, o.View, o.Before, o.After)
	case transcript.NoSummary:
		return "no summary: " + o.Reason
	default:
		return ""
	}
}
