package page

import (
	"crypto/rand"
	"net"
	"net/http"

	h "parley/gateway/hypertext"
)

// loginView is what the form to log in shows.
type loginView struct {
	Passwords bool
	Problem   string
}

func (v loginView) page() Page { return Page{Title: "Log in", Body: v.body} }

func (v loginView) body(f Frame) h.Node {
	return h.Group{
		h.If(v.Problem != "", h.P(h.Class("notice bad"), h.Role("alert"), Line(v.Problem))),
		f.Form(h.At("login"), "login",
			h.H2(h.Text("With a code")),
			h.P(h.Text("On the machine, "), h.Code(h.Text("parley page")), h.Text(" gives you one.")),
			field("Code", h.Name("code"), h.Required(), h.MaxLength("40"), h.AutoComplete("one-time-code"), h.AutoCapitalize("characters"), h.SpellCheck("false")),
			h.Button(h.Class("main"), h.Text("Log in")),
		),
		h.If(v.Passwords, f.Form(h.At("login"), "login",
			h.H2(h.Text("With your password")),
			field("Name", h.Name("name"), h.Required(), h.MaxLength("40"), h.AutoComplete("username"), h.AutoCapitalize("none"), h.SpellCheck("false")),
			field("Password", h.Name("password"), h.Type("password"), h.Required(), h.MaxLength("400"), h.AutoComplete("current-password")),
			h.Button(h.Class("main"), h.Text("Log in")),
		)),
	}
}

// field is an input with its name in front.
func field(name string, attributes ...h.Node) h.Node {
	return h.Label(h.Text(name+" "), h.Input(attributes...))
}

func (s *Server) loginForm(w http.ResponseWriter, r *http.Request) {
	if s.doors.find(s.cookie(r, loginCookie)) != nil {
		http.Redirect(w, r, s.below+"/", http.StatusSeeOther)
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
	render(w, status, loginView{len(s.o.Operators) > 0, problem}.page(), Frame{Token: s.formToken(cookie)})
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
		http.Redirect(w, r, s.below+"/", http.StatusSeeOther)
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
