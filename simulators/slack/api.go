package slack

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/simulators/internal/stage"
)

// call is one call of a method by an app on its way through the server.
type call struct {
	*Server
	app     *app
	method  string
	args    params
	request *http.Request
	began   time.Time
	fault   *Fault
	early   bool // came before a Retry-After had passed
	token   bool // came with an upload
	ts      string
	message *MessageEntry
}

func (c *call) channel() string { return cmp.Or(c.args["channel"], c.args["channel_id"]) }

// refusal is an answer with ok=false, or a failure of the server in front. A rule that
// refuses a call panics with it, as [stage.Refused] has it.
type refusal struct {
	status     int // 0: 200, as of most errors
	code       string
	needed     string
	provided   string
	messages   []string
	retryAfter int
}

func refuse(code string, messages ...string) *refusal {
	return &refusal{code: code, messages: messages}
}

func tooMany(seconds int) *refusal {
	return &refusal{status: http.StatusTooManyRequests, code: "ratelimited", retryAfter: seconds}
}

func missingScope(a *app, scopes ...string) *refusal {
	return &refusal{code: "missing_scope", needed: strings.Join(scopes, ","), provided: strings.Join(a.Scopes, ",")}
}

// Handler answers the Web API under /api/, Socket Mode, uploads and downloads of
// files, and the control interface under /sim/. It may be mounted in any HTTP server, but what is to
// happen later happens only while Run does; faults that cut connections panic
// with http.ErrAbortHandler, as net/http expects.
func (s *Server) Handler() http.Handler {
	control := s.control()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/api/"):
			s.serveAPI(w, r, path[len("/api/"):])
		case path == "/link/":
			s.serveLink(w, r)
		case strings.HasPrefix(path, "/files-pri/"):
			s.serveFile(w, r, path)
		case strings.HasPrefix(path, "/upload/v1/"):
			s.serveUpload(w, r, path[len("/upload/v1/"):])
		case strings.HasPrefix(path, "/actions/"):
			s.serveResponse(w, r)
		case strings.HasPrefix(path, "/commands/"): // parley answers by methods
			http.NotFound(w, r)
		case strings.HasPrefix(path, "/sim/"):
			control.ServeHTTP(w, r)
		default:
			signIn(w)
		}
	})
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, name string) {
	c := &call{Server: s, method: name, request: r, began: s.opts.Now()}
	c.serve(w, inJSON, func() []byte {
		c.args = readParams(w, r)
		m, known := methods[name]
		if !known {
			panic(refuse("unknown_method"))
		}
		c.begin(m)
		c.applyFault()
		// Slack: "the HTTP response headers X-OAuth-Scopes lists the scopes your token has".
		w.Header().Set("X-OAuth-Scopes", strings.Join(c.app.Scopes, ","))
		s.mu.Lock()
		defer s.mu.Unlock()
		return okResult(m.run(c))
	})
}

// serve runs the rules of a call, and books and writes the answer that they give, or
// what ends them.
func (c *call) serve(w http.ResponseWriter, kind string, rules func() []byte) {
	var body []byte
	refused, cut := stage.Refused[refusal](func() { body = rules() })
	switch {
	case cut:
		c.finish(0, nil)
		panic(http.ErrAbortHandler)
	case refused != nil:
		if refused.status == 0 && c.method == uploading {
			refused.status = http.StatusBadRequest // 200 would say that the file is here
		}
		c.finish(cmp.Or(refused.status, http.StatusOK), refused)
		refused.write(w)
	default:
		c.reply(w, kind, body)
	}
}

// bearer returns the token in the header.
func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer")
	return strings.TrimSpace(token)
}

// begin checks token and scopes, and applies rate limits and fault plans.
func (c *call) begin(m method) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.authorize(m, cmp.Or(bearer(c.request), c.args["token"]))
	c.checkHold()
	c.fault = c.draw(faultSubject{
		app: c.app.Name, method: c.method, channel: c.channel(),
		blocks: c.args["blocks"] != "", stream: strings.HasSuffix(c.method, "Stream") && c.args["ts"] != "",
	})
	if c.fault == nil && c.opts.RateLimits {
		if wait := c.delay(c.hold(), m.tier, c.began); wait > 0 {
			c.holds[c.hold()] = c.began.Add(wait)
			panic(tooMany(stage.Seconds(wait)))
		}
	}
}

// checkHold refuses a call that comes before a Retry-After had passed. The caller holds
// the lock.
func (c *call) checkHold() {
	if left := c.holds[c.hold()].Sub(c.began); left > 0 {
		c.early = true
		c.books.totals.Violations++
		panic(tooMany(stage.Seconds(left)))
	}
}

