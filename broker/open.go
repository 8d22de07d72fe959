package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"parley/wake"
)

// Broker is an open log. Its methods may be called concurrently. Those that
// wait for the engine do so until their context ends or Options.Timeout has
// passed, and survive a server that goes and comes back within that time.
type Broker struct {
	*conn
	*inboundLog
	*factLog
	*deadLetters
	*fileStore
	*signalBus
	*health
	leases
	presence

	host *embeddedServer // nil: the server is at a URL

	closeOnce sync.Once
	closeErr  error

	storeAt  atomic.Uint64 // what NoteStore was told
	reopened atomic.Uint64

	reopenMu sync.Mutex // one reopening, or Close, at a time
	marked   logMark    // what the mark says; guarded by reopenMu
}

func newBroker(o Options) *Broker {
	c := &conn{o: o, done: make(chan struct{}), kick: wake.New()}
	letters := &deadLetters{conn: c}
	return &Broker{
		conn: c, inboundLog: &inboundLog{conn: c, letters: letters}, factLog: &factLog{conn: c},
		deadLetters: letters, fileStore: &fileStore{conn: c},
		signalBus: &signalBus{conn: c}, health: &health{log: o.Log}, leases: leases{c}, presence: presence{c},
	}
}

// Report is what Open found.
type Report struct {
	// Generation and LastSeq as in Broker.Generation, at the time of opening.
	Generation string
	LastSeq    uint64
	// Expected is the place that the log Was is known to have reached before, 0
	// when nothing is known. LastSeq below it, or another Was, means that
	// messages were lost and that sequence numbers would be used again: see
	// Advance.
	Expected uint64
	// Was is the generation that was expected, empty when nothing is known.
	Was string
	// Clean: the last process that had the log ended regularly, or there was
	// none. Always true for a server at a URL.
	Clean bool
	// Store is what [Broker.NoteStore] was last told by those who had the log
	// before; 0: nothing is known. Always 0 for a server at a URL.
	Store uint64
	// Missing is how many messages, at most, damaged files lost. They are
	// gone, their places stay empty.
	Missing uint64
	// Problems are signs of damaged files, for people. Damaged files are kept
	// in the folder "damaged" of the directory before they are repaired.
	Problems []string
}

// HasLoss reports whether messages are gone, or the log is another one.
func (r Report) HasLoss() bool {
	return r.LastSeq < r.Expected || r.Was != "" && r.Was != r.Generation || r.Missing > 0
}

// Open starts a server in this process, or dials one, and makes the streams.
// ctx bounds the opening only. A log that lost something is opened all the
// same, and says so in Opened and in the log.
func Open(ctx context.Context, o Options) (*Broker, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	o = o.withDefaults()
	b := newBroker(o)
	if err := b.open(ctx); err != nil {
		b.abandon()
		return nil, fmt.Errorf("open the broker: %w", err)
	}
	return b, nil
}

func (b *Broker) open(ctx context.Context) (err error) {
	report := Report{Clean: true}
	if b.o.URL == "" {
		if report, err = b.openHost(); err != nil {
			return err
		}
	}
	if b.nc, err = b.dial(); err != nil {
		return err
	}
	if b.js, err = jetstream.New(b.nc, jetstream.WithDefaultTimeout(b.o.Timeout)); err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	if err := b.fitBody(); err != nil {
		return err
	}
	err = b.retryFor(ctx, b.o.openTimeout(), "prepare the streams", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, b.o.Timeout) // servers that choose a leader leave some requests unanswered
		defer cancel()
		if err := checkServer(ctx, b.nc, b.js); err != nil {
			return err
		}
		if err := b.o.ensureStreams(ctx, b.js); err != nil {
			return err
		}
		if b.inbound, err = b.js.Stream(ctx, streamInbound); err != nil {
			return err
		}
		if b.dead, err = b.js.Stream(ctx, streamDead); err != nil {
			return err
		}
		b.facts, err = b.js.Stream(ctx, streamFacts)
		return err
	})
	if err != nil {
		return err
	}
	if v := b.nc.ConnectedServerVersion(); !syncsSafely(v) {
		b.o.Log.Warn("nats server has known disk sync bugs, upgrade to 2.15.2", "version", v)
	}
	if report.Generation, report.LastSeq, err = b.Generation(ctx); err != nil {
		return err
	}
	if err := b.checkCount(ctx, &report); err != nil {
		return err
	}
	return b.finishOpen(report)
}

