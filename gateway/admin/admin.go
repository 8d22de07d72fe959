// Package admin is what an operator asks of a running gateway, and does to it:
// a server on a Unix socket, and the [Client] behind parley's own commands.
//
//	parley status ── Client ── <state_dir>/admin.sock ── Server ── store, message log
//
// It speaks JSON over HTTP under /v1. Who may connect is the user that runs the
// gateway, and root: the socket's mode says so, and the credentials of every
// connection are looked at. Texts that people wrote are in an answer only where
// it says so.
package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"parley/broker"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/budgets"
	"parley/gateway/erasure"
	"parley/gateway/fates"
	"parley/gateway/inquiries"
	"parley/gateway/listeners"
	"parley/gateway/people"
	"parley/gateway/schedule"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools/mcp"
	"parley/tools/mcp/oauth"
	"parley/transcript"
)

// Store is what is looked up and summed up.
type Store interface {
	sessions.Queries
	Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error)
	Tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error)
	Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error)
	Mailbox(ctx context.Context, token string) (sessions.Mailbox, error)
	Spent(ctx context.Context, s sessions.Scope, at time.Time) (settled, held costs.Amount, err error)
	TurnsOf(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Turn, error)
	Turn(ctx context.Context, id string) (sessions.Turn, error)
	Ledger(ctx context.Context, id sessionkeys.SessionID, yield func(sessionkeys.SessionID, costs.Entry) bool) error
	Record(ctx context.Context, id sessions.RecordID, now time.Time) (sessions.Record, error)
	approvals.Store
}

// Log is the message log with its dead letters.
type Log interface {
	Stats(ctx context.Context) (broker.Stats, error)
	DeadLetters(ctx context.Context, after uint64, limit int) ([]broker.DeadLetter, error)
	DeleteDeadLetter(ctx context.Context, seq uint64) error
	Listen(ctx context.Context, topic string) (*broker.Listener, error)
}

// Options is what a server stands on. All fields but Logger are required.
type Options struct {
	Socket   string // its path, or listeners.Off
	Version  string
	StateDir string
	Store    Store
	Log      Log
	Intake   Intake
	// Inquiries asks people what programs want to know.
	Inquiries *inquiries.Desk
	// Raised returns by how much a budget is higher at a time; nil: none ever is.
	Raised func(ctx context.Context, s sessions.Scope, at time.Time) (costs.Amount, error)
	// Counts reports whether a raise that holds counts at present; nil: each does.
	Counts   func(ctx context.Context, r approvals.Request) (bool, error)
	Limits   func() budgets.Limits // as configured at present
	People   *people.Book
	Accounts func() map[string]Account // as configured at present, by channel instance
	// Ready reports whether the gateway takes part in the work, and what each
	// thing that this depends on says: "ok" or what is wrong.
	Ready     func(ctx context.Context) (ready bool, report map[string]string)
	Recent    func() Recent
	Circuits  func() []Circuit
	Channels  *Channels
	Budgets   func() []Budget                                   // Name and Scope of those that hold for everybody at present
	Linked    func() map[string]NamedAccount                    // by instance name; nil: there is none
	StoreSize func() (int64, error)                             // bytes on disk
	PricesOf  func() time.Time                                  // the day of the newest price in use, zero: none is; nil: none ever
	Jobs      func(ctx context.Context) ([]schedule.Job, error) // in force, by their names
	RunJob    func(ctx context.Context, j schedule.Job) error
	// Why says what became of the messages that fit a question.
	Why func(ctx context.Context, q fates.Query) ([]fates.Fate, error)
	// Refused says which messages were refused, oldest first; nil: none.
	Refused func(ctx context.Context) ([]fates.Passed, error)
	// PageCode lets whoever asks log in to the operator page; nil: there is none.
	PageCode func(by string) (PageCode, error)
	// Context measures a session; nil is an answer: it is not watched. nil: none is.
	Context func(ctx context.Context, s sessions.Session) (*Context, error)
	Redact  func(string) string // takes secrets out of a text; nil: none are
	// Reload reads the configuration again. Its error is what an operator reads, with every
	// mistake. Reloaded says how that ended last.
	Reload   func() (Reloaded, error)
	Reloaded func() ReloadStatus
	// Sandbox says which walls there are around programs; nil, or nil returned: none run.
	Sandbox func() *Sandbox
	// Servers says how the MCP servers of this process are; nil, or nil returned: there are none.
	Servers func() []mcp.Status
	// Consent has a tool of an MCP server offered, if its description has that digest, and
	// TakeBackConsent has it offered no more. An *Error says why not.
	Consent         func(ctx context.Context, server, tool, digest string) (mcp.ToolStatus, error)
	TakeBackConsent func(ctx context.Context, server, tool string) (mcp.ToolStatus, error)
	// BeginLogin, FinishLogin and Logout log in at an MCP server, and out. An *Error says why not.
	BeginLogin  func(ctx context.Context, server, redirect string, scopes []string) (oauth.Started, error)
	FinishLogin func(ctx context.Context, server, address string) (mcp.Status, error)
	Logout      func(ctx context.Context, server string) (bool, error)
	// Record writes the recording of the tree that a session stands in.
	Record func(ctx context.Context, w io.Writer, id sessionkeys.SessionID) error
	// Restore makes a session of such a recording, in the conversation of a mailbox; with ""
	// in the one that was recorded. An *Error says what is wrong with it.
	Restore func(ctx context.Context, r io.Reader, token string) (Restored, error)
	// Erasure deletes what was said, and Retention returns for how long it is kept, 0: for ever; nil: for
	// ever.
	Erasure   *erasure.Desk
	Retention func() time.Duration
	// Backup writes the whole state as one file, while it is used. An *Error says why it cannot.
	Backup func(ctx context.Context, w io.Writer, workspaces bool) error
	Logger *slog.Logger // nil: silence
	Now    func() time.Time
}

