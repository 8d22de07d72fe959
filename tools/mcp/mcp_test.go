package mcp_test

import (
	"os"
	"testing"

	"parley/tools/mcp/mcptest"
	"parley/tools/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	mcptest.Main()
	os.Exit(m.Run())
}
