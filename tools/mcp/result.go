package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
)

// maxText is how many bytes of what a server answered stand in the frame.
const maxText = 190_000

// maxNamed is how many bytes are shown of a name or URI that a server gives.
const maxNamed = 200

// frame returns what a server said as a model reads it.
func frame(server, text string) string {
	return tools.FrameUntrusted("the MCP server "+server, tools.Truncate(tools.Visible(text), maxText))
}

// resultText returns the content of a result as text. What is no text is named.
func resultText(r *sdk.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, contentText(c))
	}
	if r.StructuredContent != nil && !repeats(r.Content, r.StructuredContent) {
		text, err := json.Marshal(r.StructuredContent)
		if err != nil {
			text = []byte("[structured content that is no JSON]")
		}
		parts = append(parts, string(text))
	}
	return strings.Join(parts, "\n")
}

// repeats reports whether a text of the content says the same as the structured content, as
// servers do for clients that know texts only.
func repeats(all []sdk.Content, structured any) bool {
	for _, c := range all {
		var same any
		if t, ok := c.(*sdk.TextContent); ok && json.Unmarshal([]byte(t.Text), &same) == nil && reflect.DeepEqual(same, structured) {
			return true
		}
	}
	return false
}

func contentText(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[a picture, %s of %d bytes, which is not shown]", named(c.MIMEType), len(c.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("[a sound, %s of %d bytes, which is not played]", named(c.MIMEType), len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[a link to the resource %s: %s]", named(c.Name), named(c.URI))
	case *sdk.EmbeddedResource:
		switch r := c.Resource; {
		case r == nil:
			return "[a resource without content]"
		case r.Text != "":
			return fmt.Sprintf("[the resource %s]\n%s", named(r.URI), r.Text)
		default:
			return fmt.Sprintf("[the resource %s, %s of %d bytes, which is not shown]", named(r.URI), named(r.MIMEType), len(r.Blob))
		}
	default:
		return "[content of a kind that is not known here]"
	}
}

// named returns a name that a server gives, on one line and bounded.
func named(s string) string {
	s = strings.Join(strings.Fields(tools.Visible(s)), " ")
	if s == "" {
		return "without a name"
	}
	return shorten(s, maxNamed)
}

// unknownKind returns what kind of result r is, if that is neither a complete one nor a question: a
// task, for example. Such a result has no content, and is none.
func unknownKind(r *sdk.CallToolResult) string {
	if len(r.Content) > 0 || r.StructuredContent != nil {
		return ""
	}
	var said struct {
		Kind string `json:"resultType"`
	}
	text, err := json.Marshal(r)
	if err != nil || json.Unmarshal(text, &said) != nil || said.Kind == "complete" || said.Kind == "input_required" {
		return ""
	}
	return shorten(tools.Visible(said.Kind), maxNamed)
}
