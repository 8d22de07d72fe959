package replay

import (
	"context"
	"io"
	"math"
	"strconv"
	"strings"

	"parley/broker"
	"parley/channels"
	"parley/gateway/settings"
)

// channel is one account that sends nothing: each part gets the id that it got,
// or is refused when it was.
type channel struct {
	s             *player
	name, network string
}

var (
	_ channels.Channel    = (*channel)(nil)
	_ channels.FileSender = (*channel)(nil)
)

// Name implements [channels.Channel].
func (c *channel) Name() string { return c.name }

// Receive implements [channels.Channel]: nothing comes.
func (c *channel) Receive(ctx context.Context, _ channels.Accept) error {
	<-ctx.Done()
	return nil
}

// Render implements [channels.Channel].
func (c *channel) Render(markdown string) []channels.Body {
	return settings.Render(c.network, markdown)
}

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

// LargestFile implements [channels.FileSender]. What was too large fails as it did.
func (*channel) LargestFile() int64 { return math.MaxInt64 }

// SendFile implements [channels.FileSender].
func (c *channel) SendFile(ctx context.Context, r channels.Reply, _ channels.File, _ io.Reader) (channels.Receipt, error) {
	return c.Send(ctx, r)
}

// blankFiles is what files hold, of which a recording has nothing but the sizes.
type blankFiles struct{ s *script }

// OpenFile implements delivery.Files.
func (c blankFiles) OpenFile(_ context.Context, id string) (io.ReadCloser, int64, error) {
	if d := c.s.answers[id]; d != nil && d.File != nil {
		return io.NopCloser(strings.NewReader("")), d.File.Size, nil
	}
	return nil, 0, broker.ErrNoFile
}

// DeleteFile implements delivery.Files.
func (blankFiles) DeleteFile(context.Context, string) error { return nil }
