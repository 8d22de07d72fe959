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
func (s *stage) Bring(_ context.Context, r attachments.Request) ([][]attachments.Brought, error) {
	all := attachments.Unreadable(r.Files)
	i := -1
	for _, p := range s.script.messages[r.ID].Parts {
		switch p := p.(type) {
		case transcript.Text:
			if i++; i >= len(all) {
				return all, nil
			}
			lines := strings.Split(p.Text, "\n")
			if n := len(all[i]); len(lines) >= n {
				for k, line := range lines[len(lines)-n:] {
					all[i][k].Words = line
				}
			}
		case transcript.Binary: // a picture of the text before
			for k, b := range all[max(i, 0)] {
				if strings.Contains(b.Words, ", saved as "+p.Path+",") {
					all[max(i, 0)][k] = attachments.Brought{Words: b.Words, Path: p.Path, MIME: p.MIMEType, Sum: p.Sum}
				}
			}
		}
	}
	return all, nil
}

// unseen stands for a picture: recordings have none, and digests name them by sum.
func unseen(string, transcript.Binary) ([]byte, error) { return []byte{0}, nil }