// openHost starts the server in this process; the report has what was expected.
func (b *Broker) openHost() (Report, error) {
	host, err := newHost(b.o)
	if err != nil {
		return Report{}, err
	}
	b.host = host
	if err := host.checkWritable(); err != nil {
		return Report{}, err
	}
	was, err := readMark(b.o.Dir)
	report := Report{Clean: was.Clean || was == (logMark{}), Expected: was.LastSeq, Was: was.Generation, Store: was.Store}
	if err != nil {
		report.Clean = false
		report.Problems = append(report.Problems, err.Error())
	}
	b.marked = was
	if err := b.surveyFiles(&report, was); err != nil {
		return report, err
	}
	srv, err := host.start()
	if err != nil {
		return report, err
	}
	host.admit(srv)
	report.Problems = append(report.Problems, host.log.damageLines()...)
	return report, nil
}

// surveyFiles looks through the files before the server does.
func (b *Broker) surveyFiles(r *Report, was logMark) error {
	for _, stream := range []string{streamInbound, streamDead, streamFacts} {
		s, err := surveyStream(b.o.Dir, stream, was.Clean)
		if err != nil {
			return err
		}
		r.Problems = append(r.Problems, s.problems...)
		r.Missing += s.missing
		if stream == streamInbound && !s.unreadable && s.last < was.LastSeq {
			r.Missing += was.LastSeq - s.last
			r.Problems = append(r.Problems, fmt.Sprintf("the log's files end at place %d, but place %d was stored", s.last, was.LastSeq))
		}
	}
	return nil
}

// checkCount compares the number of messages, which has not changed since a regular
// end, so that a file that is gone is noticed too.
func (b *Broker) checkCount(ctx context.Context, r *Report) error {
	if b.host == nil || !b.marked.Clean || r.Was != r.Generation {
		return nil
	}
	return b.retry(ctx, "count the log's messages", func(ctx context.Context) error {
		info, err := b.inbound.Info(ctx)
		if err != nil {
			return err
		}
		if have, had := info.State.Msgs, b.marked.Messages; have < had && r.Missing < had-have {
			r.Missing = had - have
			r.Problems = append(r.Problems, fmt.Sprintf("the log holds %d messages, but held %d", have, had))
		}
		return nil
	})
}

// finishOpen keeps the report, tells it, and leaves a mark that says "in use".
func (b *Broker) finishOpen(r Report) error {
	b.report = r
	if r.HasLoss() {
		b.o.Log.Error("message log lost messages or was replaced",
			"missing", r.Missing, "last_seq", r.LastSeq, "expected", r.Expected, "generation", r.Generation, "previous_generation", r.Was)
	}
	for _, p := range r.Problems {
		b.o.Log.Error("message log files damaged", "problem", p)
	}
	// Until the log has passed it, the mark keeps its word; of another log it said nothing.
	reached := r.LastSeq
	if r.Was == r.Generation {
		reached = max(reached, r.Expected)
	}
	b.noteSeq(reached)
	if b.host == nil {
		return nil
	}
	b.marked = logMark{Generation: r.Generation, LastSeq: reached, Store: r.Store}
	return b.marked.write(b.o.Dir)
}

// fitBody settles how large a body may be.
func (b *Broker) fitBody() error {
	room := int(b.nc.MaxPayload()) - frameSpare
	b.maxBody = b.o.MaxBody
	switch {
	case room <= 0:
		return fmt.Errorf("the nats server's max_payload of %d bytes is too small", b.nc.MaxPayload())
	case b.maxBody == 0:
		b.maxBody = min(DefaultMaxBody, room)
	case b.maxBody > room:
		return fmt.Errorf("max_body of %d bytes: the nats server takes %d, raise its max_payload", b.maxBody, room)
	}
	return nil
}

