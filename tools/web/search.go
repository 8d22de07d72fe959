package web

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/problems"
	"parley/tools"
)

// SearchName is the name of the tool that asks a search engine.
const SearchName = "web_search"

//go:embed web_search.md
var searchDoc string

// Limits of one search.
const (
	// DefaultResults is how many results are shown unless the operator says otherwise.
	DefaultResults = 8
	maxResults     = 20 // Brave gives no more at once
	maxAnswer      = 1 << 20
	maxSnippet     = 500 // bytes
)

// SearchOptions are what the tool is made of.
type SearchOptions struct {
	Kind    string // of the engine: one of Engines
	URL     string // that is asked; "": the engine's own, if it has one
	Key     string // of an engine that wants one
	Results int    // that are shown; 0: 8

	Version string           // of parley, which the engine reads
	Client  *http.Client     // nil: http.DefaultClient; it follows no redirects
	Timeout time.Duration    // of one search; 0: 10 s
	Now     func() time.Time // nil: time.Now
}

// Validate reports what is wrong with o: a problems.List, with the paths kind, url, key and
// results.
func (o SearchOptions) Validate() error {
	var ps problems.List
	e, known := engines[o.Kind]
	switch {
	case o.Kind == "":
		ps.Add("kind", "%w: one of %s", problems.ErrRequired, strings.Join(Engines(), ", "))
	case !known:
		ps.Add("kind", "%q is none of %s%s", o.Kind, strings.Join(Engines(), ", "), tools.Suggest(o.Kind, Engines()))
	case e.url == "" && o.URL == "":
		ps.Add("url", "%w: where the engine answers, such as http://127.0.0.1:8080/search", problems.ErrRequired)
	case e.keyHeader != "" && o.Key == "":
		ps.Add("key", "%w by %s", problems.ErrRequired, o.Kind)
	case e.keyHeader == "" && o.Key != "":
		ps.Add("key", "%s takes none; remove it", o.Kind)
	}
	if o.URL != "" {
		u, err := url.Parse(o.URL)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			ps.Add("url", "not a URL such as https://search.example.org/search")
		case u.User != nil:
			ps.Add("url", "a name or password is not sent; remove it")
		case u.Scheme == "http" && o.Key != "" && !isLoopback(u.Hostname()):
			ps.Add("url", "http would show the key to everybody on the way; use https")
		}
	}
	if o.Results < 0 || o.Results > maxResults {
		ps.Add("results", "%d is not 1 to %d", o.Results, maxResults)
	}
	return ps.Err()
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// NewSearch makes the tool web_search, of category Read: who reads what is searched for is
// the engine that the operator chose. Its URL is the operator's own, so it may be private.
func NewSearch(o SearchOptions) (tools.Tool, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("tool %s: %w", SearchName, err)
	}
	s := &searcher{engine: engines[o.Kind], o: o}
	s.o.Results, s.o.Timeout = cmp.Or(o.Results, DefaultResults), cmp.Or(o.Timeout, defaultTimeout)
	if o.Now == nil {
		s.o.Now = time.Now
	}
	var err error
	if s.url, err = url.Parse(cmp.Or(o.URL, s.engine.url)); err != nil {
		return nil, fmt.Errorf("tool %s: %w", SearchName, err)
	}
	client := *http.DefaultClient
	if o.Client != nil {
		client = *o.Client
	}
	client.Jar, client.CheckRedirect = nil, func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.client = &client
	t, err := tools.New(SearchName, searchDoc, nil, s.run, announceSearch)
	return safeTool{t, announceSearch}, err
}

type searchInput struct {
	Query string `json:"query" minLength:"1" maxLength:"400"`
}

var announceSearch = tools.Announcement{Doing: "Searching for", Of: "query"}

// searcher asks a search engine.
type searcher struct {
	engine engine
	o      SearchOptions
	url    *url.URL
	client *http.Client
}

// found is one result.
type found struct{ title, url, snippet string }

