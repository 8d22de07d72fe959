package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"parley/tools"
	"parley/tools/web"
	"parley/tools/web/guard"
	"parley/tools/web/guard/guardtest"
)

// networkOf opens the guard for one server of a test, and for nothing beside it.
func networkOf(t *testing.T, s *httptest.Server) guard.Network {
	t.Helper()
	a, err := netip.ParseAddrPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return guard.Network{CIDR: a.Addr().String() + "/32", Ports: []int{int(a.Port())}}
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// reading is the tool for one server, with the guard that the product has.
func reading(t *testing.T, s *httptest.Server, change ...func(*web.FetchOptions)) tools.Tool {
	t.Helper()
	o := web.FetchOptions{FetchConfig: web.FetchConfig{Enabled: true, AllowHosts: []string{"*"}}, Version: "1.2"}
	if s != nil {
		o.AllowPrivate = []guard.Network{networkOf(t, s)}
	}
	for _, c := range change {
		c(&o)
	}
	tool, err := web.NewFetch(o)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func call(t *testing.T, tool tools.Tool, arguments map[string]string) (string, error) {
	t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tool.Run(t.Context(), tools.Call{Name: tool.Definition().Name, Arguments: text})
	return res.Content, err
}

func fetch(t *testing.T, tool tools.Tool, url string) (string, error) {
	t.Helper()
	return call(t, tool, map[string]string{"url": url})
}

// framed returns what stands in the frame, and the note behind it.
func framed(t *testing.T, who, result string) (text, note string) {
	t.Helper()
	head, rest, ok := strings.Cut(result, ":\n")
	mark, isFrame := strings.CutPrefix(head, tools.UntrustedHeader(who))
	if !ok || !isFrame || len(mark) != 16 {
		t.Fatalf("no frame: %.200q", result)
	}
	text, note, ok = strings.Cut(rest, "\n"+mark+"\n")
	if !ok || strings.Count(result, mark) != 2 {
		t.Fatalf("the frame is not closed once: %.200q", result)
	}
	if strings.Contains(note, "\n") || !strings.HasPrefix(note, "[") || !strings.HasSuffix(note, "]") {
		t.Errorf("behind the frame stands %q", note)
	}
	return text, note
}

func TestFetch(t *testing.T) {
	t.Parallel()
	asked := make(chan *http.Request, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new?a=b", http.StatusMovedPermanently)
			return
		}
		asked <- r
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<title>Fish</title><h1>Fresh</h1><p>See <a href=more>more</a>.")
	})
	got, err := fetch(t, reading(t, s), s.URL+"/old#part")
	if err != nil {
		t.Fatal(err)
	}
	text, note := framed(t, "the web page", got)
	if want := "URL: " + s.URL + "/new?a=b\nTitle: Fish\n\n# Fresh\n\nSee [more](" + s.URL + "/more)."; text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if note != "[text/html, 62 bytes]" {
		t.Errorf("got %q", note)
	}
	r := <-asked
	if r.UserAgent() != "parley/1.2" || r.Referer() != "" || len(r.Cookies()) > 0 || r.Header.Get("Accept") == "" || len(r.Header) != 4 {
		t.Errorf("asked with %v", r.Header)
	}
}

// S7.3: nothing is reached that the operator did not open, and the answer does not say what
// stands there.
func TestFetchReachesNothingInside(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	tool := reading(t, nil, func(o *web.FetchOptions) {
		o.AllowPrivate = []guard.Network{{CIDR: "127.0.0.9/32", Ports: []int{int(netip.MustParseAddrPort(s.Listener.Addr().String()).Port())}}}
		o.Resolver = guardtest.Resolver(map[string][]string{"inside.test.": {"10.1.2.3"}, "loop.test.": {"127.0.0.1"}})
	})
	var sentences []string
	for _, url := range []string{s.URL, "http://127.0.0.1/", "http://127.0.0.1:443/", "https://10.255.255.1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://①②⑦.0.0.1/", "http://inside.test/", "http://loop.test/", "http://no-such-name.test/"} {
		_, err := fetch(t, tool, url)
		if err == nil || tools.KindOf(err) != tools.Permanent {
			t.Errorf("%s: %v", url, err)
			continue
		}
		_, sentence, _ := strings.Cut(err.Error(), " was not read: ")
		sentences = append(sentences, sentence)
	}
	for _, s := range sentences {
		if s != sentences[0] || !strings.Contains(s, "out of reach") {
			t.Errorf("answers differ:\n%s", strings.Join(sentences, "\n"))
			break
		}
	}
}

