//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"testing"
)

// A command that asks for the network connects where the machine does. Every other wall
// stands, and the self-test of these walls comes before the first such command.
func TestNetwork(t *testing.T) {
	s := walled(t)
	t.Run("opens no other way out", func(t *testing.T) {
		if err := s.TryNetwork(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := s.probe(t.Context(), newStage(t), Command{Network: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range probes {
			open := p.network || p.seen && s.Level() == LevelB
			if o := got[i]; o.Name != p.name || (o.Err == "") != open {
				t.Errorf("%s: open %t, want %t (%s)", p.name, o.Err == "", open, o.Err)
			}
		}
	})
	t.Run("is not there for who does not ask", func(t *testing.T) {
		res, out, err := sh(t, s, "exec 3<>/dev/tcp/127.0.0.1/9; cat /etc/resolv.conf")
		if err != nil || res.Code == 0 {
			t.Errorf("%+v %q, %v", res, out, err)
		}
	})
	t.Run("knows the machine's resolver", func(t *testing.T) {
		want, err := os.ReadFile("/etc/resolv.conf")
		if err != nil {
			t.Skipf("this machine has no resolver: %v", err)
		}
		_, out, err := sh(t, s, "cat /etc/resolv.conf", func(c *Command) { c.Network = true })
		if err != nil || out != string(want) {
			t.Errorf("%q, %v, want %q", out, err, want)
		}
	})
	t.Run("is refused where the walls around it do not hold", func(t *testing.T) {
		other := *s
		other.network, other.system.walls = &trial{}, walls{}
		other.system.uid, other.system.gid = os.Geteuid(), os.Getegid()
		_, out, err := sh(t, &other, "echo ran", func(c *Command) { c.Network = true })
		if !errors.Is(err, ErrEscaped) || out != "" {
			t.Errorf("it answers %v, and %q ran", err, out)
		}
	})
}