func (s *searcher) run(ctx context.Context, in searchInput, _ tools.Call) (tools.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.Timeout, errSlow)
	defer cancel()
	all, err := s.ask(ctx, in.Query)
	if err != nil {
		return tools.Result{}, s.explain(ctx, err)
	}
	if len(all) == 0 {
		return tools.Result{Content: "[no results; try other words]"}, nil
	}
	var b strings.Builder
	for i, r := range all {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, cmp.Or(r.title, "(no title)"), r.url)
		if r.snippet != "" {
			fmt.Fprintf(&b, "   %s\n", r.snippet)
		}
	}
	note := fmt.Sprintf("[results: %d]", len(all))
	return tools.Result{Content: tools.FrameUntrusted("the search engine", strings.TrimSuffix(b.String(), "\n")) + "\n" + note}, nil
}

var (
	errNoAnswer = errors.New("no list of results")
	errTooMuch  = errors.New("too much")
)

// ask returns what the engine finds.
func (s *searcher) ask(ctx context.Context, query string) ([]found, error) {
	u := *s.url
	values := u.Query()
	s.engine.fill(values, strings.ToValidUTF8(query, "\uFFFD"), s.o.Results)
	u.RawQuery = values.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	r.Header.Set("User-Agent", userAgent(s.o.Version))
	r.Header.Set("Accept", "application/json")
	if s.engine.keyHeader != "" {
		r.Header.Set(s.engine.keyHeader, s.o.Key)
	}
	res, err := s.client.Do(r)
	if err != nil {
		return nil, err // explain says what it was
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, statusOf(res, s.o.Now())
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, errTooMuch
	}
	all, err := s.engine.read(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return s.shown(all), nil
}

// shown returns the results as they are listed: each on lines of its own, none twice, none
// that web_fetch could not read.
func (s *searcher) shown(all []found) (list []found) {
	for _, r := range all {
		u, err := url.Parse(tools.Visible(r.url))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || len(u.String()) > 2048 {
			continue
		}
		r = found{line(r.title, maxTitle), strings.Join(strings.Fields(u.String()), "%20"), line(r.snippet, maxSnippet)}
		if len(list) < s.o.Results && !slices.ContainsFunc(list, func(o found) bool { return o.url == r.url }) {
			list = append(list, r)
		}
	}
	return list
}

const unreachable = "the search engine cannot be reached at present"

// explain words an error for the model, without the address of the engine and without a
// word of its answer.
func (s *searcher) explain(ctx context.Context, err error) error {
	if status, ok := errors.AsType[*statusError](err); ok {
		return tools.Unpaid(s.explainStatus(status)) // an answer without results, which no service charges for
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && ctx.Err() == nil {
		return tools.Unpaid(tools.Errorf(tools.Transient, unreachable)) // nobody was asked
	}
	switch {
	case errors.Is(err, errNoAnswer), errors.Is(err, errTooMuch):
		return tools.Errorf(tools.Permanent, "the search engine's answer is not a list of results of the kind %s. Tell the person that web.search of the configuration has to be looked at", s.o.Kind)
	case errors.Is(context.Cause(ctx), errSlow):
		return tools.Errorf(tools.Transient, "the search took longer than %s", s.o.Timeout)
	case ctx.Err() != nil:
		return context.Cause(ctx) // the caller ended the call, and ignores its error
	default:
		return tools.Errorf(tools.Transient, unreachable)
	}
}

func (s *searcher) explainStatus(e *statusError) error {
	const configuration = "Tell the person that web.search of the configuration has to be looked at"
	switch {
	case e.status == http.StatusTooManyRequests:
		return tools.Errorf(tools.Transient, "the search engine was asked too often: %w. Go on without another search until then", e)
	case e.status == http.StatusForbidden && s.o.Kind == KindSearXNG:
		return tools.Errorf(tools.Permanent, "the search engine refuses answers in JSON: %w. Tell the person that its settings need json under search.formats", e)
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden, e.status == http.StatusPaymentRequired:
		return tools.Errorf(tools.Permanent, "the search engine does not accept the key: %w. %s", e, configuration)
	case e.status >= 300 && e.status < 400:
		return tools.Errorf(tools.Permanent, "the search engine is elsewhere now: %w. %s", e, configuration)
	case e.kind() == tools.Transient:
		return tools.Errorf(tools.Transient, "the search engine answers %w", e)
	default:
		return tools.Errorf(tools.Permanent, "the search engine answers %w. %s", e, configuration)
	}
}
