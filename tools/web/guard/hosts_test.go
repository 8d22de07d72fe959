package guard

import (
	"slices"
	"testing"
)

func TestDestination(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Destination{
		"api.github.com":        {"api.github.com", 0},
		"API.GitHub.com.":       {"api.github.com", 0},
		"*.example.org:443":     {"*.example.org", 443},
		"bücher.example":        {"xn--bcher-kva.example", 0},
		"*":                     {"*", 0},
		"*:8080":                {"*", 8080},
		"192.168.7.5:8080":      {"192.168.7.5", 8080},
		"2606:4700::1111":       {"2606:4700::1111", 0},
		"[2606:4700::1111]:443": {"2606:4700::1111", 443},
	} {
		if got, err := ReadDestination(text); got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", ":443", "example.org:", "example.org:0", "example.org:65536", "example.org:https", "https://example.org", "example.org/path",
		"*example.org", "a.*.example.org", "a b", "[::1]", "ann@example.org", "example.org:80:80x",
	} {
		if got, err := ReadDestination(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestDestinationMatches(t *testing.T) {
	t.Parallel()
	list := []Destination{{"api.github.com", 0}, {"*.example.org", 443}, {"example.net", 8443}}
	for host, ports := range map[string][]uint16{
		"api.github.com":        {80, 443},
		"x.api.github.com":      nil,
		"github.com":            nil,
		"a.example.org":         {443},
		"a.b.example.org":       {443},
		"example.org":           nil,
		"aexample.org":          nil,
		"example.org.evil.test": nil,
		"example.net":           {8443},
	} {
		for _, port := range []uint16{22, 80, 443, 8443} {
			got := slices.ContainsFunc(list, func(d Destination) bool { return d.Matches(host, port) })
			if got != slices.Contains(ports, port) {
				t.Errorf("%s:%d is %t", host, port, got)
			}
		}
	}
	if got := PortsOf(list); !slices.Equal(got, []uint16{80, 443, 8443}) {
		t.Errorf("ports %v", got)
	}
}