func TestFetchAsksOnlyHostsOfTheOperator(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow, deny []string
		host        string
		want        bool
	}{
		{[]string{"*"}, nil, "any.example", true},
		{[]string{"*"}, []string{"any.example"}, "any.example", false},
		{[]string{"*"}, []string{"*.example"}, "any.example", false},
		{[]string{"*"}, []string{"*.any.example"}, "any.example", true},
		{[]string{"any.example"}, nil, "any.example", true},
		{[]string{"any.example"}, nil, "ANY.example.", true},
		{[]string{"Any.Example."}, nil, "any.example", true},
		{[]string{"any.example"}, nil, "sub.any.example", false},
		{[]string{"any.example"}, nil, "notany.example", false},
		{[]string{"*.any.example"}, nil, "sub.any.example", true},
		{[]string{"*.any.example"}, nil, "a.b.any.example", true},
		{[]string{"*.any.example"}, nil, "any.example", false},
		{[]string{"*.any.example"}, nil, "notany.example", false},
		{[]string{"any.example"}, nil, "any.example.evil.test", false},
		{[]string{"bücher.example"}, nil, "xn--bcher-kva.example", true},
		{[]string{"xn--bcher-kva.example"}, nil, "bücher.example", true},
		{[]string{"10.0.0.1"}, nil, "10.0.0.2", false},
	} {
		tool := reading(t, nil, func(o *web.FetchOptions) {
			o.AllowHosts, o.DenyHosts = c.allow, c.deny
			o.Resolver = guardtest.Resolver(nil)
		})
		_, err := fetch(t, tool, "http://"+c.host+"/")
		if refused := err != nil && strings.Contains(err.Error(), "the operator has not allowed that host"); err == nil || refused == c.want {
			t.Errorf("allow %q, deny %q: %s: %v", c.allow, c.deny, c.host, err)
		}
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://other.example/secret-words", http.StatusFound)
	})
	_, err := fetch(t, reading(t, s, func(o *web.FetchOptions) { o.AllowHosts = []string{"127.0.0.1"} }), s.URL+"/a")
	if err == nil || !strings.Contains(err.Error(), "/a was not read: it redirects to what may not be asked: the operator has not allowed that host") || strings.Contains(err.Error(), "secret-words") {
		t.Errorf("a redirect elsewhere: %v", err)
	}
}

func TestFetchConfig(t *testing.T) {
	t.Parallel()
	if err := (web.FetchConfig{}).Validate(); err != nil {
		t.Errorf("off: %v", err)
	}
	err := web.FetchConfig{
		Enabled: true, AllowHosts: []string{"https://example.org", "a/b", "*example.org", "*.example.org", ""}, DenyHosts: []string{"*", "x y"},
		AllowPrivate: []guard.Network{{CIDR: "10.0.0.0/8"}, {CIDR: "8.8.8.8/32"}},
	}.Validate()
	for _, want := range []string{"allow_hosts[0]: ", "allow_hosts[1]: ", "allow_hosts[2]: ", "allow_hosts[4]: ", "deny_hosts[1]: ", "deny_hosts: * leaves no host", "allow_private[1].cidr: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	err = web.FetchConfig{Enabled: true}.Validate()
	if err == nil || !strings.Contains(err.Error(), "allow_hosts: required") {
		t.Errorf("nobody is everybody: %v", err)
	}
	if _, err := web.NewFetch(web.FetchOptions{FetchConfig: web.FetchConfig{Enabled: true}}); err == nil {
		t.Error("a tool for no host is made")
	}
}

// K04, S2.1: what may ask any server tells any server what is in a URL.
func TestFetchIsAWriteWhereAnyHostMayBeAsked(t *testing.T) {
	t.Parallel()
	for allow, want := range map[string]tools.Category{"*": tools.Write, "*.example.org": tools.Read} {
		tool := reading(t, nil, func(o *web.FetchOptions) { o.AllowHosts = []string{allow} })
		c := tools.Call{Name: web.FetchName, Arguments: json.RawMessage(`{"url":"http://a.example.org"}`)}
		if got := tool.Category(c); got != want {
			t.Errorf("%s: %s", allow, got)
		}
		set, err := tools.NewSet(tool)
		if err != nil {
			t.Fatal(err)
		}
		if inPlan := set.Plan().Len() == 1; inPlan != (want == tools.Read) {
			t.Errorf("%s: in plan mode %v", allow, inPlan)
		}
		if r, ok := tool.(tools.Resumable); !ok || !r.Resumable() {
			t.Error("a GET does not run again")
		}
	}
}
