package page

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"
)

// maxForm is the most bytes of a form.
const maxForm = 16 << 10

// policy lets the page load its own style, script and picture, and send forms to itself; no more.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard sets the headers of every answer and refuses what no form or link of the page sends: other
// hosts, which a name may have been turned into this address for, other sites' forms, and forms
// without the token of who is looking at them.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // another port is another origin, and learns no path; no-referrer would take the origin from forms, too
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		if !s.isOwnHost(r.Host) {
			http.Error(w, "this address of the operator page is not the one of its configuration (page.url)", http.StatusMisdirectedRequest)
			return
		}
		if r.Method == http.MethodPost {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			if err := http.NewCrossOriginProtection().Check(r); err != nil || !s.isOwnForm(r) {
				http.Error(w, "this form is not one of the operator page, or too old: go back, load the page again and send it once more", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnHost reports whether browsers know the page by that host. On loopback localhost is the same.
func (s *Server) isOwnHost(host string) bool {
	if strings.EqualFold(host, s.host) {
		return true
	}
	name, port, found := strings.Cut(host, ":")
	own, ownPort, _ := strings.Cut(s.host, ":")
	return found && port == ownPort && name == "localhost" && own == "127.0.0.1"
}

// Names of the cookies. One that begins with __Host- comes by https and from this host alone.
const (
	loginCookie = "parley_page"
	formCookie  = "parley_page_form"
)

func (s *Server) cookieName(name string) string {
	if s.secure {
		return "__Host-" + name
	}
	return name
}

// setCookie has a browser keep a value until it is closed, or forget it. By http a browser sends the
// cookies of a host to each of its ports, where a program of an agent may listen: so that of the log-in
// belongs to a path that such a program does not know, and which nobody is told before they log in.
func (s *Server) setCookie(w http.ResponseWriter, name, value string) {
	path := "/"
	switch {
	case s.secure: // which the name of the cookie demands
	case name == loginCookie:
		path = s.below + "/"
	default:
		path = "/login"
	}
	c := &http.Cookie{Name: s.cookieName(name), Value: value, Path: path, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.secure}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

func (s *Server) cookie(r *http.Request, name string) string {
	c, err := r.Cookie(s.cookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// formToken returns what the forms of a browser bear that has that cookie: another site can have it
// send the cookie, but not learn what belongs to it.
func (s *Server) formToken(cookie string) string {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(cookie))
	return hex.EncodeToString(m.Sum(nil))
}

// isOwnForm reports whether a form bears the token of the browser that sends it: of its log-in, or
// before that of the form to log in.
func (s *Server) isOwnForm(r *http.Request) bool {
	name := loginCookie
	if r.URL.Path == "/login" {
		name = formCookie
	}
	cookie := s.cookie(r, name)
	return cookie != "" && subtle.ConstantTimeCompare([]byte(r.PostFormValue("token")), []byte(s.formToken(cookie))) == 1
}

type visitKey struct{}

// visit is one request of an operator who has logged in.
type visit struct {
	*login

	token string // of its forms
}

// loggedIn lets those on who have logged in, and shows others the form for that.
func (s *Server) loggedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookie := s.cookie(r, loginCookie)
		l := s.doors.find(cookie)
		if l == nil {
			sendToLogin(w, r)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, &visit{l, s.formToken(cookie)})))
	})
}

// sendToLogin leads to the form to log in; what another form asks for is not done then.
func sendToLogin(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "your log-in has ended: log in again, and look whether it is still to be done", http.StatusUnauthorized)
		return
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// visitOf returns who makes a request behind loggedIn.
func visitOf(r *http.Request) *visit { return r.Context().Value(visitKey{}).(*visit) } // loggedIn has put it there
