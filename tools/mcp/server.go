package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
	"parley/tools/mcp/oauth"
	"parley/tools/mcp/tasks"
	"parley/wake"
)

// Times of a server.
const (
	startTime  = 20 * time.Second // until it has said what tools it has
	listTime   = 20 * time.Second
	listEvery  = 5 * time.Minute  // it is asked for its tools again, though it has said nothing
	listRest   = 2 * time.Second  // between two times, however often it says that they have changed
	listRetry  = 10 * time.Second // after a time that it did not say
	patience   = 10 * time.Second // a call waits for a server that is being started
	stableTime = time.Minute      // behind it a server that ends is started again at once
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
)

// legacy is the protocol that servers speak which do not know server/discover.
const legacy = "2025-11-25"

var (
	errSlowStart = fmt.Errorf("it did not say within %s what tools it has", startTime)
	errSlowList  = fmt.Errorf("it did not say within %s what tools it has now", listTime)
	errEnded     = errors.New("the session has ended")
)

// server keeps one server there: started, connected, and known.
type server struct {
	c   Server
	o   *Options
	sum string // of the program, when the host began

	relist wake.Signal                                     // asks for the tools again
	login  *oauth.Client                                   // nil: nobody can log in at it
	retry  wake.Signal                                     // has it connected to again at once
	stay   func(context.Context, *sdk.ClientSession) error // returns why a session that is up is over
	calls  atomic.Int32                                    // under way

	mu       sync.Mutex // guards what follows
	state    State
	since    time.Time
	problem  string // why it is not up
	cause    Cause  // of it
	protocol string
	version  string   // of the server, as it says
	session  *session // nil: there is none
	changed  chan struct{}
	listed   map[string]Definition // by name; nil: nobody has asked yet
	unfit    map[string]string     // why a tool that is listed cannot be offered
	consents map[string]Definition // what the operator has read
}

// session is a connection that is up.
type session struct {
	*sdk.ClientSession
	ctx context.Context // ends with it
	end context.CancelCauseFunc

	calls *atomic.Int32 // of the server, under way
}

func newServer(c Server, o *Options) (*server, error) {
	s := &server{c: c, o: o, relist: wake.New(), retry: wake.New(), state: Starting, since: o.Now(), changed: make(chan struct{})}
	s.stay = s.watch
	var err error
	s.login, err = s.newLogin()
	return s, err
}

// run keeps the server there until ctx ends. When it returns nothing of the server is left.
func (s *server) run(ctx context.Context) {
	older := false
	for failures := 0; ; {
		began := s.o.Now()
		connected, err := s.serve(ctx, older)
		if ctx.Err() != nil {
			s.enter(Stopped, nil)
			return
		}
		if !connected {
			older = !older && s.isOlder(err)
		}
		if need, ok := errors.AsType[*oauth.LoginError](err); ok {
			s.awaitLogin(ctx, need)
			failures = 0
			continue
		}
		if failures++; s.o.Now().Sub(began) > stableTime {
			failures = 1
		}
		wait := backoff(failures)
		s.enter(Down, err)
		s.o.Log.Warn("MCP server not there, it is tried again", "server", s.c.Name, "error", s.told(err), "wait", wait.Round(time.Millisecond))
		if s.rest(ctx, wait) != nil {
			s.enter(Stopped, nil)
			return
		}
	}
}

// isOlder reports whether a server that could not be connected to may only know the handshake of
// the protocol before 2026-07-28: some do not answer anything that comes before it.
func (*server) isOlder(err error) bool { return errors.Is(err, errSlowStart) || answered(err) }

// told returns an error as the operator reads it: a part of it may be the server's, and of a URL
// no more is shown than where it is.
func (s *server) told(err error) string {
	text := err.Error()
	if u, err := url.Parse(s.c.URL); err == nil && s.c.URL != "" {
		text = strings.NewReplacer(u.String(), s.c.Where(), s.c.URL, s.c.Where()).Replace(text)
	}
	return shorten(tools.Visible(text), maxTold)
}

