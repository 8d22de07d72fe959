package signal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"

	"parley/channels/internal/transfer"
)

func (p *httpCaller) exchange(ctx context.Context, request *transfer.Body, read func(*bufio.Reader) error) error {
	lost := func(left bool, err error) error { return &lostError{left, withCause(ctx, err)} }
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/api/v1/rpc", io.NopCloser(request))
	if err != nil {
		return lost(false, fmt.Errorf("make the request: %w", err))
	}
	req.ContentLength = request.Size()
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return lost(request.MayHaveLeft(), fmt.Errorf("reach signal-cli: %w", err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		return lost(request.MayHaveLeft() && mayHaveActed(resp.StatusCode), unexpectedAnswer(resp, text))
	}
	return read(bufio.NewReaderSize(resp.Body, 64<<10))
}

// mayHaveActed reports whether what was asked for may have been done, of a status that
// is not OK. 4xx: signal-cli or a proxy before it looked at no more than the form of
// the request. Any other status says nothing of what was done.
func mayHaveActed(status int) bool {
	return status < 300 || status >= 500 || status == http.StatusRequestTimeout
}

func (l *socketCaller) exchange(ctx context.Context, request *transfer.Body, read func(*bufio.Reader) error) error {
	conn, err := l.dial(ctx)
	if err != nil {
		return &lostError{false, fmt.Errorf("reach signal-cli: %w", withCause(ctx, err))}
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	// It is read meanwhile: a client that does not read holds up the daemon.
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		if _, err := io.Copy(conn, request); err != nil {
			_ = conn.Close() // read finds that out
		}
	}()
	err = read(bufio.NewReaderSize(conn, 64<<10))
	_ = conn.Close()
	<-wrote
	return err
}
