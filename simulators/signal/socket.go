package signal

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"sync"
)

// maxLine bounds a request on a socket: a file of 100 MB in base64.
const maxLine = maxRequest

// acceptAll serves clients of a socket.
func (d *Daemon) acceptAll(l net.Listener, transport string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			if d.ctx.Err() == nil {
				d.log("ERROR", "SocketHandler", "Failed to accept: "+err.Error())
			}
			return
		}
		d.log("INFO", "SocketHandler", "Accepted new client connection")
		d.wg.Go(func() {
			defer d.track(conn)()
			newPeer(d, conn, transport).serve()
		})
	}
}

// peer is a client on a socket: lines of JSON-RPC both ways. Its requests run side
// by side, and answers come as they are done.
type peer struct {
	d         *Daemon
	conn      net.Conn
	transport string
	calls     sync.WaitGroup

	mu   sync.Mutex // guards what follows, and is held while writing
	subs map[int][]subscription
}

type subscription struct {
	m *manager
	h *handler
}

func newPeer(d *Daemon, conn net.Conn, transport string) *peer {
	return &peer{d: d, conn: conn, transport: transport, subs: map[int][]subscription{}}
}

func (p *peer) serve() {
	p.d.waitWhileHung()
	if p.d.o.ReceiveMode != Manual {
		p.subscribe(p.d.managers, true)
	}
	from := rpcClient{transport: p.transport, subscribe: func(ms []*manager) int { return p.subscribe(ms, false) }, unsubscribe: p.unsubscribe}
	in := bufio.NewScanner(p.conn)
	in.Buffer(make([]byte, 0, 4096), maxLine)
	for in.Scan() {
		text := append([]byte(nil), in.Bytes()...)
		p.calls.Go(func() { p.reply(p.d.answerTo(p.d.ctx, from, text)) })
	}
	p.calls.Wait()
	p.mu.Lock()
	ids := make([]int, 0, len(p.subs))
	for id := range p.subs {
		ids = append(ids, id)
	}
	p.mu.Unlock()
	for _, id := range ids {
		p.unsubscribe(id)
	}
}

// subscribe begins to bring what accounts receive. The internal subscription, the
// one that nobody asked for, is not named in what it brings.
func (p *peer) subscribe(ms []*manager, internal bool) int {
	p.d.mu.Lock()
	id := p.d.nextSub
	p.d.nextSub++
	p.d.mu.Unlock()
	var subs []subscription
	for _, m := range ms {
		h := &handler{write: func(_ Account, raw json.RawMessage) error { return p.bring(id, raw, internal) }, cut: p.cut}
		subs = append(subs, subscription{m, h})
	}
	p.mu.Lock()
	p.subs[id] = subs
	p.mu.Unlock()
	for _, s := range subs {
		s.m.add(s.h, false)
	}
	return id
}

func (p *peer) unsubscribe(id int) bool {
	p.mu.Lock()
	subs, ok := p.subs[id]
	delete(p.subs, id)
	p.mu.Unlock()
	for _, s := range subs {
		s.m.drop(s.h, false)
	}
	return ok
}

type notification struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

func (p *peer) bring(id int, raw json.RawMessage, internal bool) error {
	n := notification{JSONRPC: "2.0", Method: "receive", Params: raw}
	if !internal {
		n.Params = struct {
			Subscription int             `json:"subscription"`
			Result       json.RawMessage `json:"result"`
		}{id, raw}
	}
	return p.write(encode(n))
}

func (p *peer) write(line []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.conn.Write(append(line, '\n'))
	return err
}

// reply writes an answer, or what a fault makes of it.
func (p *peer) reply(o outcome) {
	switch o.trouble {
	case HTTPError, Dropped, Ambiguous:
		_ = p.conn.Close()
	case Hanging, Hung:
	case Truncated:
		p.mu.Lock()
		defer p.mu.Unlock()
		_, _ = p.conn.Write(o.body[:len(o.body)/2])
		_ = p.conn.Close()
	case Garbage:
		_ = p.write([]byte("It works!\x00\xff"))
	default:
		if o.body != nil {
			_ = p.write(o.body)
		}
	}
}

// cut writes half a notification and closes.
func (p *peer) cut(raw json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.conn, `{"jsonrpc":"2.0","method":"receive","params":`+string(raw[:len(raw)/2]))
	_ = p.conn.Close()
}
