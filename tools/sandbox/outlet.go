package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Outlet is a proxy for one program. It gets the listener to which the program connects, on
// the loopback of the program's own network, and serves it in this process, where it decides
// what is reached. It returns once ctx has ended and nothing of what it began is left; ctx
// ends with the program. It need not close the listener.
type Outlet func(ctx context.Context, l net.Listener)

// ErrNoOutlet is returned by Run and TryOutlet if a program cannot be kept to its outlet here:
// that takes a network of its own, and so namespaces.
var ErrNoOutlet = errors.New("no network of chosen hosts on this machine")

// The address of the proxy, which is alone on its network.
const (
	proxyHost = "127.0.0.1"
	proxyPort = 3128
)

// proxyVariables are the names by which programs look for a proxy.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// environment returns what c adds to what every program gets. What names the proxy comes
// behind what the command says: there is no other way.
func (c Command) environment() []string {
	if c.Outlet == nil {
		return c.Env
	}
	env := slices.Clone(c.Env)
	for _, name := range proxyVariables {
		env = append(env, fmt.Sprintf("%s=http://%s:%d", name, proxyHost, proxyPort))
	}
	// Node takes notice of the others only then.
	return append(env, "NODE_USE_ENV_PROXY=1")
}

// Confines reports whether a program can be kept to an outlet here.
func (s *Sandbox) Confines() bool { return s.level == LevelA || s.level == LevelC }

// TryOutlet reports whether a program can be kept to an outlet, and has one try to get out of
// the walls that stand around it, as TryNetwork does for the machine's network. Returns
// ErrNoOutlet if this machine cannot build such walls, ErrEscaped if a program got out.
func (s *Sandbox) TryOutlet(ctx context.Context) error {
	if !s.Confines() {
		return fmt.Errorf("%w: it takes namespaces, and the sandbox is of level %s (%s)", ErrNoOutlet, s.level, strings.Join(s.reasons, "; "))
	}
	return s.outlet.once(func() error { return s.tryOutlet(ctx) })
}
