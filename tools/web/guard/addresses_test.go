package guard

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// nowhere is a machine without addresses.
func nowhere() ([]net.Addr, error) { return nil, nil }

func mustNew(t *testing.T, o Options) *Guard {
	t.Helper()
	if o.OwnAddresses == nil {
		o.OwnAddresses = nowhere
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// verdict is what the check at the dial says of an address.
func (g *Guard) verdict(t *testing.T, address string) error {
	t.Helper()
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		t.Fatal(err)
	}
	network := "tcp6"
	if a.Addr().Is4() {
		network = "tcp4"
	}
	return g.control(t.Context(), network, address, nil)
}

// S7.3: what is not the public internet is out of reach, at every port.
func TestControl(t *testing.T) {
	t.Parallel()
	g := mustNew(t, Options{})
	refused := strings.Fields(`
		0.0.0.0 0.1.2.3 127.0.0.1 127.1.2.3 10.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1
		169.254.1.1 169.254.169.254 168.63.129.16 100.100.100.200 192.0.0.192 192.0.0.1 192.0.2.1
		192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1
		203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
		:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1
		64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b:1::1 100::1 2001::1 2001:2::1 2001:10::1 2001:20::1
		2001:db8::1 2002:7f00:1:: 2002:a00:1:: 3fff::1 5f00::1 2620:4f:8000::1 fc00::1 fd00::1
		fd00:ec2::254 fd20:ce::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 2606:4700::1%eth0`)
	for _, a := range refused {
		for _, port := range []string{"80", "443"} {
			if err := g.verdict(t, net.JoinHostPort(a, port)); !errors.Is(err, ErrRefused) || err.Error() != ErrRefused.Error() {
				t.Errorf("%s at port %s: %v", a, port, err)
			}
		}
	}
	if len(refused) < 40 {
		t.Errorf("only %d addresses are tried", len(refused))
	}
	for _, a := range []string{"93.184.216.34:80", "1.1.1.1:443", "100.63.255.255:443", "100.128.0.1:443", "172.32.0.1:80", "[2606:4700::1111]:443", "[2a00:1450::1]:80"} {
		if err := g.verdict(t, a); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
	for _, port := range []string{"0", "22", "25", "53", "3306", "6379", "8080", "8443"} {
		if err := g.verdict(t, "93.184.216.34:"+port); !errors.Is(err, ErrRefused) {
			t.Errorf("port %s of a public address: %v", port, err)
		}
	}
	for _, not := range [][2]string{{"udp4", "1.1.1.1:443"}, {"tcp4", "example.org:443"}, {"tcp4", "1.1.1.1"}, {"unix", "/run/x"}} {
		if err := g.control(t.Context(), not[0], not[1], nil); !errors.Is(err, ErrRefused) {
			t.Errorf("%v: %v", not, err)
		}
	}
}

// Whoever makes a guard may say which ports of the public internet are asked; no address is
// within reach for that.
func TestControlOfPorts(t *testing.T) {
	t.Parallel()
	g := mustNew(t, Options{Ports: []uint16{8443}})
	for a, open := range map[string]bool{"93.184.216.34:8443": true, "93.184.216.34:443": false, "10.0.0.1:8443": false, "169.254.169.254:8443": false} {
		if err := g.verdict(t, a); (err == nil) != open {
			t.Errorf("%s: %v, want open %v", a, err, open)
		}
	}
}

func TestControlOfPrivateNetworks(t *testing.T) {
	t.Parallel()
	g := mustNew(t, Options{Private: []Network{
		{CIDR: "192.168.7.0/24"},
		{CIDR: "127.0.0.1/32", Ports: []int{8080}},
		{CIDR: "100.64.0.0/10"},
		{CIDR: "fd12::/64", Ports: []int{443}},
	}})
	for a, open := range map[string]bool{
		"192.168.7.1:80": true, "192.168.7.255:443": true, "192.168.7.1:8080": false, "192.168.8.1:80": false,
		"127.0.0.1:8080": true, "127.0.0.1:80": false, "127.0.0.2:8080": false,
		"[::ffff:127.0.0.1]:8080": false, "[::ffff:192.168.7.1]:80": false, "[::1]:8080": false,
		"[fd12::1]:443": true, "[fd12::1]:80": false, "[fd12:1::1]:443": false, "[fd12::1%eth0]:443": false,
		"100.64.0.1:80": true, "100.100.100.200:80": false, // which are a cloud's own, whatever opens the network around them
		"93.184.216.34:80": true, "93.184.216.34:8080": false, "10.0.0.1:8080": false,
	} {
		if err := g.verdict(t, a); (err == nil) != open {
			t.Errorf("%s: %v, want open %v", a, err, open)
		}
	}
}

// A firewall keeps others from a machine's ports, not the machine itself.
func TestControlOfThisMachine(t *testing.T) {
	t.Parallel()
	own := func(all ...string) func() ([]net.Addr, error) {
		return func() (as []net.Addr, err error) {
			for _, cidr := range all {
				ip, n, err := net.ParseCIDR(cidr)
				if err != nil {
					return nil, err
				}
				as = append(as, &net.IPNet{IP: ip, Mask: n.Mask})
			}
			return as, nil
		}
	}
	g := mustNew(t, Options{OwnAddresses: own("93.184.216.34/24", "2606:4700::5/64")})
	for a, open := range map[string]bool{"93.184.216.34:443": false, "93.184.216.35:443": true, "[2606:4700::5]:443": false, "[2606:4700::6]:443": true} {
		if err := g.verdict(t, a); (err == nil) != open {
			t.Errorf("%s: %v, want open %v", a, err, open)
		}
	}
	g = mustNew(t, Options{OwnAddresses: func() ([]net.Addr, error) { return nil, errors.New("no list") }})
	if err := g.verdict(t, "1.1.1.1:443"); !errors.Is(err, ErrRefused) {
		t.Errorf("without a list of its own addresses: %v", err)
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for cidr, want := range map[string]string{
		"10.0.0.0/8": "", "10.1.2.3/32": "", "127.0.0.0/8": "", "::1/128": "", "fc00::/7": "", "fd12:3456::/48": "", "100.64.0.0/10": "",
		"":                 "cidr: required",
		"10.0.0.1":         `cidr: "10.0.0.1" is not a network`,
		"localhost":        "is not a network",
		"10.0.0.1/8":       "the network is 10.0.0.0/8, this one address 10.0.0.1/32",
		"0.0.0.0/0":        "is not inside 127.0.0.0/8",
		"::/0":             "is not inside 127.0.0.0/8",
		"8.0.0.0/7":        "is not inside 127.0.0.0/8",
		"93.184.216.34/32": "is not inside 127.0.0.0/8",
		"169.254.0.0/16":   "nothing opens it",
		"169.254.9.1/32":   "nothing opens it",
		"fe80::/10":        "nothing opens it",
		"fd00:ec2::/32":    "nothing opens it",
		"224.0.0.0/4":      "is not inside 127.0.0.0/8",
	} {
		err := Network{CIDR: cidr}.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", cidr, err, want)
		}
		if _, made := New(Options{Private: []Network{{CIDR: cidr}}}); (made == nil) != (want == "") {
			t.Errorf("%q: New says %v", cidr, made)
		}
	}
	err := Network{CIDR: "10.0.0.0/8", Ports: []int{80, 0, 65536}}.Validate()
	if err == nil || !slices.Equal(strings.Split(err.Error(), "\n"), []string{"ports[1]: 0 is not 1 to 65535", "ports[2]: 65536 is not 1 to 65535"}) {
		t.Errorf("got %v", err)
	}
}