// dial makes a connection that comes back by itself for as long as it is open.
func (b *Broker) dial() (*nats.Conn, error) {
	opts := []nats.Option{
		nats.Name(b.o.Name),
		nats.Timeout(dialTimeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(50 * time.Millisecond),
		nats.ReconnectJitter(20*time.Millisecond, 200*time.Millisecond),
		nats.ReconnectBufSize(-1), // what cannot be sent fails now and is repeated by who knows whether it still matters
		nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			b.link.markDown()
			if !b.isClosed() {
				b.o.Log.Warn("message server disconnected, reconnecting", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			b.link.markUp()
			b.o.Log.Info("message server reconnected")
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !b.isClosed() {
				b.o.Log.Warn("message server error", "error", err)
			}
		}),
	}
	if b.o.CredentialsFile != "" {
		opts = append(opts, nats.UserCredentials(b.o.CredentialsFile))
	}
	if b.o.TokenFile != "" {
		if _, err := readToken(b.o.TokenFile); err != nil {
			return nil, err
		}
		opts = append(opts, nats.TokenHandler(func() string {
			token, err := readToken(b.o.TokenFile)
			if err != nil {
				b.o.Log.Error("message server token unreadable, connecting without it", "error", err)
			}
			return token
		}))
	}
	if b.o.CAFile != "" {
		opts = append(opts, nats.RootCAs(b.o.CAFile))
	}
	if b.host != nil {
		// Nothing is between: who does not answer is busy, not away.
		opts = append(opts, nats.InProcessServer(b.host), nats.Timeout(max(b.o.Timeout, dialTimeout)))
	}
	b.link.markUp()
	nc, err := nats.Connect(b.o.URL, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to the message server: %w", err)
	}
	return nc, nil
}

// OpenReport returns what Open found.
func (b *Broker) OpenReport() Report { return b.report }

// Addr returns where the server in this process listens; nil when it does not.
func (b *Broker) Addr() net.Addr {
	if b.host == nil {
		return nil
	}
	return b.host.addr()
}

// Close sends what is under way, leaves the mark of a regular end, stops the
// server in this process and waits for it. Blocking methods end with ErrClosed;
// end their contexts and wait for them first, so that they may finish. ctx
// bounds the sending, not the stopping. Closing again returns the same.
func (b *Broker) Close(ctx context.Context) error {
	b.closeOnce.Do(func() {
		b.reopenMu.Lock()
		defer b.reopenMu.Unlock()
		var errs []error
		last, err := b.flush(ctx)
		for tries := 1; errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && tries < closeTries; tries++ {
			last, err = b.flush(ctx)
		}
		errs = append(errs, err)
		close(b.done)
		b.nc.Close()
		b.link.markDown()
		if b.host != nil {
			b.host.stop()
			if last.Clean && last.Generation == b.marked.Generation && last.LastSeq >= b.marked.LastSeq {
				errs = append(errs, last.write(b.o.Dir))
			}
			errs = append(errs, b.host.close())
		}
		if err := errors.Join(errs...); err != nil {
			b.closeErr = fmt.Errorf("close the broker: %w", err)
		}
	})
	return b.closeErr
}

// flush sends what is under way and reads what the mark of a regular end says:
// one attempt, which fails where everything stands still for its time.
func (b *Broker) flush(ctx context.Context) (last logMark, err error) {
	if !b.nc.IsConnected() {
		return logMark{}, nil
	}
	bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if err := b.nc.FlushWithContext(bounded); err != nil || b.host == nil {
		return logMark{}, err
	}
	info, err := b.inbound.Info(bounded)
	if err != nil {
		return logMark{}, err
	}
	return logMark{
		Generation: generationOf(info), LastSeq: info.State.LastSeq, Messages: info.State.Msgs,
		Clean: true, Store: max(b.marked.Store, b.storeAt.Load()),
	}, nil
}

// abandon gives back what a failed Open took.
func (b *Broker) abandon() {
	close(b.done)
	if b.nc != nil {
		b.nc.Close()
	}
	b.link.markDown()
	if b.host != nil {
		_ = b.host.close()
	}
}
