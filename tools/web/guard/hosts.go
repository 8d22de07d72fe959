package guard

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Everywhere stands for all hosts in a list of them.
const Everywhere Pattern = "*"

// Pattern is a host of a list, as hosts are compared: a canonical host, *.suffix, or
// Everywhere.
type Pattern string

var errPattern = errors.New("neither a host such as example.org, nor *.example.org for all hosts below it, nor *")

// ReadPattern reads a host of a list as an operator writes it.
func ReadPattern(text string) (Pattern, error) {
	if Pattern(text) == Everywhere {
		return Everywhere, nil
	}
	host, below := strings.CutPrefix(text, "*.")
	host, err := CanonicalHost(host)
	if err != nil {
		return "", errPattern
	}
	if below {
		return Pattern("*." + host), nil
	}
	return Pattern(host), nil
}

// ReadPatterns reads a list; those that are no hosts are left out.
func ReadPatterns(list []string) (all []Pattern) {
	for _, text := range list {
		if p, err := ReadPattern(text); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// Contains reports whether a list of patterns has a canonical host.
func Contains(patterns []Pattern, host string) bool {
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Matches(host) })
}

// Matches reports whether p is or has a canonical host. *.example.org does not have
// example.org itself.
func (p Pattern) Matches(host string) bool {
	suffix, below := strings.CutPrefix(string(p), "*")
	return string(p) == host || p == Everywhere || below && len(host) > len(suffix) && strings.HasSuffix(host, suffix)
}

// Destination is where a program may connect to: a host of a list, and a port there.
type Destination struct {
	Host Pattern
	Port uint16 // 0: those of the web, 80 and 443
}

var errDestination = errors.New("neither a host such as example.org, nor *.example.org for all hosts below it, nor *; a port stands behind a colon, as in example.org:8443")

// ReadDestination reads a Destination as an operator writes it: a host, and perhaps its port.
func ReadDestination(text string) (d Destination, err error) {
	host := text
	if strings.HasPrefix(text, "[") || strings.Count(text, ":") == 1 { // else it is an address of IPv6
		var port string
		if host, port, err = net.SplitHostPort(text); err != nil {
			return d, errDestination
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return d, errDestination
		}
		d.Port = uint16(n)
	}
	if d.Host, err = ReadPattern(host); err != nil {
		return d, errDestination
	}
	return d, nil
}

// Matches reports whether d is or has a canonical host and a port.
func (d Destination) Matches(host string, port uint16) bool {
	return d.Host.Matches(host) && (port == d.Port || d.Port == 0 && slices.Contains(defaultPorts, port))
}

// PortsOf returns the ports of a list of destinations.
func PortsOf(all []Destination) (ports []uint16) {
	for _, d := range all {
		if d.Port == 0 {
			ports = append(ports, defaultPorts...)
		} else {
			ports = append(ports, d.Port)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}
