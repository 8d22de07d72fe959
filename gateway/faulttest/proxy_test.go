package faulttest

import (
	"bufio"
	"io"
	"net"
	"testing"
)

// parrot is a server that says where each line came from, but for "hush", of
// which it only tells the test.
func parrot(t *testing.T) (addr string, heard <-chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	hushed := make(chan net.Conn, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if lines.Text() == "hush" {
						hushed <- c
						continue
					}
					host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
					_, _ = io.WriteString(c, host+"\n")
				}
			}()
		}
	}()
	return l.Addr().String(), hushed
}

func dial(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr) //nolint:noctx // loopback: at once or not at all
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, bufio.NewReader(c)
}

func TestWhatComesThroughADoorIsKnownByItsAddress(t *testing.T) {
	t.Parallel()
	to, _ := parrot(t)
	p := NewProxy(t, to)
	for _, life := range []Incarnation{incarnationOf(0, 1), incarnationOf(1, 300)} {
		c, r := dial(t, p.ListenAs(t, string(life)))
		if _, err := io.WriteString(c, "who\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := r.ReadString('\n'); got != string(life)+"\n" || err != nil {
			t.Errorf("the server saw %q, not %s: %v", got, life, err)
		}
	}
	if incarnationOf(0, 1) == incarnationOf(0, 2) || incarnationOf(0, 250) == incarnationOf(1, 250) || incarnationOf(0, 1) == incarnationOf(0, 251) {
		t.Error("two lives have one address")
	}
}

func TestOnlyConnectionsOnWhichNobodyWaitsAreIdle(t *testing.T) {
	t.Parallel()
	to, hushed := parrot(t)
	p := NewProxy(t, to)
	idle, answers := dial(t, p.Addr())
	if _, err := io.WriteString(idle, "who\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	waiting, answer := dial(t, p.Addr())
	if _, err := io.WriteString(waiting, "hush\n"); err != nil {
		t.Fatal(err)
	}
	server := <-hushed
	gone := make(chan error, 1)
	go func() {
		_, err := answers.ReadByte()
		gone <- err
	}()
	for done := false; !done; { // the proxy learns that it is idle just after we do
		p.ResetIdle()
		select {
		case err := <-gone:
			if err == nil {
				t.Error("something came on an idle connection")
			}
			done = true
		default:
		}
	}
	if _, err := io.WriteString(server, "at last\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := answer.ReadString('\n'); got != "at last\n" || err != nil {
		t.Errorf("who waited for an answer got %q: %v", got, err)
	}
}
