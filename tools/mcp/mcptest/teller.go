package mcptest

import (
	"context"
	"errors"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Told is what a server says, as one kind of content.
type Told struct {
	Part string // text, error, link, resource or structured; empty: text
	Text string
}

// Teller returns a server over streamable HTTP whose tool look returns what tell gives of a name,
// and whose tool described says about of itself.
func Teller(about string, tell func(name string) Told) http.Handler {
	s := sdk.NewServer(&sdk.Implementation{Name: "teller", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "described", Description: about}, say(func(context.Context, string) (string, error) { return "done", nil }))
	sdk.AddTool(s, &sdk.Tool{Name: "look", Description: "Look something up."}, func(_ context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
		told := tell(in.Text)
		switch told.Part {
		case "error":
			return nil, nil, errors.New(told.Text)
		case "link":
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{Name: told.Text, Title: told.Text, Description: told.Text, URI: "file:///" + in.Text}}}, nil, nil
		case "resource":
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "note:" + told.Text, Text: told.Text}}}}, nil, nil
		case "structured":
			return &sdk.CallToolResult{StructuredContent: map[string]string{told.Text: told.Text}}, nil, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: told.Text}}}, nil, nil
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true})
}
