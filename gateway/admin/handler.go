package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"parley/gateway/redaction"
	"parley/sessions"
)

// Bounds of a question and of its answer.
const (
	maxBody      = 64 << 10
	answerWithin = 2 * time.Minute // all of a large ledger may be summed up
)

// Error is what the gateway answered instead.
type Error struct {
	Status  int    `json:"-"` // of HTTP
	Kind    Kind   `json:"kind"`
	Message string `json:"error"` // a sentence for the operator
}

func (e *Error) Error() string { return e.Message }

// HTTPStatus returns with which status of HTTP it is answered.
func (e *Error) HTTPStatus() int { return e.Status }

// Kind describes what an [Error] means.
type Kind string

// Kinds of errors.
const (
	Invalid   Kind = "invalid"   // the question makes no sense
	NotFound  Kind = "not_found" // there is no such thing
	Ambiguous Kind = "ambiguous" // the beginning of an id fits several
	Refused   Kind = "refused"   // it is there, and may not be done
	Failed    Kind = "failed"    // the gateway could not: trying again may help
	Again     Kind = "again"     // an action of that id was begun before, and is not begun again
	BadConfig Kind = "config"    // the configuration has mistakes, which the message says, and is not in force
)

var statuses = map[Kind]int{
	Invalid: http.StatusBadRequest, NotFound: http.StatusNotFound, Ambiguous: http.StatusConflict, Again: http.StatusConflict,
	Refused: http.StatusUnprocessableEntity, BadConfig: http.StatusUnprocessableEntity, Failed: http.StatusInternalServerError,
}

func newError(kind Kind, format string, a ...any) *Error {
	return &Error{Status: statuses[kind], Kind: kind, Message: fmt.Sprintf(format, a...)}
}

// Handler answers under /v1. It does not ask who asks: the socket does.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	// A question names nothing that its answer does not know: a flag without
	// effect would be a lie.
	handle := func(pattern string, answer func(r *http.Request) (any, error), known ...string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
			defer cancel()
			r = r.WithContext(ctx)
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			for name := range r.URL.Query() {
				if !slices.Contains(known, name) {
					s.respond(w, r, nil, newError(Invalid, "unknown parameter %q for this gateway", name))
					return
				}
			}
			v, err := answer(r)
			s.respond(w, r, v, err)
		})
	}
	trees, money, members, accounts := treeDesk{s.o}, budgetDesk{s.o}, peopleDesk{s.o}, linkedDesk{s.o}
	decisions, letters, servers, schedules := approvalDesk{s.o}, letterDesk{s.o}, serverDesk{s.o}, jobDesk{s.o}
	handle("GET /v1/status", statusDesk{s.o, s.started}.status)
	handle("POST "+reloadPath, s.reload)
	handle("GET /v1/sessions", trees.sessions, "since", "sort", "limit", "skip", "channel")
	handle("GET /v1/sessions/{id}", trees.session, "transcript", "states")
	handle("DELETE /v1/sessions/{id}", s.act("delete session", trees.deleteSession), "once")
	handle("GET "+forgetPath, members.traces, "channel", "person")
	handle("POST "+forgetPath, s.act("forget", members.forget), "channel", "person", "groups", "once")
	handle("GET /v1/sessions/{id}/turns/{turn}", trees.turn, "transcript")
	handle("GET "+whyPath, trees.why, "message", "channel", "chat")
	handle("GET /v1/usage", money.usage, "since", "until", "by")
	handle("GET /v1/dead-letters", letters.deadLetters, "after")
	handle("GET /v1/dead-letters/{id}", letters.deadLetter, "place", "body")
	handle("DELETE /v1/dead-letters/{id}", s.act("drop", letters.drop), "place", "once")
	handle("POST /v1/dead-letters/{id}/redeliver", s.act("redeliver", letters.redeliver), "place", "once")
	handle("GET /v1/approvals", decisions.approvals)
	handle("GET /v1/approvals/{id}", decisions.approval)
	handle("POST /v1/approvals/{id}/approve", s.act("approve", decisions.approve), "once")
	handle("POST /v1/approvals/{id}/deny", s.act("deny", decisions.deny), "once")
	handle("GET /v1/budgets", money.budgets, "session", "each")
	handle("POST /v1/budgets/raise", s.act("raise", money.raiseBudget), "budget", "amount", "for", "channel", "person", "group", "session", "once")
	handle("POST /v1/budgets/revoke", s.act("revoke", money.revokeRaise), "id", "once")
	handle("GET /v1/actions", s.actions)
	handle("GET /v1/refusals", s.refusals)
	handle("POST /v1/page/code", s.pageCode)
	handle("GET /v1/mcp", servers.servers)
	handle("POST /v1/mcp/allow", servers.allowTool, "server", "tool", "digest")
	handle("POST /v1/mcp/revoke", servers.revokeTool, "server", "tool")
	handle("POST /v1/mcp/login", servers.beginLogin, "server", "redirect", "scope")
	handle("POST /v1/mcp/login/finish", servers.finishLogin, "server", "address")
	handle("POST /v1/mcp/logout", servers.logout, "server")
	handle("GET /v1/inquiries/people", s.askable)
	handle("GET /v1/inquiries", s.inquiry, "key", "wait")
	handle("POST /v1/inquiries", s.inquire, "key", "person", "text", "choice", "wait")
	handle("GET /v1/cron", schedules.jobs)
	handle("POST /v1/cron/{name}/run", schedules.runJob)
	handle("GET /v1/access", members.access)
	handle("POST /v1/access/allow", members.allowPerson, "channel", "person", "role")
	handle("POST /v1/access/deny", members.denyPerson, "channel", "person")
	handle("GET /v1/pairing", members.pairing)
	handle("POST /v1/pairing/approve", members.approvePairing, "code")
	handle("POST /v1/pairing/revoke", members.revokePairing, "id", "channel")
	handle("GET "+linkedPath("{network}", "groups"), accounts.groups, "channel")
	handle("GET "+linkedPath("{network}", "keys"), accounts.peerKeys, "channel")
	handle("POST "+linkedPath("{network}", "trust"), accounts.trust, "channel", "person", "safety_number")
	mux.HandleFunc("POST "+linkedPath("{network}", "link"), s.link)
	mux.HandleFunc("GET /v1/sessions/{id}/export", s.export)
	mux.HandleFunc("POST "+restorePath, s.restore)
	mux.HandleFunc("GET "+backupPath, s.backup)
	mux.HandleFunc("GET /v1/events", s.events)
	handle("/", func(r *http.Request) (any, error) {
		return nil, newError(NotFound, "gateway version %s does not know %s %s: is it as new as this program?", s.o.Version, r.Method, r.URL.Path)
	})
	return mux
}

func (s *Server) respond(w http.ResponseWriter, r *http.Request, v any, err error) {
	status := http.StatusOK
	if err != nil {
		e := asError(err)
		if e.Kind == Failed {
			s.o.Logger.Warn("operator request failed", "request", r.Method+" "+r.URL.Path, "error", err)
		}
		v, status = e, e.Status
	}
	b, err := json.Marshal(v)
	if err == nil {
		b, err = redaction.CleanJSON(b, s.o.Redact)
	}
	if err != nil {
		s.o.Logger.Error("operator response not encoded", "request", r.Method+" "+r.URL.Path, "error", err)
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // whoever asked may have gone
}

func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Status = statuses[e.Kind]
		return e
	}
	if errors.Is(err, sessions.ErrNotFound) {
		return newError(NotFound, "%v", err)
	}
	return newError(Failed, "%v", err)
}
