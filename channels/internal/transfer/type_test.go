package transfer_test

import (
	"mime"
	"strings"
	"testing"

	"parley/channels/internal/transfer"
)

func TestTypesAreTypes(t *testing.T) {
	t.Parallel()
	const unknown = "application/octet-stream"
	for in, want := range map[string]string{
		"text/plain":                  "text/plain",
		"Text/Plain; charset=utf-8":   "text/plain; charset=utf-8",
		"":                            unknown,
		"pdf":                         unknown,
		"text/plain\r\nX-Evil: 1":     unknown,
		"text/plain; a=\"b\r\nX: 1\"": unknown,
		"text/\u202Eplain":            unknown,
	} {
		got := transfer.MediaType(in)
		if got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if _, _, err := mime.ParseMediaType(got); err != nil || strings.ContainsAny(got, "\r\n") {
			t.Errorf("%q: %v", got, err)
		}
	}
}
