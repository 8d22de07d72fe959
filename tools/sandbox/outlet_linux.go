//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// How a program gets at its outlet:
//
//	helper:  lo up → listen on 127.0.0.1:3128 ── the listener, over a socket pair ──▶ gateway: Outlet
//	program: connect to 127.0.0.1:3128, the one address of its network at which somebody listens
//
// A socket stays in the network in which it was made, whoever holds it. So the gateway accepts
// inside, and connects outside; the helper relays nothing.

// outletEnd is the gateway's side of an outlet.
type outletEnd struct {
	pair net.Conn      // to the helper
	stop func()        // ends what begin began
	done chan struct{} // closed when nothing of it is left; nil: it was not begun
}

// openOutlet makes the pair of sockets over which the helper hands its listener over.
func openOutlet(r *running, job *spec) (*outletEnd, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket pair for the outlet: %w", err)
	}
	job.Outlet = r.give(os.NewFile(uintptr(fds[1]), "outlet of the helper"))
	own := os.NewFile(uintptr(fds[0]), "outlet")
	defer func() { _ = own.Close() }() // FileConn has its own
	pair, err := net.FileConn(own)
	if err != nil {
		return nil, fmt.Errorf("open the outlet: %w", err)
	}
	return &outletEnd{pair: pair}, nil
}

// begin serves the listener of the helper, once that has sent it. It does so until close, not
// only until ctx ends: a program that is to be killed does not see its connections end before.
func (o *outletEnd) begin(ctx context.Context, serve Outlet) {
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	o.done = make(chan struct{})
	go func() {
		defer close(o.done)
		l, err := receiveListener(o.pair)
		if err != nil {
			return // the helper has ended before, and reports why
		}
		serve(ctx, l)
		_ = l.Close()
	}()
}

// close ends the outlet, and returns when nothing of it is left.
func (o *outletEnd) close() {
	_ = o.pair.Close()
	if o.done == nil {
		return
	}
	o.stop()
	<-o.done
}

var errNoListener = errors.New("the helper has sent no listener")

// receiveListener takes the listener that sendListener sends.
func receiveListener(from net.Conn) (net.Listener, error) {
	c, ok := from.(*net.UnixConn)
	if !ok {
		return nil, errNoListener
	}
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errNoListener, err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(errNoListener, err)
	}
	f := os.NewFile(uintptr(fds[0]), "proxy")
	defer func() { _ = f.Close() }() // FileListener has its own
	return net.FileListener(f)
}

// hasProxy reports whether the program has a proxy, which it can be kept to on a network of its
// own only.
func (r *run) hasProxy() bool { return r.Outlet > 0 && r.Walls.Namespaces }

// openProxy makes the one address of the program's network that can be connected to, and hands
// its listener over to the gateway.
func (r *run) openProxy() error {
	if !r.hasProxy() {
		return nil
	}
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("raise the loopback: %w", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("listen for the proxy: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	at := unix.SockaddrInet4{Port: proxyPort, Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.Bind(fd, &at); err != nil {
		return fmt.Errorf("listen for the proxy: %w", err)
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return fmt.Errorf("listen for the proxy: %w", err)
	}
	if err := unix.Sendmsg(r.Outlet, []byte{0}, unix.UnixRights(fd), nil, 0); err != nil {
		return fmt.Errorf("hand the proxy's listener over: %w", err)
	}
	return unix.Close(r.Outlet)
}

// raiseLoopback makes 127.0.0.1 an address of this network. bubblewrap has done so already.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	if lo.Uint16()&unix.IFF_UP != 0 {
		return nil
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// otherThanProxy are the refusals of a program that has a proxy: all sockets but those of TCP.
// Where it connects by them its network decides, which has no address but the proxy's.
func otherThanProxy() []refusal {
	return []refusal{
		{unix.SYS_SOCKET, unix.EAFNOSUPPORT, []condition{{0, unix.BPF_JEQ, true, unix.AF_INET}}},
		// SOCK_STREAM is 1; all other kinds have one of these bits.
		{unix.SYS_SOCKET, unix.EPERM, []condition{{1, unix.BPF_JSET, false, 0xe}}},
		{unix.SYS_SOCKET, unix.EPROTONOSUPPORT, []condition{{2, unix.BPF_JEQ, true, 0}, {2, unix.BPF_JEQ, true, unix.IPPROTO_TCP}}},
		{nr: unix.SYS_BIND, err: unix.EPERM},
	}
}

// grantProxy lets a program connect to the port of its proxy, and to no other.
func grantProxy(rules int) error {
	if err := llsys.LandlockAddNetPortRule(rules, &llsys.NetPortAttr{AllowedAccess: llsys.AccessNetConnectTCP, Port: proxyPort}, 0); err != nil {
		return fmt.Errorf("landlock: port of the proxy: %w", err)
	}
	return nil
}

// tryOutlet runs the self-test behind the walls of a program that has an outlet. The outlet
// leads nowhere, so that every way out is a hole.
func (s *Sandbox) tryOutlet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, trialTime, errors.New("the self-test took too long"))
	defer cancel()
	nowhere := func(ctx context.Context, _ net.Listener) { <-ctx.Done() }
	if err := s.selfTest(ctx, Command{Outlet: nowhere}); err != nil {
		return fmt.Errorf("self-test of the sandbox with an outlet: %w", err)
	}
	return nil
}
