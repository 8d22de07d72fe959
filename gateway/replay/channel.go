package replay

import (
	"context"
	"strconv"
	"strings"

	"parley/channels"
)

// channel is one account that sends nothing: each part gets the id that it got,
// or is refused when it was.
type channel struct {
	s             *stage
	name, network string
}

var _ channels.Channel = (*channel)(nil)

// Name implements [channels.Channel].
func (c *channel) Name() string { return c.name }

// Receive implements [channels.Channel]: nothing comes.
func (c *channel) Receive(ctx context.Context, _ channels.Accept) error {
	<-ctx.Done()
	return nil
}

// Render implements [channels.Channel].
func (c *channel) Render(markdown string) []channels.Body { return c.s.o.Render(c.network, markdown) }

// Send implements [channels.Channel].
func (c *channel) Send(_ context.Context, r channels.Reply) (channels.Receipt, error) {
	id, part := r.ID, 0
	if n := strings.LastIndexByte(r.ID, '/'); n >= 0 { // as delivery names parts
		if i, err := strconv.Atoi(r.ID[n+1:]); err == nil {
			id, part = r.ID[:n], i
		}
	}
	d := c.s.script.answers[id]
	if d == nil || part >= len(d.Parts) {
		return channels.Receipt{MessageID: "replayed"}, nil
	}
	if d.Parts[part].State == "failed" {
		return channels.Receipt{}, &channels.Error{Kind: channels.Refused, Op: "send", Message: "as recorded"}
	}
	return channels.Receipt{MessageID: d.Parts[part].MessageID}, nil
}
