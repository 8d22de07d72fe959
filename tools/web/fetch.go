package web

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"parley/problems"
	"parley/tools"
	"parley/tools/web/guard"
)

// FetchName is the name of the tool that reads a page.
const FetchName = "web_fetch"

//go:embed web_fetch.md
var fetchDoc string

// FetchConfig is what web_fetch may ask. An empty list of hosts is none.
type FetchConfig struct {
	// Enabled gives the tool to the agents whose tools name it, or name none.
	Enabled bool `yaml:"enabled" json:"enabled"`
	// AllowHosts are the hosts that may be asked: a name, *.suffix for all names below one,
	// or * for the whole internet. With * the tool is of category Write.
	AllowHosts []string `yaml:"allow_hosts" json:"allow_hosts,omitempty"`
	// DenyHosts are never asked, also where AllowHosts has them.
	DenyHosts []string `yaml:"deny_hosts" json:"deny_hosts,omitempty"`
	// AllowPrivate are networks that are reached although they are not public. The hosts in
	// them have to be in AllowHosts too.
	AllowPrivate []guard.Network `yaml:"allow_private" json:"-"`
}

// Validate reports what is wrong with c: a problems.List.
func (c FetchConfig) Validate() error {
	var ps problems.List
	for key, list := range map[string][]string{"allow_hosts": c.AllowHosts, "deny_hosts": c.DenyHosts} {
		for i, text := range list {
			if _, err := guard.ReadPattern(text); err != nil {
				ps.Add(fmt.Sprintf("%s[%d]", key, i), "%q is %w", text, err)
			}
		}
	}
	if slices.Contains(c.DenyHosts, string(guard.Everywhere)) {
		ps.Add("deny_hosts", "* leaves no host; set enabled: false")
	}
	if c.Enabled && len(c.AllowHosts) == 0 {
		ps.Add("allow_hosts", `%w: the hosts that agents may ask, or ["*"] for the whole internet`, problems.ErrRequired)
	}
	for i, n := range c.AllowPrivate {
		ps.Check(fmt.Sprintf("allow_private[%d]", i), n.Validate())
	}
	return ps.Err()
}

// Anywhere reports whether all hosts of the internet may be asked.
func (c FetchConfig) Anywhere() bool { return slices.Contains(c.AllowHosts, string(guard.Everywhere)) }

// FetchOptions are what the tool is made of.
type FetchOptions struct {
	FetchConfig
	Version  string           // of parley, which servers read
	Timeout  time.Duration    // of one call; 0: 10 s
	Resolver *net.Resolver    // nil: net.DefaultResolver
	Now      func() time.Time // nil: time.Now
}

// NewFetch makes the tool web_fetch. Where any host may be asked it is of category Write,
// because a URL carries what is in it to whoever owns the host; else of category Read. GET
// is safe to make again, so a call runs again after a crash.
func NewFetch(o FetchOptions) (tools.Tool, error) {
	f, err := newFetcher(o)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", FetchName, err)
	}
	var category func(fetchInput) tools.Category // nil: Read
	if o.Anywhere() {
		category = func(fetchInput) tools.Category { return tools.Write }
	}
	t, err := tools.New(FetchName, fetchDoc, category, f.run, announceFetch)
	return safeTool{t, announceFetch}, err
}

func newFetcher(o FetchOptions) (*fetcher, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	g, err := guard.New(guard.Options{Private: o.AllowPrivate, Resolver: o.Resolver})
	if err != nil {
		return nil, err // it names the network
	}
	f := &fetcher{
		guard: g, allow: guard.ReadPatterns(o.AllowHosts), deny: guard.ReadPatterns(o.DenyHosts), agent: userAgent(o.Version),
		timeout: cmp.Or(o.Timeout, defaultTimeout), now: o.Now, slots: make(chan struct{}, maxConverted),
	}
	if f.now == nil {
		f.now = time.Now
	}
	f.client = g.Client(f.permit)
	return f, nil
}

