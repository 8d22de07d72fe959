package brokertest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The servers take ports below the range from which the kernel chooses a port, so that a server that is down for a while finds its own again.
const firstPort, ports = 12_000, 20_000

// freePorts are three ports for each of n servers, which are no other test's
// until this one ends.
func freePorts(t testing.TB, n int) [][3]int {
	t.Helper()
	all := make([][3]int, n)
	for i := range all {
		for k := range 3 {
			all[i][k] = freePort(t)
		}
	}
	return all
}

func freePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := firstPort + rand.IntN(ports)
		hold, err := holdPort(t, port)
		if err != nil {
			continue // another test's
		}
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			_ = hold.Close()
			continue // another program's
		}
		_ = l.Close()
		t.Cleanup(func() { _ = hold.Close() })
		return port
	}
	t.Fatal("there is no free port")
	panic("unreachable")
}

// holdPort keeps a port from the tests of other processes, also while nothing
// listens on it: by the name of an abstract socket, which only one can have and
// which is free again when its process has ended, however that happens.
func holdPort(t testing.TB, port int) (net.Listener, error) {
	t.Helper()
	return new(net.ListenConfig).Listen(t.Context(), "unix", "@parley-brokertest-"+strconv.Itoa(port))
}
