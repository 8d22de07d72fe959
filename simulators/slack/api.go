package slack

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/simulators/internal/stage"
)

// call is one call of a method on its way through the server.
type call struct {
	app     *app
	method  string
	args    params
	remote  string
	began   time.Time
	fault   *Fault
	early   bool // came before a Retry-After had passed
	cut     bool // the caller has gone, or shall be cut off
	token   bool // came with an upload
	ts      string
	message *MessageEntry
}

func (c *call) channel() string {
	if ch := c.args["channel"]; ch != "" {
		return ch
	}
	return c.args["channel_id"]
}

// refusal is an answer with ok=false, or a failure of the server in front.
type refusal struct {
	status     int // 0: 200, as of most errors
	code       string
	needed     string
	provided   string
	messages   []string
	retryAfter int
	html       bool
}

func refuse(code string, messages ...string) *refusal {
	return &refusal{code: code, messages: messages}
}

func tooMany(seconds int) *refusal {
	return &refusal{status: http.StatusTooManyRequests, code: "ratelimited", retryAfter: seconds}
}

// Handler answers the Web API under /api/, Socket Mode, uploads and downloads of
// files, and the control interface under /sim/. It may be mounted in any HTTP server, but what is to
// happen later happens only while Run does; faults that cut connections panic
// with http.ErrAbortHandler, as net/http expects.
func (s *Server) Handler() http.Handler {
	table := methods()
	control := s.control()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/api/"):
			s.serveAPI(w, r, table, path[len("/api/"):])
		case path == "/link/":
			s.serveLink(w, r)
		case strings.HasPrefix(path, "/files-pri/"):
			s.serveFile(w, r, path)
		case strings.HasPrefix(path, "/upload/v1/"):
			s.serveUpload(w, r, path[len("/upload/v1/"):])
		case strings.HasPrefix(path, "/actions/"), strings.HasPrefix(path, "/commands/"):
			http.NotFound(w, r)
		case strings.HasPrefix(path, "/sim/"):
			control.ServeHTTP(w, r)
		default:
			signIn(w)
		}
	})
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, table map[string]method, name string) {
	c := &call{method: name, remote: r.RemoteAddr, began: s.opts.Now()}
	args, refused := readParams(w, r)
	c.args = args
	m, known := table[name]
	switch {
	case refused != nil:
	case !known:
		refused = refuse("unknown_method")
	default:
		refused = s.begin(c, m, r)
	}
	if refused == nil && c.fault != nil {
		refused = s.applyFault(r, c)
	}
	var result any
	if refused == nil && !c.cut {
		result, refused = m.run(s, c)
	}
	if c.cut {
		s.finish(c, 0, nil)
		panic(http.ErrAbortHandler)
	}
	if refused != nil {
		s.finish(c, refused.httpStatus(), refused)
		refused.write(w)
		return
	}
	s.reply(w, c, inJSON, okResult(result))
}

// bearer is the token in the header.
func bearer(r *http.Request) string {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer")
	if !ok {
		return ""
	}
	return strings.TrimSpace(token)
}

