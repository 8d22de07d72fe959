package admin

import (
	"context"
	"net/http"
	"time"
)

// PageCode lets whoever has it log in to the operator page, once.
type PageCode struct {
	URL   string    `json:"url"`
	Code  string    `json:"code"`
	Until time.Time `json:"until"`
}

func (s *Server) pageCode(r *http.Request) (any, error) {
	if s.o.PageCode == nil {
		return nil, newError(Refused, "this gateway has no operator page: set page.enabled: true, and start it again")
	}
	return s.o.PageCode(actor(r.Context()))
}

// PageCode returns where the operator page is, and a code with which its reader logs in there within
// the next minutes.
func (c *Client) PageCode(ctx context.Context) (PageCode, error) {
	return askFor[PageCode](ctx, c.connection, http.MethodPost, "/v1/page/code", nil)
}
