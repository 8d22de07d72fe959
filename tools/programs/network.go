package programs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/problems"
	"parley/tools/web/guard"
)

// Network is where a program may connect to, as its operator says it: true, false or a list of
// hosts. The zero Network is nowhere.
type Network struct {
	// Whole means whatever the machine reaches.
	Whole bool `yaml:",flag"`
	// Hosts are all that it reaches, if it is not Whole, by HTTP and HTTPS; see
	// guard.ReadDestination.
	Hosts []string `yaml:",list"`
}

// IsZero reports whether n is nowhere.
func (n Network) IsZero() bool { return !n.Whole && len(n.Hosts) == 0 }

// String returns n in words that stand behind a program or what runs it, as "with this machine's
// network"; empty: there is none.
func (n Network) String() string {
	switch {
	case n.Whole:
		return "with this machine's network"
	case len(n.Hosts) == 1 && n.Hosts[0] == string(guard.Everywhere):
		return "with the public internet"
	case len(n.Hosts) > 0:
		return "with the network of these hosts alone: " + strings.Join(n.Hosts, ", ")
	}
	return ""
}

// Around returns where with n behind it: what a person reads who is asked, and what a permission
// is bound to.
func (n Network) Around(where string) string {
	if n.IsZero() {
		return where
	}
	return strings.TrimPrefix(where+", "+n.String(), ", ")
}

// Check reports what is wrong with n at the path at+".network", and with private networks in
// which its hosts may be, at at+".allow_private".
func (n Network) Check(ps *problems.List, at string, private []guard.Network) {
	for i, text := range n.Hosts {
		if _, err := guard.ReadDestination(text); err != nil {
			ps.Add(fmt.Sprintf("%s.network[%d]", at, i), "%q is %w", text, err)
		}
	}
	if len(private) > 0 && len(n.Hosts) == 0 {
		ps.Add(at+".allow_private", "is for hosts that network lists, and it lists none")
	}
	for i, p := range private {
		ps.Check(fmt.Sprintf("%s.allow_private[%d]", at, i), p.Validate())
	}
}

// MarshalJSON implements [json.Marshaler]: true, false or a list.
func (n Network) MarshalJSON() ([]byte, error) {
	if len(n.Hosts) > 0 {
		return json.Marshal(n.Hosts)
	}
	return json.Marshal(n.Whole)
}

var errNetwork = errors.New("a network is true, false or a list of hosts")

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Network) UnmarshalJSON(text []byte) error {
	*n = Network{}
	if json.Unmarshal(text, &n.Whole) == nil || json.Unmarshal(text, &n.Hosts) == nil {
		return nil
	}
	return errNetwork
}
