package page

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// frame is what every page has around it.
type frame struct {
	Page

	By      string // who is logged in; empty: nobody
	Token   string // of the forms
	Now     time.Time
	Notices []notice
}

// Once returns a new id for an action: a form that is sent twice acts once.
func (frame) Once() string { return rand.Text() }

// parseViews reads the templates: the frame with each of the others.
func parseViews(p Pages) (map[string]*template.Template, error) {
	views := map[string]*template.Template{}
	for _, from := range []fs.FS{own(), p.Templates} {
		names, err := fs.Glob(from, "*.html")
		if err != nil {
			return nil, fmt.Errorf("read the templates of the operator page: %w", err)
		}
		for _, n := range names {
			if n == "frame.html" || n == "parts.html" {
				continue
			}
			v := template.New("frame.html").Funcs(words).Funcs(p.Words)
			for _, part := range []struct {
				from fs.FS
				name string
			}{{own(), "frame.html"}, {p.Templates, "parts.html"}, {from, n}} {
				if _, err := v.ParseFS(part.from, part.name); err != nil {
					return nil, fmt.Errorf("read the template %s of the operator page: %w", part.name, err)
				}
			}
			views[strings.TrimSuffix(n, ".html")] = v
		}
	}
	return views, nil
}

// own returns the templates of this package.
func own() fs.FS {
	f, err := fs.Sub(files, "templates")
	if err != nil {
		panic(err) // it is embedded
	}
	return f
}

// statusError is an error that knows with which status of HTTP it is answered.
type statusError interface {
	error
	HTTPStatus() int
}

// show answers a request with a page.
func (s *Server) show(v View) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at := visitOf(r)
		name, p, err := v(r, at.by)
		status := http.StatusOK
		if err != nil {
			status = http.StatusInternalServerError
			if e, ok := errors.AsType[statusError](err); ok {
				status = e.HTTPStatus()
			}
			s.o.Logger.Info("operator page not shown", "path", r.URL.Path, "by", at.by, "error", err)
			name, p = "problem", Page{Title: "That did not work", Body: err.Error()}
		}
		s.render(w, status, name, frame{Page: p, By: at.by, Token: at.token, Now: s.o.Now().UTC(), Notices: at.takeNotices()})
	}
}

// do answers a form: it acts, once, and leads to a page that says what became of it. It goes on
// when the browser does not wait for it: of a form that is sent twice, the browser drops the first.
func (s *Server) do(d Deed) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at := visitOf(r)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
		defer cancel()
		said, next, err := d(ctx, r, at.by, r.PostFormValue("once"))
		n := notice{Text: said}
		if err != nil {
			n = notice{Text: "Nothing was done: " + err.Error(), Bad: true}
		}
		at.tell(n)
		http.Redirect(w, r, next, http.StatusSeeOther)
	}
}

// render writes a page, whole or not at all.
func (s *Server) render(w http.ResponseWriter, status int, name string, f frame) {
	var b bytes.Buffer
	if err := writeView(&b, s.views, name, f); err != nil {
		s.o.Logger.Error("operator page not written", "page", name, "error", err)
		http.Error(w, "the page cannot be written; the log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whoever asked may have gone
}

// writeView writes a page with its frame.
func writeView(w io.Writer, views map[string]*template.Template, name string, f frame) error {
	v, ok := views[name]
	if !ok {
		return fmt.Errorf("there is no template %s", name)
	}
	return v.Execute(w, f) //nolint:wrapcheck // the caller says of which page
}

// Write writes a page as an operator sees it who has logged in.
func (p Pages) Write(w io.Writer, name string, page Page) error {
	views, err := parseViews(p)
	if err != nil {
		return err
	}
	return writeView(w, views, name, frame{Page: page, By: "operator", Token: "token", Now: time.Now().UTC()})
}

// words are what templates call.
var words = template.FuncMap{
	"line": line, "lines": block, "when": when, "clock": clock, "ago": ago, "took": took, "count": plural, "short": short, "dict": dict,
}

// mostShown is how many characters of a text that somebody chose stand on one line.
const mostShown = 160

// line shows a text that others chose on one line: without what would turn its surroundings round,
// hide something or move to another line.
func line(v any) string {
	text := strings.Map(func(r rune) rune {
		if isDeceptive(r) {
			return utf8.RuneError
		}
		return r
	}, fmt.Sprint(v))
	if n := 0; utf8.RuneCountInString(text) > mostShown {
		for i := range text {
			if n++; n > mostShown {
				return text[:i] + "…"
			}
		}
	}
	return text
}

// block is line for a text of several lines, of any length.
func block(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && isDeceptive(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// isDeceptive reports whether a character controls how others look, or cannot be seen. The joiner of
// emoji is none.
func isDeceptive(r rune) bool {
	const joiner = '\u200d'
	return r != joiner && (!unicode.IsGraphic(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r == '\u2800')
}

func when(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2 Jan 15:04:05")
}

// clock is a time as machines read it.
func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ago says how long before now a time is.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	switch d := now.Sub(t); {
	case d < 0:
		return "in " + span(-d)
	case d < time.Second:
		return "just now"
	default:
		return span(d) + " ago"
	}
}

// took says how long something took, or takes until now.
func took(now, from, to time.Time) string {
	if to.IsZero() {
		return span(now.Sub(from)) + " so far"
	}
	return span(to.Sub(from))
}

// span is a duration in two units at most.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

func plural(n any, what string) string {
	if text := fmt.Sprint(n); text != "1" {
		return text + " " + what + "s"
	}
	return "1 " + what
}

// When is a time as the page shows it.
func When(t time.Time) string { return when(t) }

// short is the beginning of an id.
func short(id any) string {
	text := fmt.Sprint(id)
	return line(text[:min(len(text), 10)])
}

// dict makes a map of names and values, for a part of a template that needs several.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m
}
