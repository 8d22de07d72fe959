package gateway

import (
	"context"

	"parley/gateway/inquiries"
)

// openInquiries makes what asks people for programs, and asks what the last process had taken up
// and not asked yet.
func (g *Gateway) openInquiries(ctx context.Context, opened resources) error {
	g.inquiries = &inquiries.Desk{
		Store: opened.store, Log: opened.log, Logger: g.o.Logger, Now: g.o.Now,
		Present: func() inquiries.Settings { return g.present().asked },
	}
	return g.inquiries.Restore(ctx)
}
