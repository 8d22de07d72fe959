package signal

import (
	"encoding/json"
	"fmt"
	"strings"
)

// plainText returns what signal-cli writes for people when the output is not JSON: enough
// of it to see that a program must ask for JSON.
func plainText(raw json.RawMessage) []byte {
	var e wireEntry
	if err := json.Unmarshal(raw, &e); err != nil || e.Envelope == nil {
		return []byte("Envelope that cannot be shown\n")
	}
	var b strings.Builder
	source := ""
	if e.Envelope.Source != nil {
		source = *e.Envelope.Source
	}
	fmt.Fprintf(&b, "Envelope from: %s to %s\nTimestamp: %d\n", source, e.Account, e.Envelope.Timestamp)
	if d := e.Envelope.DataMessage; d != nil && d.Message != nil {
		fmt.Fprintf(&b, "Body: %s\n", *d.Message)
	}
	if e.Exception != nil {
		fmt.Fprintf(&b, "Exception: %s (%s)\n", e.Exception.Message, e.Exception.Type)
	}
	return []byte(b.String())
}
