package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/simulators/internal/stage"
)

// call is one call of a method by a bot on its way through the server.
type call struct {
	*Server
	account *account
	method  string
	args    params
	sent    uploads
	ctx     context.Context // ends when the caller hangs up
	chat    int64
	began   time.Time
	client  string // address of the caller, without the port
	fault   *Fault
	early   bool // came before a retry_after had passed
	message *MessageEntry
}

// Handler answers the Bot API under /bot<token>/, file downloads under
// /file/bot<token>/ and the control interface under /sim/. It may be mounted
// in any HTTP server; faults that cut connections panic with
// http.ErrAbortHandler, as net/http expects.
func (s *Server) Handler() http.Handler {
	control := s.control()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refused, cut := stage.Refused[refusal](func() {
			switch path := r.URL.Path; {
			case strings.HasPrefix(path, "/bot"):
				s.serveBot(w, r, path[len("/bot"):])
			case strings.HasPrefix(path, "/file/bot"):
				s.serveFile(w, path[len("/file/bot"):])
			case strings.HasPrefix(path, "/sim/"):
				control.ServeHTTP(w, r)
			default:
				panic(notFound())
			}
		})
		if cut {
			panic(http.ErrAbortHandler)
		}
		if refused != nil {
			refused.write(w)
		}
	})
}

// authorize splits "<token>/rest" and finds the bot.
func (s *Server) authorize(path string) (*account, string) {
	token, rest, _ := strings.Cut(path, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.accounts {
		if a.bot.Token == token {
			return a, rest
		}
	}
	if !tokenShape.MatchString(token) {
		panic(notFound())
	}
	panic(unauthorized())
}

func (s *Server) serveBot(w http.ResponseWriter, r *http.Request, path string) {
	a, name := s.authorize(path)
	c := &call{Server: s, account: a, ctx: r.Context(), sent: uploads{}}
	var run func(*call) any
	for known, f := range methods { // the real server ignores case
		if fold(known) == fold(strings.TrimPrefix(name, "test/")) {
			c.method, run = known, f
		}
	}
	if run == nil {
		panic(&refusal{code: http.StatusNotFound, text: "Not Found: method not found"})
	}
	c.args = s.readArgs(w, r, c.sent)
	c.client, _, _ = net.SplitHostPort(r.RemoteAddr) // within a process there may be none
	var result any
	refused, cut := stage.Refused[refusal](func() {
		c.begin()
		c.applyFault()
		s.mu.Lock()
		defer s.mu.Unlock()
		result = run(c)
	})
	switch {
	case cut:
		c.finish(0, nil)
		panic(http.ErrAbortHandler)
	case refused != nil:
		c.finish(refused.code, refused)
		if c.fault.trouble() == BadGateway {
			stage.WriteBadGateway(w)
			return
		}
		panic(refused)
	}
	c.reply(w, envelope(result))
}

// readArgs reads the arguments of a call, or refuses it.
func (s *Server) readArgs(w http.ResponseWriter, r *http.Request, files uploads) params {
	args, err := readParams(w, r, files)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		panic(&refusal{code: http.StatusRequestEntityTooLarge, text: "Request Entity Too Large"})
	}
	if errors.Is(err, errUnended) {
		select {
		case <-r.Context().Done():
		case <-s.stop.Done():
		}
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		panic(badRequest("can't parse request"))
	}
	return args
}

// begin applies retry_after, rate limits and fault plans to a call.
func (c *call) begin() {
	c.chat = c.args.number("chat_id")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = c.opts.Now()
	if left := c.holdDelay(c.account.bot.ID, c.chat, c.method, c.began); left > 0 {
		c.early = true
		c.books.totals.Violations++
		panic(tooMany(stage.Seconds(left)))
	}
	c.fault = c.draw(c.account.bot.Username, c.method, c.chat, false)
	if c.fault != nil {
		c.books.totals.Faults++
	}
}

// applyFault turns a fault that falls before the call is applied into its answer.
func (c *call) applyFault() {
	switch c.fault.trouble() {
	case TooManyRequests:
		after := max(c.fault.RetryAfter, 1)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hold(c.account.bot.ID, c.chat, c.method, after, c.fault.Global, c.opts.Now())
		panic(tooMany(after))
	case InternalError:
		panic(&refusal{code: http.StatusInternalServerError, text: "Internal Server Error"})
	case BadGateway:
		panic(&refusal{code: http.StatusBadGateway, text: "Bad Gateway"})
	case Unauthorized:
		panic(unauthorized())
	case Forbidden:
		panic(forbidden("bot was blocked by the user"))
	case Conflict:
		panic(conflict(textOusted))
	case Dropped:
		panic(http.ErrAbortHandler)
	case Slow:
		if !stage.Pause(c.fault.Delay, c.ctx, c.stop) {
			panic(http.ErrAbortHandler)
		}
	}
}

// reply writes a success, or what a fault makes of it.
func (c *call) reply(w http.ResponseWriter, body []byte) {
	status := http.StatusOK
	if c.fault.trouble() == Ambiguous {
		status = 0
	}
	c.finish(status, nil)
	switch c.fault.trouble() {
	case Ambiguous:
		panic(http.ErrAbortHandler)
	case Truncated:
		stage.WriteHalf(w, inJSON, body)
	case Garbage:
		stage.WriteGarbage(w)
	case Restarting:
		stage.WriteBody(w, http.StatusInternalServerError, inJSON, []byte(`{"ok":false,"error_code":500,"description":"Internal Server Error: restart"}`))
	case Oversized:
		writeOversized(w, body, cmp.Or(c.fault.Size, 64<<20))
	default:
		stage.WriteBody(w, status, inJSON, body)
	}
}

// inJSON is the type of what methods answer.
const inJSON = "application/json"

func envelope(result any) []byte {
	raw, ok := result.(rawResult)
	if !ok {
		raw = mustJSON(result)
	}
	body := make([]byte, 0, len(raw)+22)
	body = append(body, `{"ok":true,"result":`...)
	body = append(body, raw...)
	return append(body, '}')
}

// mustJSON encodes types of this package, which cannot fail.
func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("telegram simulator: encode: " + err.Error())
	}
	return raw
}

func writeOversized(w http.ResponseWriter, body []byte, size int) {
	w.Header().Set("Content-Type", inJSON)
	w.Header().Set("Content-Length", strconv.Itoa(size+len(body)))
	blank := bytes.Repeat([]byte(" "), 64<<10)
	for size > 0 {
		n, err := w.Write(blank[:min(size, len(blank))])
		if err != nil {
			return
		}
		size -= n
	}
	_, _ = w.Write(body)
}

// finish books the call. It runs before the answer is written, so that a
// caller who has its answer also finds it in the books.
func (c *call) finish(status int, e *refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := CallEntry{
		Bot: c.account.bot.Username, Method: c.method, ChatID: c.chat, Status: status, Fault: c.fault.trouble(),
		Violation: c.early, At: c.began, Took: c.opts.Now().Sub(c.began),
	}
	c.books.totals.Calls++
	if e != nil {
		entry.Description = e.text
		c.books.totals.Refused++
	} else {
		switch c.fault.trouble() {
		case Ambiguous, Truncated, Garbage, Restarting, Oversized:
			c.books.totals.Unconfirmed++
			if c.message != nil {
				c.message.Unconfirmed = true
			}
		}
	}
	c.books.calls.Add(entry)
	c.books.Notify()
}
