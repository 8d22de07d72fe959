package faulttest

import (
	"net"
	"sync"
	"testing"
)

// Proxy is a TCP connection's way through something that can break. Its methods
// may be called by many goroutines.
type Proxy struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	doors  []net.Listener // besides listener
	to     string
	conns  map[net.Conn]bool // and whether it was its server that spoke last
	cut    bool
	frozen chan struct{} // nil: bytes pass; else closed when they pass again
}

// NewProxy listens on a free port of loopback for connections to addr, until the
// test ends.
func NewProxy(t testing.TB, addr string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{to: addr, listener: l, conns: map[net.Conn]bool{}}
	p.wg.Go(func() { p.accept(l, nil) })
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, d := range p.doors {
			_ = d.Close()
		}
		p.mu.Unlock()
		p.Cut()
		p.wg.Wait()
	})
	return p
}

// ListenAs opens another address to connect to, and returns it: what comes in there
// leaves from the address from, by which the other end can tell who it was.
func (p *Proxy) ListenAs(t testing.TB, from string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		t.Error(err)
		return ""
	}
	p.mu.Lock()
	p.doors = append(p.doors, l)
	p.mu.Unlock()
	p.wg.Go(func() { p.accept(l, &net.TCPAddr{IP: net.ParseIP(from)}) })
	return l.Addr().String()
}

// Addr returns where to connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Redirect ends every connection; from now on new ones lead to addr, as when a stable
// address is switched to another server.
func (p *Proxy) Redirect(addr string) {
	p.mu.Lock()
	p.to = addr
	p.mu.Unlock()
	p.Reset()
}

// Cut ends every connection, with a reset, and refuses new ones until Mend.
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.cut = true
	p.thaw()
	p.mu.Unlock()
	p.Reset()
}

// Reset ends every connection; new ones pass.
func (p *Proxy) Reset() { p.reset(false) }

// ResetIdle ends the connections on which the server spoke last: while no answer
// is being given, nobody waits for one there.
func (p *Proxy) ResetIdle() { p.reset(true) }

func (p *Proxy) reset(idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, answered := range p.conns {
		if idle && !answered {
			continue
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// HalfOpen swallows what is sent from now on, in both directions: connections
// stay and say nothing, and new ones too, until Mend.
func (p *Proxy) HalfOpen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// Mend undoes Cut and HalfOpen. What HalfOpen held back passes.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
	p.thaw()
}

// thaw lets bytes pass. The caller holds mu.
func (p *Proxy) thaw() {
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// accept takes connections until l is closed. They leave from the address from;
// nil: any.
func (p *Proxy) accept(l net.Listener, from net.Addr) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.connect(in, from) })
	}
}

func (p *Proxy) connect(in net.Conn, from net.Addr) {
	if !p.track(in) {
		return
	}
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	d := net.Dialer{LocalAddr: from}
	out, err := d.Dial("tcp", to) // loopback: at once or not at all
	if err != nil || !p.track(out) {
		p.drop(in)
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			p.relay(way[1], way[0], way[0] == out)
			p.drop(in)
			p.drop(out)
		})
	}
	both.Wait()
}

// track notes c, or closes it while the line is cut.
func (p *Proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		_ = c.Close()
		return false
	}
	p.conns[c] = false
	return true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

// relay hands on what comes; answers says that from is the server.
func (p *Proxy) relay(to, from net.Conn, answers bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			frozen := p.frozen
			p.setIdle(false, to, from)
			p.mu.Unlock()
			if frozen != nil {
				<-frozen
			}
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
			p.mu.Lock()
			p.setIdle(answers, to, from)
			p.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// setIdle notes whether the server spoke last. The caller holds mu.
func (p *Proxy) setIdle(is bool, conns ...net.Conn) {
	for _, c := range conns {
		if _, ok := p.conns[c]; ok {
			p.conns[c] = is
		}
	}
}
