package signal

import (
	"encoding/json"
	"net/http"
	"time"

	"parley/simulators/internal/stage"
)

// Codes of JSON-RPC and of signal-cli.
const (
	codeParse     = -32700
	codeRequest   = -32600
	codeNoMethod  = -32601
	codeParams    = -32602
	codeInternal  = -32603
	codeUser      = -1
	codeIO        = -3
	codeUntrusted = -4
	codeRateLimit = -5
	codeNoCaptcha = -6
	textNoAccount = "Specified account does not exist"
	textNeedsOne  = "Method requires valid account parameter"
	textNoMethod  = "Method not implemented"
)

// rpcError is the error of an answer.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

func flooded() *rpcError {
	return &rpcError{Code: codeInternal, Message: "Failed to send message: [429] Rate limit exceeded: 429 (RateLimitException) (UnexpectedErrorException)"}
}

func userError(text string) *rpcError { return &rpcError{Code: codeUser, Message: text} }

// callRequest is what a daemon posts: a call of a method, as its client made it.
type callRequest struct {
	Process   int             `json:"process"`
	Transport string          `json:"transport"`
	Account   string          `json:"account"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params,omitempty"`
	Dir       string          `json:"dir"` // for paths of attachments
}

// callAnswer is what a daemon gets. Trouble is what it makes of it.
type callAnswer struct {
	Result  any       `json:"result,omitempty"`
	Error   *rpcError `json:"error,omitempty"`
	Trouble Trouble   `json:"trouble,omitempty"`
}

// call is one call of a method on its way through the server.
type call struct {
	process *process
	account *account // nil for a method of the whole daemon
	method  string
	args    params
	dir     string
	fault   *Fault
	chats   []string
	touched []*MessageEntry // applied, for Unconfirmed
}

func (s *Server) serveCall(w http.ResponseWriter, r *http.Request) {
	var q callRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	began := s.opts.Now()
	c, a, refused := s.begin(q)
	if refused == nil && a.Trouble == "" && a.Error == nil {
		a = s.apply(c)
	}
	if refused != nil {
		a = callAnswer{Error: refused}
	}
	s.finish(q, c, a, began)
	stage.Answer(w, a, nil)
}

// begin finds the account and draws the faults that fall before the call is
// applied.
func (s *Server) begin(q callRequest) (*call, callAnswer, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &call{method: q.Method, dir: q.Dir}
	p, a, err := s.caller(q.Process, q.Account)
	if err != nil {
		return c, callAnswer{}, &rpcError{Code: codeInternal, Message: err.Error()}
	}
	c.process, c.account = p, a
	if c.args, err = readParams(q.Params); err != nil {
		return c, callAnswer{}, &rpcError{Code: codeRequest, Message: err.Error()}
	}
	c.chats = append(c.args.list("recipient"), c.args.list("groupId")...)
	for _, id := range c.args.list("recipient") {
		if who := s.lookup(id); who != "" && who != id {
			c.chats = append(c.chats, who)
		}
	}
	c.fault = s.draw(a, onCall, q.Method, c.chats)
	if c.fault == nil {
		return c, callAnswer{}, nil
	}
	switch t := c.fault.Trouble; t {
	case HTTPError, Dropped, Hanging, Hung, KilledBefore:
		if t == KilledBefore {
			p.entry.Killed = true
		}
		return c, callAnswer{Trouble: t}, nil
	case InternalError:
		return c, callAnswer{}, &rpcError{Code: codeInternal, Message: "java.lang.NullPointerException"}
	case IOError:
		return c, callAnswer{}, &rpcError{Code: codeIO, Message: "Failed to send message: Connection closed! (IOException)"}
	case Flooded:
		return c, callAnswer{}, flooded()
	case UserError:
		return c, callAnswer{}, userError("Failed to send message")
	case RateLimited:
		if a != nil {
			s.limit(a, c.fault.RetryAfter)
		}
	}
	return c, callAnswer{}, nil
}

func (s *Server) apply(c *call) callAnswer {
	m, ok := methods()[c.method]
	if !ok {
		return callAnswer{Error: &rpcError{Code: codeNoMethod, Message: textNoMethod}}
	}
	if c.account == nil && !m.whole {
		return callAnswer{Error: &rpcError{Code: codeParams, Message: textNeedsOne}}
	}
	result, refused := m.run(s, c)
	a := callAnswer{Result: result, Error: refused}
	if refused != nil {
		a.Result = nil
	} else if result == nil {
		a.Result = struct{}{}
	}
	if c.fault == nil {
		return a
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch t := c.fault.Trouble; t {
	case Ambiguous, Truncated, Garbage, KilledAfter, FloodedAfter:
		a.Trouble = t
		if t == FloodedAfter {
			a = callAnswer{Error: flooded()}
		}
		s.books.totals.Unconfirmed++
		for _, m := range c.touched {
			m.Unconfirmed = true
		}
		if t == KilledAfter {
			c.process.entry.Killed = true
		}
	}
	return a
}

// finish books the call, before the answer is written: a caller who has its answer
// also finds it in the books.
func (s *Server) finish(q callRequest, c *call, a callAnswer, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := CallEntry{
		Account: q.Account, Process: q.Process, Transport: q.Transport, Method: q.Method, Chats: c.chats,
		At: began, Took: s.opts.Now().Sub(began),
	}
	s.books.totals.Calls++
	if a.Error != nil {
		e.Code, e.Message = a.Error.Code, a.Error.Message
		s.books.totals.Refused++
	}
	if c.fault != nil {
		e.Fault = c.fault.Trouble
	}
	s.books.calls.Add(e)
	s.books.Notify()
}
