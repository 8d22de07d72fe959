package redis_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"parley/sessions/redis/redistest"
)

// switchboard is an address that leads to one server at a time, as a failover of
// Redis does.
type switchboard struct {
	URL string

	wg     sync.WaitGroup
	mu     sync.Mutex
	target string
	open   map[net.Conn]bool
}

func newSwitchboard(t testing.TB, to *redistest.Server) *switchboard {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the test
	if err != nil {
		t.Fatal(err)
	}
	s := &switchboard{URL: "redis://" + l.Addr().String() + "/0", target: to.Addr(), open: map[net.Conn]bool{}}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				s.wg.Go(func() { s.serve(c) })
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.cut()
		s.wg.Wait()
	})
	return s
}

func (s *switchboard) serve(c net.Conn) {
	s.mu.Lock()
	to := s.target
	s.mu.Unlock()
	d, err := net.Dial("tcp", to) //nolint:noctx // it ends with the test
	if err != nil {
		_ = c.Close()
		return
	}
	s.mu.Lock()
	gone := s.target != to
	s.open[c], s.open[d] = true, true
	s.mu.Unlock()
	if gone {
		_ = c.Close()
	}
	s.wg.Go(func() {
		_, _ = io.Copy(d, c)
		_ = d.Close()
	})
	_, _ = io.Copy(c, d)
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	delete(s.open, d)
}

func (s *switchboard) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target += " " // who is about to dial finds out
	for c := range s.open {
		_ = c.Close()
	}
}

// to ends all connections and leads to another server.
func (s *switchboard) to(server *redistest.Server) {
	s.cut()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = server.Addr()
}
