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

func userError(text string) *rpcError { return &rpcError{Code: codeUser, Message: text} }

func internalError(text string) *rpcError { return &rpcError{Code: codeInternal, Message: text} }

var errFlooded = rpcError{Code: codeInternal, Message: "Failed to send message: [429] Rate limit exceeded: 429 (RateLimitException) (UnexpectedErrorException)"}

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

// call is one call of a method on its way through the server. A rule that refuses it
// panics with a *rpcError, as [stage.Refused] has it.
type call struct {
	*Server
	callRequest
	process *process
	account *account // nil for a method of the whole daemon
	args    params
	fault   *Fault
	chats   []string
	touched []*MessageEntry // applied, for Unconfirmed
}

func (s *Server) serveCall(w http.ResponseWriter, r *http.Request) {
	c := &call{Server: s}
	if err := json.NewDecoder(r.Body).Decode(&c.callRequest); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	began := s.opts.Now()
	var a callAnswer
	refused, _ := stage.Refused[rpcError](func() {
		if a.Trouble = c.begin(); a.Trouble == "" {
			a = c.apply()
		}
	})
	if refused != nil {
		a.Error = refused
	}
	c.finish(a, began)
	stage.Answer(w, a, nil)
}

// begin finds the account and draws the faults that fall before the call is
// applied. It returns the trouble that ends the call.
func (c *call) begin() Trouble {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, a, err := c.caller(c.Process, c.Account)
	if err != nil {
		panic(internalError(err.Error()))
	}
	c.process, c.account = p, a
	if c.args, err = readParams(c.Params); err != nil {
		panic(&rpcError{Code: codeRequest, Message: err.Error()})
	}
	c.chats = append(c.args.list("recipient"), c.args.list("groupId")...)
	for _, id := range c.args.list("recipient") {
		if who := c.lookup(id); who != "" && who != id {
			c.chats = append(c.chats, who)
		}
	}
	c.fault = c.draw(a, onCall, c.Method, c.chats)
	switch t := c.fault.trouble(); t {
	case HTTPError, Dropped, Hanging, Hung, KilledBefore:
		p.entry.Killed = p.entry.Killed || t == KilledBefore
		return t
	case InternalError:
		panic(internalError("java.lang.NullPointerException"))
	case IOError:
		panic(&rpcError{Code: codeIO, Message: "Failed to send message: Connection closed! (IOException)"})
	case Flooded:
		panic(&errFlooded)
	case UserError:
		panic(userError("Failed to send message"))
	case RateLimited:
		if a != nil {
			c.limit(a, c.fault.RetryAfter)
		}
	}
	return ""
}

// run runs the method, under the lock unless it takes it by itself.
func (c *call) run() any {
	m, ok := methods[c.Method]
	switch {
	case !ok:
		panic(&rpcError{Code: codeNoMethod, Message: textNoMethod})
	case c.account == nil && !m.whole:
		panic(&rpcError{Code: codeParams, Message: textNeedsOne})
	}
	if !m.locks {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	return m.run(c)
}

// apply runs the method, and then what a fault makes of its answer.
func (c *call) apply() callAnswer {
	var a callAnswer
	a.Error, _ = stage.Refused[rpcError](func() { a.Result = c.run() })
	switch {
	case a.Error != nil:
		a.Result = nil
	case a.Result == nil:
		a.Result = struct{}{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch t := c.fault.trouble(); t {
	case Ambiguous, Truncated, Garbage, KilledAfter, FloodedAfter:
		a.Trouble = t
		if t == FloodedAfter {
			a = callAnswer{Error: &errFlooded}
		}
		c.books.totals.Unconfirmed++
		for _, m := range c.touched {
			m.Unconfirmed = true
		}
		c.process.entry.Killed = c.process.entry.Killed || t == KilledAfter
	}
	return a
}

// finish books the call, before the answer is written: a caller who has its answer
// also finds it in the books.
func (c *call) finish(a callAnswer, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := CallEntry{
		Account: c.Account, Process: c.Process, Transport: c.Transport, Method: c.Method, Chats: c.chats, Fault: c.fault.trouble(),
		At: began, Took: c.opts.Now().Sub(began),
	}
	c.books.totals.Calls++
	if a.Error != nil {
		e.Code, e.Message = a.Error.Code, a.Error.Message
		c.books.totals.Refused++
	}
	c.books.calls.Add(e)
	c.books.Notify()
}
