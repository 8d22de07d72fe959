package gateway

import (
	"encoding/json"
	"testing"

	"parley/tools/mcp"
)

// What a model does not read of a tool of an MCP server counts too: an edition that kept the tool
// of another digest would have all of its calls refused.
func TestServerToolsOfAnotherDigestAreOthers(t *testing.T) {
	t.Parallel()
	tool := func(digest string) []mcp.Recording {
		return []mcp.Recording{{Server: "test", Definition: mcp.Definition{Name: "echo", Schema: json.RawMessage(`{"type":"object"}`), Digest: digest}}}
	}
	if a := mcp.Recorded(tool("a")); !sameTools(a, mcp.Recorded(tool("a"))) || sameTools(a, mcp.Recorded(tool("b"))) || sameTools(a, nil) {
		t.Error("tools are the same if they and their digests are, and else they are not")
	}
}
