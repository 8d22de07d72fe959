package channeltest

import (
	"errors"
	"strings"
	"testing"

	"parley/channels"
)

// ProxyHarness is a Rig whose channel can reach the network over a proxy;
// Features.Proxied needs it.
type ProxyHarness interface {
	Harness

	// OpenViaProxy is Open for a channel that reaches the network over p. As far as the
	// rig can have it so the network is at an address that only p can find.
	OpenViaProxy(t testing.TB, p *Proxy, over channels.Proxy) channels.Channel

	// Callers are the addresses from which the network was called, and connected to, by
	// channels until now. It may be none when only the proxy can find the network.
	Callers() []string
}

func testProxies(t *testing.T, f Features, open func(testing.TB) Harness) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, ProxyHarness, Features){
		"all that a channel does goes over its proxy (firstday A3)":                          testOverProxy,
		"a proxy that refuses is named without its password, and nothing left (firstday A3)": testRefusingProxy,
		"a proxy that is not there is named without its password, and nothing (firstday A3)": testAbsentProxy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig, ok := open(t).(ProxyHarness)
			if !ok {
				t.Fatal("Features.Proxied needs a ProxyRig")
			}
			test(t, rig, f)
		})
	}
}

// openThrough returns a channel over a proxy, with a password of the proxy's or another
// one.
func openThrough(t *testing.T, rig ProxyHarness, p *Proxy, password string) channels.Channel {
	t.Helper()
	over, err := channels.ProxyAt(p.AddressWith(password))
	if err != nil {
		t.Fatal(err)
	}
	return rig.OpenViaProxy(t, p, over)
}

// testOverProxy also sends and fetches files, which other code of an adapter may do.
func testOverProxy(t *testing.T, rig ProxyHarness, f Features) {
	p := NewProxy(t)
	ch := openThrough(t, rig, p, "proxy-canary%2F+1")
	r := startReceive(t, ch, nil)
	rig.Say(t, "Ann", "hello")
	m := r.next()
	if _, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "hi"}}); err != nil {
		t.Fatal(err)
	}
	before := len(p.Requests())
	if before == 0 {
		t.Fatal("nothing went over the proxy")
	}
	if s, ok := ch.(channels.FileSender); ok && f.Files {
		if _, err := s.SendFile(t.Context(), channels.Reply{To: m.Address}, channels.File{Name: "a.txt", Size: 3}, strings.NewReader("abc")); err != nil {
			t.Fatal(err)
		}
		if len(p.Requests()) == before {
			t.Error("a file did not go over the proxy")
		}
	}
	r.stop()
	for _, remote := range rig.Callers() {
		if !p.HasConnection(remote) {
			t.Errorf("a call came from %s, not from the proxy", remote)
		}
	}
}

func testRefusingProxy(t *testing.T, rig ProxyHarness, _ Features) {
	_, m := startChat(t, rig)
	p := NewProxy(t)
	wantUnsent(t, rig, openThrough(t, rig, p, "wrong-canary"), m)
	if passed := p.Requests(); len(passed) > 0 {
		t.Errorf("%q passed", passed)
	}
}

func testAbsentProxy(t *testing.T, rig ProxyHarness, _ Features) {
	_, m := startChat(t, rig)
	p := NewProxy(t)
	ch := openThrough(t, rig, p, "absent-canary")
	p.Listener.Close() //nolint:errcheck // the test wants an address at which nothing listens
	wantUnsent(t, rig, ch, m)
}

// wantUnsent holds that a send over the proxy surely did not arrive, and says why.
func wantUnsent(t *testing.T, rig ProxyHarness, ch channels.Channel, m channels.Message) {
	t.Helper()
	_, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "hi"}})
	var e *channels.Error
	if !errors.As(err, &e) || e.Kind != channels.Unsent {
		t.Fatalf("Send gave %v, want unsent", err)
	}
	if !strings.Contains(err.Error(), "proxy") || strings.Contains(err.Error(), "canary") {
		t.Errorf("the error is %q", err)
	}
	if sent := rig.Sent(); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
}
