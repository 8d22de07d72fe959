package admin

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
)

// clientConn is the client's end of a connection. A gateway that hangs up before it
// has said a word refused who asks. Of that net/http makes a different error
// each time, as its goroutines come to see it, so it is told here.
type clientConn struct {
	net.Conn
	heard, refused atomic.Bool
}

func (c *clientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.heard.Store(true)
	}
	return n, c.explain(err)
}

func (c *clientConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.explain(err)
}

// explain is err, or that nobody here may ask.
func (c *clientConn) explain(err error) error {
	hungUp := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	if hungUp && !c.heard.Load() {
		c.refused.Store(true)
	}
	// Who read that closes the connection, and who writes is told only of that.
	if err != nil && c.refused.Load() {
		return ErrNotYours
	}
	return err
}