// begin checks token and scopes, and applies rate limits and fault plans.
func (s *Server) begin(c *call, m method, r *http.Request) *refusal {
	token := bearer(r)
	if token == "" {
		token = c.args["token"]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused := s.authorize(c, m, token); refused != nil {
		return refused
	}
	if refused := s.checkHold(c); refused != nil {
		return refused
	}
	c.fault = s.draw(faultSubject{
		app: c.app.Name, method: c.method, channel: c.channel(),
		blocks: c.args["blocks"] != "", stream: strings.HasSuffix(c.method, "Stream") && c.args["ts"] != "",
	})
	if c.fault == nil && s.opts.RateLimits {
		if wait := s.rateLimitDelay(c, m); wait > 0 {
			s.holds[c.hold()] = c.began.Add(wait)
			return tooMany(seconds(wait))
		}
	}
	return nil
}

// checkHold refuses a call that comes before a Retry-After had passed. The caller holds
// the lock.
func (s *Server) checkHold(c *call) *refusal {
	left := s.holds[c.hold()].Sub(c.began)
	if left <= 0 {
		return nil
	}
	c.early = true
	s.books.totals.Violations++
	return tooMany(seconds(left))
}

// authorize finds the app of the token and holds the method to its scopes.
func (s *Server) authorize(c *call, m method, token string) *refusal {
	if token == "" {
		return refuse("not_authed")
	}
	for _, a := range s.apps {
		bot, socket := a.BotToken == token, a.AppToken == token
		if !bot && !socket {
			continue
		}
		if a.revoked != "" {
			return refuse(a.revoked)
		}
		if socket != m.appToken && c.method != "auth.test" {
			return refuse("not_allowed_token_type")
		}
		c.app = a
		if bot && !a.hasScope(m.scopes...) {
			return &refusal{code: "missing_scope", needed: strings.Join(m.scopes, ","), provided: strings.Join(a.Scopes, ",")}
		}
		return nil
	}
	return refuse("invalid_auth")
}

// hasScope tells whether the app has one of the scopes.
func (a *app) hasScope(scopes ...string) bool {
	return len(a.Scopes) == 0 || len(scopes) == 0 || slices.ContainsFunc(scopes, func(x string) bool { return slices.Contains(a.Scopes, x) })
}

// Revoke makes every call with the app's tokens fail with the error, such as
// token_revoked or account_inactive, and closes its connections; an empty error
// ends that.
func (s *Server) Revoke(app, code string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.app(app)
	if a == nil {
		return errNoApp
	}
	a.revoked = code
	if code != "" {
		a.hangUp("revoked")
	}
	return nil
}

// applyFault turns a fault that falls before the call is applied into its answer.
func (s *Server) applyFault(r *http.Request, c *call) *refusal {
	switch f := c.fault; f.Trouble {
	case TooManyRequests:
		after := max(f.RetryAfter, 1)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.holds[c.hold()] = s.opts.Now().Add(time.Duration(after) * time.Second)
		return tooMany(after)
	case InternalError:
		return &refusal{status: http.StatusInternalServerError, code: "internal_error"}
	case BadGateway:
		return &refusal{status: http.StatusBadGateway, code: "bad_gateway", html: true}
	case Unavailable:
		return &refusal{status: http.StatusServiceUnavailable, code: "service_unavailable"}
	case Refused:
		return refuse(f.Error)
	case BlocksRefused:
		return refuse("invalid_blocks", "[ERROR] failed to match all allowed schemas [json-pointer:/blocks]")
	case StreamExpired, StreamStopped:
		s.endStream(c, f.Trouble)
	case Dropped:
		c.cut = true
	case Slow:
		c.cut = !stage.Pause(f.Delay, r.Context(), s.stop)
	}
	return nil
}

// reply writes a success, or what a fault makes of it.
func (s *Server) reply(w http.ResponseWriter, c *call, kind string, body []byte) {
	var trouble Trouble
	if c.fault != nil {
		trouble = c.fault.Trouble
	}
	switch trouble {
	case Ambiguous:
		s.finish(c, 0, nil)
		panic(http.ErrAbortHandler)
	case Truncated:
		s.finish(c, http.StatusOK, nil)
		writeHead(w, http.StatusOK, kind, len(body))
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Garbage:
		s.finish(c, http.StatusOK, nil)
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><body>It works!\x00\xff</body></html>"))
	default:
		s.finish(c, http.StatusOK, nil)
		if len(c.app.Scopes) > 0 {
			w.Header().Set("X-OAuth-Scopes", strings.Join(c.app.Scopes, ","))
		}
		writeHead(w, http.StatusOK, kind, len(body))
		_, _ = w.Write(body)
	}
}

// inJSON is the type of what methods answer.
const inJSON = "application/json; charset=utf-8"

// okResult is a result with ok in front.
func okResult(result any) []byte {
	raw := mustJSON(result)
	if len(raw) <= 2 || string(raw) == "null" {
		return []byte(`{"ok":true}`)
	}
	return append([]byte(`{"ok":true,`), raw[1:]...)
}

func writeHead(w http.ResponseWriter, status int, kind string, size int) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(status)
}

func (e *refusal) httpStatus() int {
	if e.status == 0 {
		return http.StatusOK
	}
	return e.status
}

func (e *refusal) write(w http.ResponseWriter) {
	if e.html {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(e.httpStatus())
		_, _ = w.Write([]byte("<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n"))
		return
	}
	out := map[string]any{"ok": false, "error": e.code}
	if e.needed != "" {
		out["needed"], out["provided"] = e.needed, e.provided
	}
	if len(e.messages) > 0 {
		out["response_metadata"] = map[string]any{"messages": e.messages}
	}
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
	body, _ := json.Marshal(out)
	writeHead(w, e.httpStatus(), inJSON, len(body))
	_, _ = w.Write(body)
}

// finish books the call. It runs before the answer is written, so that a caller
// who has its answer also finds it in the books.
func (s *Server) finish(c *call, status int, e *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	entry := CallEntry{
		Method: c.method, Channel: c.channel(), TS: c.ts, Status: status, Violation: c.early, Token: c.token,
		Remote: c.remote, At: c.began, Took: now.Sub(c.began),
	}
	if c.app != nil {
		entry.App = c.app.Name
	}
	s.books.totals.Calls++
	if e != nil {
		entry.Error = e.code
		s.books.totals.Refused++
	} else if c.fault != nil {
		switch c.fault.Trouble {
		case Ambiguous, Truncated, Garbage:
			s.books.totals.Unconfirmed++
			if c.message != nil {
				c.message.Unconfirmed = true
			}
		}
	}
	if c.fault != nil {
		entry.Fault = c.fault.Trouble
	}
	s.books.calls.Add(entry)
	s.books.Notify()
}
