package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/websocket"
)

// maxConnections is how many an app may have open.
const maxConnections = 10

// maxFrame bounds what a client may send: Slack drops responses above 20 KB.
const maxFrame = 64 << 10

// conn is one Socket Mode connection.
type conn struct {
	server *events
	app    *app
	ws     *websocket.Conn
	entry  *ConnectionEntry
	wake   chan struct{} // capacity 1
	done   chan struct{} // closed when it ends

	// The server's lock guards these.
	queue  [][]byte
	gone   bool
	abrupt bool // ends without a close frame
	ending bool // nothing follows what is queued
	warned bool // it was told to leave
	pings  int  // not answered
}

// write queues a frame.
func (c *conn) write(frame []byte) {
	if c.gone || c.ending {
		return
	}
	c.queue = append(c.queue, frame)
	c.wakeWriter()
}

func (c *conn) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// hangUp ends the connection with what is queued. The caller holds the lock.
func (c *conn) hangUp(reason string) {
	if c.gone {
		return
	}
	c.gone = true
	c.entry.Closed, c.entry.Reason = c.server.opts.Now(), reason
	c.app.conns = slices.DeleteFunc(c.app.conns, func(x *conn) bool { return x == c })
	c.server.books.Notify()
	close(c.done)
}

// hangUp ends every connection of the app. The caller holds the lock.
func (a *app) hangUp(reason string) {
	for _, c := range slices.Clone(a.conns) {
		c.hangUp(reason)
	}
}

// cut ends it as a broken network does, with nothing of what is queued.
func (c *conn) cut() {
	c.abrupt, c.queue = true, nil
	c.hangUp("cut")
}

// cutAfterwards ends it as a broken network does, after what is queued was sent.
func (c *conn) cutAfterwards() {
	c.ending, c.abrupt = true, true
	c.wakeWriter()
}

// openConnection is apps.connections.open.
func (c *call) openConnection() any {
	if c.app.unlinked {
		panic(refuse("link_disabled"))
	}
	ticket := c.uuid()
	c.app.tickets[ticket] = true
	u := "ws" + c.URL()[len("http"):]
	return map[string]any{"url": fmt.Sprintf("%s/link/?ticket=%s&app_id=%s", u, ticket, c.app.ID)}
}

// serveLink is the other end of the URL that apps.connections.open gave.
func (s *events) serveLink(w http.ResponseWriter, r *http.Request) {
	a := s.redeem(r.URL.Query().Get("ticket"))
	if a == nil {
		http.Error(w, "invalid ticket", http.StatusForbidden)
		return
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	c := &conn{server: s, app: a, ws: ws, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if !s.welcome(c, r.RemoteAddr, r.URL.Query().Get("debug_reconnects") == "true") {
		_ = ws.Close()
		return
	}
	defer s.workers.Done()
	go func() {
		defer s.workers.Done()
		c.writeLoop()
	}()
	c.readLoop()
}

// redeem finds whose ticket it is; it is good for one connection.
func (s *events) redeem(ticket string) *app {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.apps {
		if a.tickets[ticket] {
			delete(a.tickets, ticket)
			return a
		}
	}
	return nil
}

// welcome books a connection and says hello on it, unless the server ends.
func (s *events) welcome(c *conn, remote string, short bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop.Err() != nil || !slices.Contains(s.apps, c.app) {
		return false
	}
	s.workers.Add(2)
	a := c.app
	a.conns = append(a.conns, c)
	s.books.totals.Connections++
	c.entry = s.books.connections.Add(ConnectionEntry{
		ID: fmt.Sprint(s.books.totals.Connections), App: a.Name, Remote: remote, Opened: s.opts.Now(), Beside: len(a.conns),
	})
	life := 18060
	if short {
		life = 360
		s.agenda.after(6*time.Minute, s.locked(func() { s.warn(c, "refresh_requested") }))
	}
	if len(a.conns) > maxConnections {
		s.warn(c, "too_many_websockets")
		return true
	}
	c.write(mustJSON(map[string]any{
		"type": "hello", "num_connections": len(a.conns),
		"debug_info":      map[string]any{"host": s.host(c), "build_number": 10, "approximate_connection_time": life},
		"connection_info": map[string]any{"app_id": a.ID},
	}))
	s.books.Notify()
	return true
}

// writeLoop writes what is queued, and pings, until the connection ends.
func (c *conn) writeLoop() {
	ping := time.NewTicker(c.server.opts.PingEvery)
	defer ping.Stop()
	for alive := true; alive && c.flush(); {
		select {
		case <-c.wake:
		case <-ping.C:
			alive = c.ping()
		case <-c.done:
			c.flush()
			alive = false
		}
	}
	c.leave()
}

// flush writes what is queued; false when nothing can follow.
func (c *conn) flush() bool {
	for {
		c.server.mu.Lock()
		q, ending := c.queue, c.ending
		c.queue = nil
		c.server.mu.Unlock()
		if len(q) == 0 {
			return !ending
		}
		for _, frame := range q {
			_ = c.ws.SetWriteDeadline(time.Now().Add(10 * time.Second))
			if c.ws.WriteMessage(websocket.TextMessage, frame) != nil {
				return false
			}
		}
	}
}

// ping is false when the client has not answered for long.
func (c *conn) ping() bool {
	s := c.server
	s.mu.Lock()
	c.pings++
	dead := c.pings > 3
	s.mu.Unlock()
	if dead {
		return false
	}
	return c.ws.WriteControl(websocket.PingMessage, []byte("Ping from "+s.host(c)), time.Now().Add(10*time.Second)) == nil
}

// leave closes the connection, politely or not.
func (c *conn) leave() {
	s := c.server
	s.mu.Lock()
	c.hangUp("the client does not read")
	abrupt := c.abrupt
	s.mu.Unlock()
	if abrupt {
		if tcp, ok := c.ws.NetConn().(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	} else {
		_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	}
	_ = c.ws.Close()
}

// readLoop reads acknowledgements until the connection ends.
func (c *conn) readLoop() {
	c.ws.SetReadLimit(maxFrame)
	c.ws.SetPongHandler(func(string) error {
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		c.pings = 0
		return nil
	})
	for {
		_, raw, err := c.ws.ReadMessage()
		if err != nil {
			c.server.mu.Lock()
			c.hangUp(ended(err))
			c.server.mu.Unlock()
			return
		}
		var ack struct {
			EnvelopeID string `json:"envelope_id"`
		}
		if json.Unmarshal(raw, &ack) == nil && ack.EnvelopeID != "" {
			c.server.acknowledge(c, ack.EnvelopeID)
		}
	}
}

func ended(err error) string {
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		return fmt.Sprintf("closed by the client with %d", closed.Code)
	}
	return "lost"
}