func backoff(failures int) time.Duration {
	d := minBackoff << min(failures-1, 10)
	d = min(d, maxBackoff)
	return d - time.Duration(rand.Int64N(int64(d)/4)) // only so that not all try at once
}

// serve connects to the server and stays connected until that ends. It reports whether the
// server was there at all.
func (s *server) serve(ctx context.Context, older bool) (connected bool, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(errEnded)
	var w wire
	if s.c.URL != "" {
		w, err = s.dial()
	} else {
		w, err = s.startProcess(context.WithoutCancel(ctx)) // close ends it, in order
	}
	if err != nil {
		return false, err
	}
	started, cancel := context.WithTimeoutCause(ctx, startTime, errSlowStart)
	defer cancel()
	var client *sdk.ClientSession
	c, err := s.client()
	if err == nil {
		client, err = c.Connect(started, w.connect(), protocolOf(older))
	}
	if err == nil {
		err = s.list(started, client)
	}
	if err != nil {
		err = cmp.Or(w.refusal(), reason(started, err))
	} else {
		cancel()
		connected = true
		s.connected(&session{client, ctx, end, &s.calls})
		err = s.stay(ctx, client)
		s.disconnected()
	}
	end(errEnded) // calls under way are over
	w.close()
	if client != nil {
		_ = client.Close() // it has no more to say
	}
	return connected, w.explain(err)
}

func protocolOf(older bool) *sdk.ClientSessionOptions {
	if older {
		return &sdk.ClientSessionOptions{ProtocolVersion: legacy}
	}
	return nil
}

// reason returns why ctx ended if that is what err comes of.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// client makes the client of one session. It has no roots and no model for a server to ask for, and
// a person only where the answer may come later: from 2026-07-28 on.
func (s *server) client() (*sdk.Client, error) {
	capabilities := &sdk.ClientCapabilities{}
	if s.o.People != nil {
		capabilities.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}
	}
	if s.o.Tasks != nil {
		capabilities.AddExtension(tasks.Extension, nil)
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "parley", Version: s.o.Version}, &sdk.ClientOptions{
		Capabilities:           capabilities,
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { s.relist.Send() },
	})
	c.AddSendingMiddleware(forOlder)
	return c, tasks.Prepare(c) // it names the method
}

// forOlder takes out of what older servers are told that people can be asked, who would have to
// answer while the call runs, and tasks, which are others there.
func forOlder(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if p, ok := r.GetParams().(*sdk.InitializeParams); ok && p.Capabilities != nil {
			p.Capabilities.Elicitation, p.Capabilities.Extensions = nil, nil
		}
		return next(ctx, method, r)
	}
}

// watch lists the tools again when there is a reason, and returns why the session is over. That a list
// fails is no such reason while calls are under way, which it would break off: the server may do one
// thing at a time, or want to be asked less. Calls have times of their own, after which a server that
// is dead is found. Without calls a list may fail once.
func (s *server) watch(ctx context.Context, client *sdk.ClientSession) error {
	ended := make(chan error, 1)
	go func() { ended <- client.Wait() }()
	tick := time.NewTicker(listEvery)
	defer tick.Stop()
	rest := time.NewTimer(0)
	defer rest.Stop()
	asked := (<-chan struct{})(nil) // s.relist, except while it rests
	failed, spared := false, false  // the last list; one without calls
	for {
		var again bool
		select {
		case err := <-ended:
			return fmt.Errorf("%w: %w", errEnded, cmp.Or(err, io.EOF))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-rest.C:
			asked, again = s.relist, failed
		case <-asked:
			again = true
		case <-tick.C:
			again = true
		}
		if !again {
			continue
		}
		err := s.listInTime(ctx, client)
		idle := s.calls.Load() == 0
		if err != nil && (ctx.Err() != nil || isOver(err) || idle && spared) {
			return err
		}
		asked, failed, spared = nil, err != nil, err != nil && (spared || idle)
		wait := listRest
		if failed {
			wait = listRetry
			s.o.Log.Warn("MCP server does not say what tools it has now, it is asked again", "server", s.c.Name, "error", s.told(err), "wait", wait)
		}
		rest.Reset(wait)
	}
}