// userAgent returns how parley says to servers what it is.
func userAgent(version string) string { return "parley/" + cmp.Or(version, "devel") }

type fetchInput struct {
	URL string `json:"url" jsonschema:"http or https" minLength:"1"`
}

var announceFetch = tools.Announcement{Doing: "Reading", Of: "url"}

// safeTool is a tool whose calls may be made again and side by side, because each is a GET.
type safeTool struct {
	tools.Tool
	says tools.Announcement
}

var (
	_ tools.Resumable = safeTool{}
	_ tools.Parallel  = safeTool{}
	_ tools.Announcer = safeTool{}
	_ tools.Checker   = safeTool{}
)

// Resumable implements [tools.Resumable].
func (safeTool) Resumable() bool { return true }

// Parallel implements [tools.Parallel].
func (safeTool) Parallel() bool { return true }

// Announcement implements [tools.Announcer].
func (t safeTool) Announcement() tools.Announcement { return t.says }

// Check implements [tools.Checker].
func (t safeTool) Check(a tools.Arguments) error {
	if c, ok := t.Tool.(tools.Checker); ok {
		return c.Check(a)
	}
	return nil
}

// fetcher reads pages.
type fetcher struct {
	guard       *guard.Guard
	client      *http.Client
	allow, deny []guard.Pattern
	agent       string
	timeout     time.Duration
	now         func() time.Time
	slots       chan struct{} // taken while a page is converted: its tree is many times its size
}

var errNotAllowed = errors.New("the operator has not allowed that host")

// permit refuses hosts that the operator does not want to be asked.
func (f *fetcher) permit(u *url.URL) error {
	if host := u.Hostname(); guard.Contains(f.deny, host) || !guard.Contains(f.allow, host) {
		return errNotAllowed
	}
	return nil
}

func (f *fetcher) run(ctx context.Context, in fetchInput, _ tools.Call) (tools.Result, error) {
	u, err := f.guard.Parse(in.URL)
	if err != nil {
		return tools.Result{}, tools.Errorf(tools.Permanent, "the URL was not fetched: %w", err)
	}
	if err := f.permit(u); err != nil {
		return tools.Result{}, tools.Errorf(tools.Permanent, "%s was not fetched: %w. Use another source, or tell the person which host it is", display(u), err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, errSlow)
	defer cancel()
	p, err := f.get(ctx, u)
	if err != nil {
		return tools.Result{}, f.explain(ctx, u, err)
	}
	return p.result(), nil
}

// display returns a URL as errors name it: without its query, which may hold a secret.
func display(u *url.URL) string {
	const longest = 200
	s := u.Scheme + "://" + u.Host + u.EscapedPath()
	if len(s) > longest {
		s = s[:longest] + "…"
	}
	if u.RawQuery != "" {
		s += "?…"
	}
	return s
}

// get reads a page.
func (f *fetcher) get(ctx context.Context, u *url.URL) (*page, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	r.Header.Set("User-Agent", f.agent)
	r.Header.Set("Accept", "text/html, text/markdown;q=0.9, text/*;q=0.8, application/json;q=0.8, application/xml;q=0.8, */*;q=0.1")
	res, err := f.client.Do(r)
	if err != nil {
		return nil, err // explain says what it was
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, statusOf(res, f.now())
	}
	p, body, declared, err := readPage(res)
	if err != nil {
		return nil, err
	}
	return p, f.convert(ctx, p, body, declared)
}

// convert makes the text of a page when it is its turn.
func (f *fetcher) convert(ctx context.Context, p *page, body []byte, declared string) error {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
		return p.setText(body, declared)
	case <-ctx.Done():
		return context.Cause(ctx) // explain says what it was
	}
}

// metadata says to people and logs what was read.
func (p *page) metadata() string {
	text, err := json.Marshal(struct {
		URL   string `json:"url"`
		Type  string `json:"type"`
		Bytes int    `json:"bytes"`
	}{p.url.String(), p.mediaType, p.bytes})
	if err != nil {
		return ""
	}
	return string(text)
}
