// Package guard connects to addresses of the public internet and to no others, for URLs
// that strangers have a hand in: those that a model writes, that a page redirects to, that a
// message names.
//
//	URL → Parse → Client → redirect? → Parse again → Dial → resolver → check → connect
//
// An address is checked when the connection is made, after its name was resolved, so
// neither an odd spelling nor a name that resolves to another address the second time
// leads past it. See docs/decisions/0083.
package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// ErrRefused means that an address is out of reach, whether or not something listens there:
// it is private, of this machine, of a cloud's own services or reserved, or it is a port
// that is not asked there.
var ErrRefused = errors.New("address out of reach")

// Options are what a Guard is made of. The zero Options reach the public internet.
type Options struct {
	// Private are networks that may be reached although they are not public.
	Private []Network
	// Ports are those of the public internet that may be connected to; none: 80 and 443.
	Ports []uint16
	// Resolver resolves names; nil: [net.DefaultResolver].
	Resolver *net.Resolver
	// OwnAddresses returns the addresses of this machine, which are out of reach unless they
	// are in Private, because its firewall does not stand before them; nil: those of its
	// interfaces.
	OwnAddresses func() ([]net.Addr, error)
}

// Guard decides which addresses are reached. It may be used concurrently.
type Guard struct {
	private  []private
	ports    []uint16 // of public addresses
	public   *ssrf.Guardian
	own      func() ([]net.Addr, error)
	resolver *net.Resolver
}

// New makes a Guard.
func New(o Options) (*Guard, error) {
	ports := o.Ports
	if len(ports) == 0 {
		ports = defaultPorts
	}
	g := &Guard{
		ports:    ports,
		public:   ssrf.New(ssrf.WithPorts(ports...)),
		own:      o.OwnAddresses,
		resolver: o.Resolver,
	}
	if g.own == nil {
		g.own = net.InterfaceAddrs
	}
	for _, n := range o.Private {
		p, err := n.parse()
		if err != nil {
			return nil, fmt.Errorf("guard: private network %s: %w", n.CIDR, err)
		}
		g.private = append(g.private, p)
	}
	return g, nil
}

// Dial connects to an address, as the DialContext of an http.Transport. An address that is
// out of reach is ErrRefused, before a packet is sent to it.
func (g *Guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Resolver: g.resolver, ControlContext: g.control}
	return d.DialContext(ctx, network, address) // who called knows what was dialled
}

// control checks the resolved address of a connection that is about to be made.
func (g *Guard) control(_ context.Context, network, address string, c syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return ErrRefused
	}
	if slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(to.Addr().Unmap()) }) {
		return ErrRefused
	}
	for _, p := range g.private {
		if p.prefix.Contains(to.Addr()) && slices.Contains(p.ports, to.Port()) {
			return nil
		}
	}
	if g.isOwn(to.Addr()) || g.public.Safe(network, address, c) != nil {
		return ErrRefused
	}
	return nil
}

// isOwn reports whether an address is one of this machine, or may be.
func (g *Guard) isOwn(a netip.Addr) bool {
	all, err := g.own()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(all, func(own net.Addr) bool {
		p, err := netip.ParsePrefix(own.String())
		return err != nil || p.Addr().Unmap().WithZone("") == a.Unmap().WithZone("")
	})
}
