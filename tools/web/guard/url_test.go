package guard

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	g := mustNew(t, Options{Private: []Network{{CIDR: "127.0.0.1/32", Ports: []int{8080}}}})
	for text, want := range map[string]string{
		"https://example.org":                   "https://example.org",
		"HTTPS://Example.ORG/A?b=C#d":           "https://example.org/A?b=C",
		"http://example.org:80/":                "http://example.org/",
		"https://example.org:443":               "https://example.org",
		"http://example.org:443/":               "http://example.org:443/",
		"http://example.org:8080/":              "http://example.org:8080/", // some network has that port; the dial decides
		"http://example.org./":                  "http://example.org/",
		"http://bücher.example/":                "http://xn--bcher-kva.example/",
		"http://metadata.google.internal./":     "http://metadata.google.internal/",
		"http://[::1]/":                         "http://[::1]/",
		"http://[::FFFF:127.0.0.1]/":            "http://127.0.0.1/",
		"http://[2001:DB8::0001]:8080/":         "http://[2001:db8::1]:8080/",
		"http://①②⑦.0.0.1/":                     "http://127.0.0.1/",
		"http://１２７。０。０。１/":                     "http://127.0.0.1/",
		"http://ⓔⓧⓐⓜⓟⓛⓔ.org/":                   "http://example.org/",
		"http://0177.0.0.1/":                    "http://0177.0.0.1/", // names, for the resolver; where to, the dial sees
		"http://0x7f000001/":                    "http://0x7f000001/",
		"http://2130706433/":                    "http://2130706433/",
		"http://127.1/":                         "http://127.1/",
		"http://my_host.example/":               "http://my_host.example/",
		"https://example.org/a%20b?q=%E2%82%AC": "https://example.org/a%20b?q=%E2%82%AC",
	} {
		u, err := g.Parse(text)
		if err != nil || u.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, u, err, want)
			continue
		}
		if again, err := g.Parse(u.String()); err != nil || again.String() != want {
			t.Errorf("%s again: %v, %v", want, again, err)
		}
	}
	for text, want := range map[string]error{
		"": errNoURL, "example.org": errNoURL, "//example.org/": errNoURL, "/etc/passwd": errNoURL,
		"file:///etc/passwd": errScheme, "ftp://example.org/": errScheme, "gopher://example.org:80/": errScheme,
		"data:text/html,x": errScheme, "javascript:alert(1)": errScheme, "unix:///run/x": errScheme,
		"http:example.org": errHost, "http://": errHost, "http:///x": errHost, "http://./": errHost, "http://a..b/": errHost, "http://⑦../": errHost, "http://a../": errHost,
		"http://a@example.org/": errUserinfo, "http://example.org:80@127.0.0.1/": errUserinfo, "https://@example.org/": errUserinfo,
		"http://example.org:22/": errPort, "http://example.org:0/": errPort, "http://example.org:080/x": nil,
		"http://example.org:65536/": errPort, "http://example.org:99999999999999999999/": errPort,
		"http://exa mple.org/": errNoURL, "http://example.org/a b": errNoURL, "http://example.org/\r\nHost: x": errNoURL,
		"http://example.org/\x00": errNoURL, "http://[::1%25eth0]/": errHost, "http://[fe80::1%25lo]/": errHost, "http://[::1": errNoURL,
		"http://exa$mple.org/": errHost, "http://a,b/": errHost, "http://127.0.0.1%2f.example.org/": errNoURL,
		"http://example.org:80:80/": errNoURL, "http://\u202eexample.org/": errHost, "http://exa\u00admple.org/": nil,
		"http://example.org/" + strings.Repeat("a", maxURL): errLong,
	} {
		if _, err := g.Parse(text); !errors.Is(err, want) {
			t.Errorf("%.60q: %v, want %v", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"https://example.org:443/a?b#c", "http://①②⑦.0.0.1/", "http://[::ffff:7f00:1]:80/", "http://a@b/", "http://xn--/", "HTTP://Ä.example."} {
		f.Add(s)
	}
	g, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := g.Parse(s)
		if err != nil {
			return
		}
		again, err := g.Parse(u.String())
		if err != nil || again.String() != u.String() || again.Host != u.Host {
			t.Errorf("%.99q is %.99q, and that is %.99v, %v", s, u, again, err)
		}
		if u.User != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ToLower(u.Host) != u.Host {
			t.Errorf("%q is %q", s, u)
		}
	})
}
