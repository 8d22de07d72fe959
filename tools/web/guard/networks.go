package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"parley/problems"
)

// defaultPorts are those of the public web.
var defaultPorts = []uint16{80, 443}

// metadata are addresses at which clouds keep credentials of their machines. No
// configuration opens them.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"),     // most of them: link local
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure: a public address
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle Cloud
	netip.MustParsePrefix("fd00:ec2::/32"),      // AWS
	netip.MustParsePrefix("fd20:ce::254/128"),   // Google Cloud
	netip.MustParsePrefix("fe80::/10"),          // link local
}

// openable are the ranges in which a private network may lie.
var openable = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("::1/128"),
	netip.MustParsePrefix("fc00::/7"),
}

// Network is a private network that may be reached.
type Network struct {
	CIDR string `yaml:"cidr"`
	// Ports may be connected to; none: 80 and 443.
	Ports []int `yaml:"ports"`
}

// private is a Network that was read.
type private struct {
	prefix netip.Prefix
	ports  []uint16
}

var errNotPrivate = errors.New("not inside 127.0.0.0/8, 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, ::1/128 or fc00::/7")

// Validate reports what is wrong with n: a problems.List, with the paths cidr and ports.
func (n Network) Validate() error {
	var ps problems.List
	p, err := netip.ParsePrefix(n.CIDR)
	inside := func(of []netip.Prefix) bool {
		return slices.ContainsFunc(of, func(o netip.Prefix) bool { return o.Overlaps(p) && o.Bits() <= p.Bits() })
	}
	switch {
	case n.CIDR == "":
		ps.Add("cidr", "%w: a network such as 192.168.7.0/24, or one address, 192.168.7.5/32", problems.ErrRequired)
	case err != nil:
		ps.Add("cidr", "%q is not a network such as 192.168.7.0/24; one address is 192.168.7.5/32", n.CIDR)
	case p != p.Masked():
		ps.Add("cidr", "%s has bits behind its prefix; the network is %s, this one address %s", p, p.Masked(), netip.PrefixFrom(p.Addr(), p.Addr().BitLen()))
	case inside(metadata):
		ps.Add("cidr", "at %s clouds keep credentials of their machines, and nothing opens it; remove it", p)
	case !inside(openable):
		ps.Add("cidr", "%s is %w; addresses of the public internet need no line here", p, errNotPrivate)
	}
	for i, port := range n.Ports {
		if port < 1 || port > 65535 {
			ps.Add(fmt.Sprintf("ports[%d]", i), "%d is not 1 to 65535", port)
		}
	}
	return ps.Err()
}

func (n Network) parse() (p private, err error) {
	if err := n.Validate(); err != nil {
		return p, err
	}
	if p.prefix, err = netip.ParsePrefix(n.CIDR); err != nil {
		return p, err // Validate accepted it
	}
	for _, port := range n.Ports {
		p.ports = append(p.ports, uint16(port)) // Validate accepted it
	}
	if p.ports == nil {
		p.ports = defaultPorts
	}
	return p, nil
}