// isOver reports whether a session in which a request fails with err is of no use any more.
func isOver(err error) bool {
	_, need := errors.AsType[*oauth.LoginError](err)
	return need || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing)
}

// listInTime lists the tools within listTime.
func (s *server) listInTime(ctx context.Context, client *sdk.ClientSession) error {
	limited, cancel := context.WithTimeoutCause(ctx, listTime, errSlowList)
	defer cancel()
	return reason(limited, s.list(limited, client))
}

// list asks the server what tools it has.
func (s *server) list(ctx context.Context, client *sdk.ClientSession) error {
	listed, unfit := map[string]Definition{}, map[string]string{}
	said := 0
	for p := (&sdk.ListToolsParams{}); ; {
		page, err := client.ListTools(ctx, p)
		if err != nil {
			return fmt.Errorf("list its tools: %w", err)
		}
		for _, t := range page.Tools {
			if !serversTool.MatchString(t.Name) {
				continue // no configuration can name it
			}
			d, err := readDefinition(t)
			if err != nil {
				unfit[t.Name] = err.Error()
			}
			if listed[t.Name] = d; len(listed) == maxListed {
				break
			}
		}
		if page.NextCursor == "" {
			break
		}
		text, err := json.Marshal(page)
		if err != nil {
			return fmt.Errorf("list its tools: %w", err)
		}
		// What a server says is kept by the library, page by page.
		if said += len(text) + minPage; len(listed) >= maxListed || said > maxSaid {
			s.o.Log.Warn("MCP server says more of its tools than is looked at", "server", s.c.Name, "looked_at", len(listed))
			break
		}
		p = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	s.mu.Lock()
	same := s.listed != nil && maps.EqualFunc(s.listed, listed, func(a, b Definition) bool { return a.Digest == b.Digest })
	s.listed, s.unfit = listed, unfit
	s.mu.Unlock()
	if !same {
		s.tell()
	}
	return nil
}

// tell says which tools are not offered, and that others may be.
func (s *server) tell() {
	for _, t := range s.status().Tools {
		switch t.State {
		case Changed:
			s.o.Log.Warn("tool of an MCP server has changed, it is not offered before its operator consents again: parley mcp ls", "server", s.c.Name, "tool", t.Tool)
		case New, Missing, Unfit:
			s.o.Log.Warn("tool of an MCP server not offered", "server", s.c.Name, "tool", t.Tool, "state", string(t.State), "why", t.Why)
		}
	}
	s.o.Changed()
}

// connected notes that the server is up.
func (s *server) connected(now *session) {
	said := now.InitializeResult()
	s.mu.Lock()
	s.session, s.protocol = now, said.ProtocolVersion
	if said.ServerInfo != nil {
		s.version = named(said.ServerInfo.Name + " " + said.ServerInfo.Version)
	}
	s.mu.Unlock()
	s.enter(Up, nil)
	s.o.Log.Info("MCP server connected", "server", s.c.Name, "protocol", said.ProtocolVersion)
}

func (s *server) disconnected() {
	s.mu.Lock()
	s.session = nil
	s.mu.Unlock()
}

// enter notes a state and why it is not Up, and wakes the calls that wait for one.
func (s *server) enter(state State, why error) {
	problem, cause := "", causeOf(why)
	if why != nil {
		problem = s.told(why)
	}
	s.mu.Lock()
	if s.state != state {
		s.state, s.since = state, s.o.Now()
	}
	s.problem, s.cause = problem, cause
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	s.o.Changed()
}

// await returns the session, and waits a while for one.
func (s *server) await(ctx context.Context) (*session, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		s.mu.Lock()
		now, changed, state, problem := s.session, s.changed, s.state, s.problem
		s.mu.Unlock()
		if now != nil && now.ctx.Err() == nil {
			return now, nil
		}
		if state == NeedsLogin {
			return nil, tools.Errorf(tools.Permanent, "the MCP server %s was not asked, so nothing was done. Its operator has to log in: %s", s.c.Name, problem)
		}
		select {
		case <-changed:
		case <-limit.C:
			return nil, tools.Errorf(tools.Transient, "the MCP server %s is not there at present, so nothing was done. The operator sees why", s.c.Name)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// call makes a call of a tool, and another if the first was surely not made, or if it may be
// repeated. An error of the protocol is as it is; every other names server and tool.
func (s *server) call(ctx context.Context, t *Tool, arguments json.RawMessage, answer *given, repeats bool) (*sdk.CallToolResult, error) {
	perhaps := false // it was sent once at least
	for last := false; ; last = true {
		now, err := s.await(ctx)
		if err != nil {
			return nil, notCalled(err, perhaps)
		}
		if !s.offers(t) {
			err := tools.Errorf(tools.Permanent, "%s of the MCP server %s is not what the operator has consented to any more, so it was not called", t.config.Name, s.c.Name)
			return nil, notCalled(err, perhaps)
		}
		res, sent, err := now.call(ctx, t.config.Name, arguments, answer)
		if ctx.Err() != nil && !sent {
			return nil, notCalled(context.Cause(ctx), perhaps)
		}
		if err == nil || answered(err) || ctx.Err() != nil {
			return res, err
		}
		if err := s.unauthorized(now, t, err); err != nil {
			return nil, notCalled(err, perhaps)
		}
		if sent && errors.Is(err, sdk.ErrConnectionClosed) { // the server has answered with a code of the library's
			return nil, tools.Errorf(tools.Permanent, "the MCP server %s refused the call of %s", s.c.Name, t.config.Name)
		}
		s.o.Log.Warn("call of an MCP server broken off", "server", s.c.Name, "tool", t.config.Name, "error", s.told(err))
		over := errors.Is(err, sdk.ErrConnectionClosed) // before the call was sent
		missing := errors.Is(err, sdk.ErrSessionMissing)
		if over || missing || s.c.URL == "" {
			now.end(fmt.Errorf("%w: %w", errEnded, err))
		}
		s.relist.Send() // whether it is still there
		unsent := missing || !sent
		perhaps = perhaps || !unsent
		switch {
		case !last && (unsent || repeats):
			continue
		case unsent:
			err := tools.Errorf(tools.Transient, "the MCP server %s cannot be reached at present, so %s was not called", s.c.Name, t.config.Name)
			return nil, notCalled(err, perhaps)
		case repeats:
			return nil, tools.Errorf(tools.Transient, "the connection to the MCP server %s broke twice while %s ran", s.c.Name, t.config.Name)
		case t.mayRepeat():
			return nil, tools.Errorf(tools.Transient, "the connection to the MCP server %s broke while %s ran", s.c.Name, t.config.Name)
		}
		return nil, tools.Errorf(tools.Permanent, "interrupted; outcome unknown: the connection to the MCP server %s broke after %s was called. "+
			"Whether it was done is not known: look, before you call it again", s.c.Name, t.config.Name)
	}
}

// notCalled returns the error of a call that was not sent, which nobody charges for unless it
// was sent before.
func notCalled(err error, perhaps bool) error {
	if perhaps {
		return err
	}
	return tools.Unpaid(err)
}

// call makes one call in this session. It reports whether it may have been sent.
func (s *session) call(ctx context.Context, tool string, arguments json.RawMessage, answer *given) (_ *sdk.CallToolResult, sent bool, _ error) {
	s.calls.Add(1)
	defer s.calls.Add(-1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(errEnded) })()
	var mark atomic.Bool
	p := &sdk.CallToolParams{Name: tool, Arguments: arguments}
	if answer != nil {
		p.InputResponses, p.RequestState = answer.responses, answer.state
	}
	res, err := s.CallTool(context.WithValue(ctx, sentKey{}, &mark), p)
	return res, mark.Load(), err // the server words it
}

// Codes by which the library says that a message did not get through.
var lost = []int64{-32003, -32004, -32005}

// answerIn returns the error with which a server answered.
func answerIn(err error) (*jsonrpc.Error, bool) {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	return e, ok && !slices.Contains(lost, e.Code)
}

func answered(err error) bool {
	_, ok := answerIn(err)
	return ok
}
