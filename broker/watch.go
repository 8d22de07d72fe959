package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"parley/disks"
)

const longestReopenPause = 5 * time.Second

var errLostLog = errors.New("message log deleted or replaced; restart the process")

// Watch looks after the log until ctx ends: it stores a probe each
// Options.Probe, and at once when another operation had to be repeated. While
// probes fail Healthy says why. After the second failure in a row a server in
// this process is closed and opened again, as soon as its disk takes writes: a
// server that met a full disk stays frozen otherwise. All other methods go on
// by themselves.
func (b *Broker) Watch(ctx context.Context) error {
	failures := 0
	for {
		err := b.probe(ctx)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("watch: %w", context.Cause(ctx))
		case b.isClosed():
			return fmt.Errorf("watch: %w", ErrClosed)
		case err == nil:
			failures = 0
			b.markHealthy()
			b.updateMark()
		default:
			failures++
			b.markUnhealthy(err)
		}
		pause := b.o.Probe
		if failures > 0 {
			pause = min(firstPause<<min(failures, 10), longestReopenPause)
		}
		if failures > 1 && b.host != nil {
			if err := b.reopen(ctx); err != nil {
				b.markUnhealthy(err)
			} else {
				failures, pause = 0, 0
				b.awaitLink(ctx)
			}
		}
		b.awaitProbe(ctx, pause, failures == 0)
	}
}

// awaitLink waits for the connection to find the new server.
func (b *Broker) awaitLink(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	b.link.wait(ctx)
}

// awaitProbe waits for the time or, where kicked may cut it short, a suspicion.
func (b *Broker) awaitProbe(ctx context.Context, d time.Duration, mayKick bool) {
	kick := b.kick
	if !mayKick {
		kick = nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-kick:
	case <-ctx.Done():
	case <-b.done:
	}
}

// health is what the last look at the log found.
type health struct {
	log *slog.Logger

	mu      sync.Mutex
	problem string // why, empty when well; guarded by mu
}

// Healthy reports whether the last look found the log working, and if not, why.
// True before the first look.
func (h *health) Healthy() (ok bool, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.problem == "", h.problem
}

func (h *health) markUnhealthy(err error) {
	h.mu.Lock()
	was := h.problem
	h.problem = err.Error()
	h.mu.Unlock()
	if was == "" {
		h.log.Error("message log failed", "error", err)
	}
}

func (h *health) markHealthy() {
	h.mu.Lock()
	was := h.problem
	h.problem = ""
	h.mu.Unlock()
	if was != "" {
		h.log.Info("message log recovered")
	}
}

// probe stores something, with the log's own engine and on its disk. The few bytes
// of it may find room where a message finds none, so the disk is asked too.
func (b *Broker) probe(ctx context.Context) error {
	if b.host != nil {
		if err := disks.Check(b.o.Dir); err != nil {
			return fmt.Errorf("look at the log's disk: %w", err)
		}
	}
	ctx, cancel := b.link.untilDown(ctx)
	defer cancel()
	_, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: subjectWatch, Data: []byte{frameVersion}}, jetstream.WithRetryAttempts(0))
	if err != nil {
		return fmt.Errorf("store a probe: %w", err)
	}
	// A stream whose file failed refuses until it is opened again, even when
	// the disk is well by now.
	if b.stuck.has(streamInbound) {
		if _, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: subjectFiller, Data: []byte{frameVersion}}, jetstream.WithRetryAttempts(0)); isTransient(err) {
			return fmt.Errorf("store a probe in the log: %w", err)
		}
		b.stuck.note(streamInbound, false)
	}
	if b.host != nil && b.stuck.has(streamDead) {
		return errors.New("dead letters are not stored")
	}
	if b.host != nil && b.stuck.has(streamFacts) {
		return errors.New("facts are not stored")
	}
	if b.host != nil && b.stuck.has(streamFiles) {
		return errors.New("files are not stored")
	}
	return nil
}

// stuckStreams are the streams whose last answer did not come.
type stuckStreams struct {
	mu    sync.Mutex
	names map[string]bool // guarded by mu
}

func (s *stuckStreams) note(stream string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !is:
		delete(s.names, stream)
	case s.names == nil:
		s.names = map[string]bool{stream: true}
	default:
		s.names[stream] = true
	}
}

func (s *stuckStreams) has(stream string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[stream]
}

func (s *stuckStreams) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = nil
}

// updateMark moves the mark up to what was confirmed.
func (b *Broker) updateMark() {
	if b.host == nil || !b.reopenMu.TryLock() {
		return
	}
	defer b.reopenMu.Unlock()
	seq, store := b.lastSeq.Load(), b.storeAt.Load()
	if b.isClosed() || seq <= b.marked.LastSeq && store <= b.marked.Store {
		return
	}
	next := logMark{Generation: b.marked.Generation, LastSeq: max(seq, b.marked.LastSeq), Store: max(store, b.marked.Store)}
	if err := next.write(b.o.Dir); err != nil {
		b.o.Log.Warn("message log mark not written", "error", err)
		return
	}
	b.marked = next
}

// reopen replaces the server in this process. No client reaches the new one before
// it is known that it has what was confirmed.
func (b *Broker) reopen(ctx context.Context) error {
	b.reopenMu.Lock()
	defer b.reopenMu.Unlock()
	if b.isClosed() {
		return ErrClosed
	}
	if err := b.host.checkWritable(); err != nil {
		return err
	}
	b.o.Log.Warn("message server reopening")
	b.host.stop()
	var found Report
	if err := b.surveyFiles(&found, logMark{LastSeq: b.lastSeq.Load()}); err != nil {
		return fmt.Errorf("reopen the message server: %w", err)
	}
	for _, p := range found.Problems {
		b.o.Log.Error("message log files damaged", "problem", p)
	}
	srv, err := b.host.start()
	if err != nil {
		return fmt.Errorf("reopen the message server: %w", err)
	}
	if err := b.inspect(ctx, srv); err != nil {
		stopServer(srv)
		return fmt.Errorf("reopen the message server: %w", err)
	}
	b.reopened.Add(1)
	b.stuck.clear()
	b.host.admit(srv)
	return nil
}

// inspect compares a new server with what this process knows, and brings its
// log up to the place that was confirmed, should it have lost its end.
func (b *Broker) inspect(ctx context.Context, srv nats.InProcessConnProvider) error {
	ctx, cancel := context.WithTimeout(ctx, b.o.Timeout)
	defer cancel()
	opts := []nats.Option{nats.InProcessServer(srv), nats.NoReconnect(), nats.Name(b.o.Name + " inspection")}
	if b.o.TokenFile != "" {
		token, err := readToken(b.o.TokenFile)
		if err != nil {
			return err
		}
		opts = append(opts, nats.Token(token))
	}
	nc, err := nats.Connect("", opts...)
	if err != nil {
		return fmt.Errorf("inspect the log: %w", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("inspect the log: %w", err)
	}
	stream, err := js.Stream(ctx, streamInbound)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return errLostLog
	}
	if err != nil {
		return fmt.Errorf("inspect the log: %w", err)
	}
	info := stream.CachedInfo()
	if generationOf(info) != b.report.Generation {
		return errLostLog
	}
	if err := b.o.ensureStreams(ctx, js); err != nil {
		return err
	}
	last, confirmed := info.State.LastSeq, b.lastSeq.Load()
	if last < confirmed {
		b.o.Log.Error("message log lost its newest messages", "last_seq", last, "expected", confirmed)
	}
	return advanceOn(ctx, js, last, confirmed)
}
