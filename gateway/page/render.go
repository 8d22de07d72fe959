package page

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	h "parley/gateway/hypertext"
)

// statusError is an error that knows with which status of HTTP it is answered.
type statusError interface {
	error
	HTTPStatus() int
}

// show answers a request with a page.
func (s *Server) show(v View) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at := visitOf(r)
		p, err := v(r, at.by)
		status := http.StatusOK
		if err != nil {
			status = http.StatusInternalServerError
			if e, ok := errors.AsType[statusError](err); ok {
				status = e.HTTPStatus()
			}
			s.o.Logger.Info("operator page not shown", "path", r.URL.Path, "by", at.by, "error", err)
			p = problemPage(err)
		}
		render(w, status, p, Frame{Now: s.o.Now().UTC(), Token: at.token, By: at.by, below: s.below, notices: at.takeNotices()})
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
		http.Redirect(w, r, s.below+next, http.StatusSeeOther)
	}
}

// problemPage says why a page is not shown.
func problemPage(err error) Page {
	return Page{Title: "That did not work", Body: func(Frame) h.Node {
		return h.Group{
			h.P(h.Class("verdict bad"), Block(err.Error())),
			h.P(h.Link(h.At(""), h.Class("more"), h.Text("To the overview"))),
		}
	}}
}

// render sends a page.
func render(w http.ResponseWriter, status int, p Page, f Frame) {
	html := f.Around(p) // whole, before anything is sent
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, html) // whoever asked may have gone
}
