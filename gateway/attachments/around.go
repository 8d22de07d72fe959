package attachments

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"parley/channels"
)

// What others said is worth a moment, and so many bytes.
const (
	aroundWithin = 5 * time.Second
	aroundBytes  = 64 << 10
)

// aroundText returns what the model reads of what others said before a message, which no
// agent needs a tool for; "" when it cannot be had: the question stands without it.
func (b *Importer) aroundText(ctx context.Context, f File) string {
	if b.Around == nil {
		return ""
	}
	ctx, cancel := context.WithTimeoutCause(ctx, aroundWithin, errLate)
	defer cancel()
	var quotes []channels.Quote
	b.importOne(ctx, f, func(ctx context.Context) (outcome, error) {
		var err error
		quotes, err = b.readQuotes(ctx, f)
		return outcome{}, err
	})
	return b.Around(quotes)
}

// readQuotes reads them from the log, or returns ErrNoFile or what else may be different
// the next time.
func (b *Importer) readQuotes(ctx context.Context, f File) ([]channels.Quote, error) {
	from, _, err := b.Log.OpenFile(ctx, f.object())
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	raw, err := io.ReadAll(io.LimitReader(from, aroundBytes))
	if err != nil {
		return nil, err
	}
	if err := b.Log.DeleteFile(ctx, f.object()); err != nil {
		b.Logger.Warn("fetched context not deleted from the message log, kept until it expires", "error", err)
	}
	var quotes []channels.Quote
	if err := json.Unmarshal(raw, &quotes); err != nil { // of a channel that writes something else
		b.Logger.Error("message context unreadable", "channel", f.Channel, "message", f.Message, "error", err)
		return nil, nil
	}
	return quotes, nil
}
