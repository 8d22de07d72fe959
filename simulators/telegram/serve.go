package telegram

import (
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

// call is one call of a method on its way through the server.
type call struct {
	account *account
	method  string
	args    params
	files   uploads
	chat    int64
	began   time.Time
	client  string // address of the caller, without the port
	fault   *Fault
	early   bool // came before a retry_after had passed
	cut     bool // the caller has gone, or shall be cut off
	message *MessageEntry
}

type method func(s *Server, ctx context.Context, c *call) (any, *refusal)

// Handler answers the Bot API under /bot<token>/, file downloads under
// /file/bot<token>/ and the control interface under /sim/. It may be mounted
// in any HTTP server; faults that cut connections panic with
// http.ErrAbortHandler, as net/http expects.
func (s *Server) Handler() http.Handler {
	table := methods()
	control := s.control()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/bot"):
			s.serveBot(w, r, table, path[len("/bot"):])
		case strings.HasPrefix(path, "/file/bot"):
			s.serveFile(w, path[len("/file/bot"):])
		case strings.HasPrefix(path, "/sim/"):
			control.ServeHTTP(w, r)
		default:
			refuse(w, &refusal{code: http.StatusNotFound, text: "Not Found"})
		}
	})
}

// authorize splits "<token>/rest" and finds the bot.
func (s *Server) authorize(path string) (*account, string, *refusal) {
	token, rest, _ := strings.Cut(path, "/")
	if a := s.accountOf(token); a != nil {
		return a, rest, nil
	}
	if !tokenShape.MatchString(token) {
		return nil, "", &refusal{code: http.StatusNotFound, text: "Not Found"}
	}
	return nil, "", &refusal{code: http.StatusUnauthorized, text: "Unauthorized"}
}

func (s *Server) accountOf(token string) *account {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.accounts {
		if a.bot.Token == token {
			return a
		}
	}
	return nil
}

func (s *Server) serveBot(w http.ResponseWriter, r *http.Request, table map[string]namedMethod, path string) {
	a, name, refused := s.authorize(path)
	if refused != nil {
		refuse(w, refused)
		return
	}
	m, ok := table[fold(strings.TrimPrefix(name, "test/"))]
	if !ok {
		refuse(w, &refusal{code: http.StatusNotFound, text: "Not Found: method not found"})
		return
	}
	files := uploads{}
	args, err := readParams(w, r, files)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		refuse(w, &refusal{code: http.StatusRequestEntityTooLarge, text: "Request Entity Too Large"})
		return
	}
	if errors.Is(err, errUnended) {
		select {
		case <-r.Context().Done():
		case <-s.stop.Done():
		}
		panic(http.ErrAbortHandler)
	}
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		refuse(w, refused)
		return
	}
	if err != nil {
		refuse(w, badRequest("can't parse request"))
		return
	}
	c := &call{account: a, method: m.name, args: args, files: files}
	c.client, _, _ = net.SplitHostPort(r.RemoteAddr) // within a process there may be none
	refused = s.begin(c)
	if refused == nil && c.fault != nil {
		refused = s.applyFault(r.Context(), c)
	}
	if c.cut {
		s.finish(c, 0, nil)
		panic(http.ErrAbortHandler)
	}
	if refused != nil {
		s.refuseCall(w, c, refused)
		return
	}
	result, refused := m.run(s, r.Context(), c)
	if c.cut {
		s.finish(c, 0, nil)
		panic(http.ErrAbortHandler)
	}
	if refused != nil {
		s.refuseCall(w, c, refused)
		return
	}
	s.reply(w, c, result)
}

// begin applies retry_after, rate limits and fault plans to a call.
func (s *Server) begin(c *call) *refusal {
	c.chat = c.args.number("chat_id")
	s.mu.Lock()
	defer s.mu.Unlock()
	c.began = s.opts.Now()
	if left := s.holdDelay(c.account.bot.ID, c.chat, c.method, c.began); left > 0 {
		c.early = true
		s.books.totals.Violations++
		return tooMany(seconds(left))
	}
	c.fault = s.draw(c.account.bot.Username, c.method, c.chat, false)
	if c.fault != nil {
		s.books.totals.Faults++
	}
	return nil
}