// Server is the operator's socket. Make one with New, run it once.
type Server struct {
	o       *Options
	started time.Time
	socket  *listeners.Socket // nil: none
	ending  chan struct{}     // closed when Run's context has ended
}

// New binds the socket, so that what stands in the way is said before anything
// else starts; nothing is answered before Run. A socket that a dead gateway left
// is replaced, one that somebody answers on is an error.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	s := &Server{o: &o, started: o.Now(), ending: make(chan struct{})}
	if o.Socket == listeners.Off {
		return s, nil
	}
	l, err := listeners.OpenSocket(ctx, o.Socket, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("admin.socket: %w", err)
	}
	s.socket = l
	return s, nil
}

// Socket returns the socket's path, or "" when there is none.
func (s *Server) Socket() string {
	if s.socket == nil {
		return ""
	}
	return s.socket.Path
}

// Run serves until ctx ends, then ends what is under way and removes the
// socket.
func (s *Server) Run(ctx context.Context) error {
	if s.socket == nil {
		<-ctx.Done()
		return nil
	}
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: answerWithin + 10*time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog:    slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug),
		ConnContext: s.withPeer,
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(s.socket) }()
	select {
	case err := <-ended:
		return fmt.Errorf("operator's socket: %w", err)
	case <-ctx.Done():
	}
	close(s.ending)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		_ = srv.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("operator's socket: %w", err)
	}
	return nil
}

// withPeer notes who asks, for the log.
func (s *Server) withPeer(ctx context.Context, c net.Conn) context.Context {
	if u, ok := c.(*net.UnixConn); ok {
		if uid, err := s.socket.Peer(u); err == nil {
			return context.WithValue(ctx, uidKey{}, uid)
		}
	}
	return ctx
}

// Close removes the socket. It may be called twice, and after Run.
func (s *Server) Close() error {
	if s.socket == nil {
		return nil
	}
	if err := s.socket.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("operator's socket: %w", err)
	}
	return nil
}
