package replay

import (
	"context"
	"strings"

	"parley/gateway/attachments"
	"parley/gateway/worker"
	"parley/transcript"
)

var _ worker.Attachments = (*stage)(nil)

// Bring implements [worker.Attachments]: what was read of the files stands, a line for
// each, at the end of each part of the message.
func (s *stage) Bring(_ context.Context, r attachments.Request) ([][]string, error) {
	said := attachments.Unreadable(r.Files)
	was := s.script.messages[r.ID].Parts
	for i := range min(len(said), len(was)) {
		text, ok := was[i].(transcript.Text)
		lines := strings.Split(text.Text, "\n")
		if n := len(said[i]); ok && len(lines) >= n {
			said[i] = lines[len(lines)-n:]
		}
	}
	return said, nil
}
