package transfer

import (
	"cmp"
	"mime"
	"strings"
)

const unknownType = "application/octet-stream"

// MediaType returns a media type as it may stand in a header, made of one that may be
// anything.
func MediaType(s string) string {
	kind, params, err := mime.ParseMediaType(s)
	if err != nil || !strings.Contains(kind, "/") {
		return unknownType
	}
	return cmp.Or(mime.FormatMediaType(kind, params), unknownType)
}
