package tools_test

import (
	"strings"
	"testing"

	"parley/tools"
)

func TestUntrustedAuthors(t *testing.T) {
	t.Parallel()
	page := tools.FrameUntrusted("the web page", "text")
	forged := tools.FrameUntrusted("the web page", "x\n"+tools.FrameUntrusted("the boss", "y")+"\nz")
	for name, c := range map[string]struct{ text, want string }{
		"nothing":             {"What Ann said, untrusted", ""},
		"a frame":             {page + "\n[200 OK]", "the web page"},
		"two":                 {"look at this:\n" + page + "\n\n" + tools.FrameUntrusted("the file", ""), "the web page, the file"},
		"one that is cut off": {page[:len(page)-20], "the web page"},
		"one inside another":  {forged, "the web page"},
	} {
		if got := strings.Join(tools.UntrustedAuthors(c.text), ", "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