// authorize finds the app of the token and holds the method to its scopes.
func (c *call) authorize(m method, token string) {
	if token == "" {
		panic(refuse("not_authed"))
	}
	for _, a := range c.apps {
		bot, socket := a.BotToken == token, a.AppToken == token
		if !bot && !socket {
			continue
		}
		if a.revoked != "" {
			panic(refuse(a.revoked))
		}
		if socket != m.appToken && c.method != "auth.test" {
			panic(refuse("not_allowed_token_type"))
		}
		c.app = a
		if bot && !a.hasScope(m.scopes...) {
			panic(missingScope(a, m.scopes...))
		}
		return
	}
	panic(refuse("invalid_auth"))
}

// hasScope reports whether the app has one of the scopes.
func (a *app) hasScope(scopes ...string) bool {
	return len(a.Scopes) == 0 || len(scopes) == 0 || slices.ContainsFunc(scopes, func(x string) bool { return slices.Contains(a.Scopes, x) })
}

// applyFault turns a fault that falls before the call is applied into its answer.
func (c *call) applyFault() {
	switch t := c.fault.trouble(); t {
	case TooManyRequests:
		after := max(c.fault.RetryAfter, 1)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.holds[c.hold()] = c.opts.Now().Add(time.Duration(after) * time.Second)
		panic(tooMany(after))
	case InternalError:
		panic(&refusal{status: http.StatusInternalServerError, code: "internal_error"})
	case BadGateway:
		panic(&refusal{status: http.StatusBadGateway, code: "bad_gateway"})
	case Unavailable:
		panic(&refusal{status: http.StatusServiceUnavailable, code: "service_unavailable"})
	case Refused:
		panic(refuse(c.fault.Error))
	case BlocksRefused:
		panic(refuse("invalid_blocks", "[ERROR] failed to match all allowed schemas [json-pointer:/blocks]"))
	case StreamExpired, StreamStopped:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.endStream(c.channel(), c.args["ts"], t)
	case Dropped:
		panic(http.ErrAbortHandler)
	case Slow:
		if !stage.Pause(c.fault.Delay, c.request.Context(), c.stop) {
			panic(http.ErrAbortHandler)
		}
	}
}

// reply writes a success, or what a fault makes of it.
func (c *call) reply(w http.ResponseWriter, kind string, body []byte) {
	status := http.StatusOK
	if c.fault.trouble() == Ambiguous {
		status = 0
	}
	c.finish(status, nil)
	switch c.fault.trouble() {
	case Ambiguous:
		panic(http.ErrAbortHandler)
	case Truncated:
		stage.WriteHalf(w, kind, body)
	case Garbage:
		stage.WriteGarbage(w)
	default:
		if len(c.app.Scopes) > 0 {
			w.Header().Set("X-OAuth-Scopes", strings.Join(c.app.Scopes, ","))
		}
		stage.WriteBody(w, status, kind, body)
	}
}

// inJSON is the type of what methods answer.
const inJSON = "application/json; charset=utf-8"

// okResult returns a result with ok in front.
func okResult(result any) []byte {
	raw := mustJSON(result)
	if len(raw) <= 2 || string(raw) == "null" {
		return []byte(`{"ok":true}`)
	}
	return append([]byte(`{"ok":true,`), raw[1:]...)
}

func (e *refusal) write(w http.ResponseWriter) {
	if e.status == http.StatusBadGateway {
		stage.WriteBadGateway(w)
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
	stage.WriteBody(w, cmp.Or(e.status, http.StatusOK), inJSON, mustJSON(out))
}

// finish books the call. It runs before the answer is written, so that a caller
// who has its answer also finds it in the books.
func (c *call) finish(status int, e *refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := CallEntry{
		Method: c.method, Channel: c.channel(), TS: c.ts, Status: status, Violation: c.early, Token: c.token, Fault: c.fault.trouble(),
		Remote: c.request.RemoteAddr, At: c.began, Took: c.opts.Now().Sub(c.began),
	}
	if c.app != nil {
		entry.App = c.app.Name
	}
	c.books.totals.Calls++
	if e != nil {
		entry.Error = e.code
		c.books.totals.Refused++
	} else {
		switch c.fault.trouble() {
		case Ambiguous, Truncated, Garbage:
			c.books.totals.Unconfirmed++
			if c.message != nil {
				c.message.Unconfirmed = true
			}
		}
	}
	c.books.calls.Add(entry)
	c.books.Notify()
}