// applyFault turns a fault that falls before the call is applied into its answer.
func (s *Server) applyFault(ctx context.Context, c *call) *refusal {
	switch f := c.fault; f.Trouble {
	case TooManyRequests:
		after := max(f.RetryAfter, 1)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hold(c.account.bot.ID, c.chat, c.method, after, f.Global, s.opts.Now())
		return tooMany(after)
	case InternalError:
		return &refusal{code: http.StatusInternalServerError, text: "Internal Server Error"}
	case BadGateway:
		return &refusal{code: http.StatusBadGateway, text: "Bad Gateway"}
	case Unauthorized:
		return &refusal{code: http.StatusUnauthorized, text: "Unauthorized"}
	case Forbidden:
		return forbidden("bot was blocked by the user")
	case Conflict:
		return conflict(textOusted)
	case Dropped:
		c.cut = true
	case Slow:
		c.cut = !stage.Pause(f.Delay, ctx, s.stop)
	}
	return nil
}

// reply writes a success, or what a fault makes of it.
func (s *Server) reply(w http.ResponseWriter, c *call, result any) {
	body := envelope(result)
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
		writeHead(w, http.StatusOK, len(body))
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Garbage:
		s.finish(c, http.StatusOK, nil)
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><body>It works!\x00\xff</body></html>"))
	case Oversized:
		s.finish(c, http.StatusOK, nil)
		writeOversized(w, body, c.fault.Size)
	default:
		s.finish(c, http.StatusOK, nil)
		writeHead(w, http.StatusOK, len(body))
		_, _ = w.Write(body)
	}
}

func envelope(result any) []byte {
	raw, ok := result.(rawResult)
	if !ok {
		var err error
		if raw, err = json.Marshal(result); err != nil {
			panic("telegram simulator: encode result: " + err.Error()) // own types only
		}
	}
	body := make([]byte, 0, len(raw)+22)
	body = append(body, `{"ok":true,"result":`...)
	body = append(body, raw...)
	return append(body, '}')
}

func writeHead(w http.ResponseWriter, status, size int) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(status)
}

func writeOversized(w http.ResponseWriter, body []byte, size int) {
	if size == 0 {
		size = 64 << 20
	}
	writeHead(w, http.StatusOK, size+len(body))
	blank := make([]byte, 64<<10)
	for i := range blank {
		blank[i] = ' '
	}
	for size > 0 {
		n, err := w.Write(blank[:min(size, len(blank))])
		if err != nil {
			return
		}
		size -= n
	}
	_, _ = w.Write(body)
}

func (s *Server) refuseCall(w http.ResponseWriter, c *call, e *refusal) {
	s.finish(c, e.code, e)
	if c.fault != nil && c.fault.Trouble == BadGateway {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(e.code)
		_, _ = w.Write([]byte("<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n"))
		return
	}
	refuse(w, e)
}

func refuse(w http.ResponseWriter, e *refusal) {
	body, _ := json.Marshal(e.wire())
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
	writeHead(w, e.code, len(body))
	_, _ = w.Write(body)
}

// finish books the call. It runs before the answer is written, so that a
// caller who has its answer also finds it in the books.
func (s *Server) finish(c *call, status int, e *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	entry := CallEntry{
		Bot: c.account.bot.Username, Method: c.method, ChatID: c.chat, Status: status,
		Violation: c.early, At: c.began, Took: now.Sub(c.began),
	}
	s.books.totals.Calls++
	if e != nil {
		entry.Description = e.text
		s.books.totals.Refused++
	} else if c.fault != nil {
		switch c.fault.Trouble {
		case Ambiguous, Truncated, Garbage, Oversized:
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
