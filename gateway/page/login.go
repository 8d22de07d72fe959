package page

import (
	"crypto/rand"
	"net"
	"net/http"
)

// loginView is what the form to log in shows.
type loginView struct {
	Token     string
	Passwords bool
	Problem   string
}

func (s *Server) loginForm(w http.ResponseWriter, r *http.Request) {
	if s.doors.find(s.cookie(r, loginCookie)) != nil {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	s.showLogin(w, r, http.StatusOK, "")
}

func (s *Server) showLogin(w http.ResponseWriter, r *http.Request, status int, problem string) {
	cookie := s.cookie(r, formCookie)
	if len(cookie) < 20 || len(cookie) > 100 {
		cookie = rand.Text()
		s.setCookie(w, formCookie, cookie)
	}
	s.render(w, status, "login", frame{Page: Page{Title: "Log in", Body: loginView{s.formToken(cookie), len(s.o.Operators) > 0, problem}}})
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		from = r.RemoteAddr
	}
	cookie, by, o := s.doors.try(from, r.PostFormValue("code"), r.PostFormValue("name"), r.PostFormValue("password"))
	switch o {
	case right:
		s.o.Logger.Info("operator logged in", "by", by, "from", from)
		s.setCookie(w, loginCookie, cookie)
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case tooOften:
		w.Header().Set("Retry-After", "60")
		s.showLogin(w, r, http.StatusTooManyRequests, "Too many tries. Wait a minute; the parley commands on the machine itself work meanwhile.")
	default:
		s.o.Logger.Warn("log-in to the operator page refused", "from", from)
		s.showLogin(w, r, http.StatusUnauthorized, "That is not right. A code works once, and for five minutes.")
	}
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.doors.leave(visitOf(r).login)
	s.setCookie(w, loginCookie, "")
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}
