// Package page serves the operator page: HTML for a browser, without a build step and complete without
// JavaScript, for those who have logged in. What it shows and does is given as views and deeds; package
// admin has them. Package hypertext writes the HTML.
//
// Nobody sees anything who has not logged in, on loopback too: programs that agents start may reach
// that. Each request is of this host, each form of this page and of the log-in that sends it.
package page

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"time"

	h "parley/gateway/hypertext"
	"parley/gateway/listeners"
)

//go:embed static
var files embed.FS

// View makes a page for an operator.
type View func(r *http.Request, by string) (Page, error)

// Page is what stands in the frame that all pages have.
type Page struct {
	Title   string
	Heading h.Node // above the page; nil: the title
	Here    string // the section of the navigation
	Refresh bool   // a script may load it again and again
	// Body writes what the page shows; it is called once.
	Body func(f Frame) h.Node
}

// Deed does what a form of an operator asks for, and returns what they read then, and the page they
// read it on. once is the id of the form: of one that is sent twice the second does nothing.
type Deed func(ctx context.Context, r *http.Request, by, once string) (said, next string, err error)

// Options is what a server stands on. Operators may be nil; all else is required.
type Options struct {
	Listen string // host:port
	// URL is the page's address in browsers: scheme and host. Other hosts are refused.
	URL string
	// Operators are the passwords of those who log in with one, by their names.
	Operators map[string]string
	// Pages are the views and the deeds.
	Pages  Pages
	Logger *slog.Logger
	Now    func() time.Time
}

// Pages is what a page consists of.
type Pages struct {
	Views map[string]View // by patterns of [http.ServeMux], GET
	Deeds map[string]Deed // POST
}

// Server is the operator page. Make one with New, run it once.
type Server struct {
	listeners.HTTP

	o      Options
	host   string // as browsers say it
	secure bool   // they come by https
	key    []byte // of the forms' tokens; new at every start
	below  string // the path of all that is shown to who has logged in; empty: that of the first page
	doors  *doors
}

// New binds the address, so that what is wrong is said before anything else starts; nothing is
// served before Run. An empty Listen is no page: Run only waits.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{o: o, key: []byte(rand.Text()), doors: newDoors(o.Operators, o.Now)}
	if o.Listen == "" {
		return s, nil
	}
	if err := s.Listen(ctx, "operator page", "page.listen", o.Listen); err != nil {
		return nil, err
	}
	if o.URL == "" {
		s.o.URL = "http://" + s.Addr()
	}
	u, err := url.Parse(s.o.URL)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("page.url: %w", err), s.Close())
	}
	s.host, s.secure = u.Host, u.Scheme == "https"
	if !s.secure { // see setCookie
		s.below = "/s/" + rand.Text()
	}
	return s, nil
}

// URL returns the page's address in browsers, "" where there is none.
func (s *Server) URL() string { return s.o.URL }

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 3 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	return s.Serve(ctx, srv, s.o.Logger)
}

// NewCode returns a code with which its reader logs in as by, once and until then.
func (s *Server) NewCode(by string) (code string, until time.Time) { return s.doors.newCode(by) }

// Handler serves the page.
func (s *Server) Handler() http.Handler {
	open, closed := http.NewServeMux(), http.NewServeMux()
	open.HandleFunc("GET /static/{name}", serveStatic)
	open.HandleFunc("GET /login", s.loginForm)
	open.HandleFunc("POST /login", s.login)
	open.Handle(s.below+"/", s.loggedIn(http.StripPrefix(s.below, closed)))
	if s.below != "" {
		open.HandleFunc("/", sendToLogin)
	}

	for pattern, v := range s.o.Pages.Views {
		closed.HandleFunc(pattern, s.show(v))
	}
	for pattern, d := range s.o.Pages.Deeds {
		closed.HandleFunc(pattern, s.do(d))
	}
	closed.HandleFunc("POST /logout", s.logout)
	closed.HandleFunc("GET /static/{name}", serveStatic)
	return s.guard(open)
}

// serveStatic answers with the style, the script or the picture.
func serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind := map[string]string{".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}[path.Ext(name)]
	data, err := files.ReadFile("static/" + name)
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = w.Write(data) // whoever asked may have gone
}
