package conversations_test

import (
	"testing"

	"parley/gateway/conversations"
)

// ruling 28: one line, at most six words, no markup, nothing that is not shown.
func TestCleanTitle(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Apples":                                   "Apples",
		"\n\n  **“Red  Apples”**.\nand more":       "Red Apples",
		"title: one two three four five six seven": "one two three four five six",
		"# `rm -rf /`":                             "rm -rf /",
		"a\x1b[31mb\u202ec\x00":                    "a31mbc",
		"<b>Äpfel</b>":                             "bÄpfel/b",
		" ** \n `` ":                               "",
		"":                                         "",
		"Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenhalter": "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenh…",
	} {
		if got := conversations.CleanTitle(in); got != want {
			t.Errorf("CleanTitle(%q) = %q, want %q", in, got, want)
		}
	}
	if got := conversations.GivenTitle("one two three four five six seven"); got != "one two three four five six seven" {
		t.Errorf("a person's title became %q", got)
	}
}
