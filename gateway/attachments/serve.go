package attachments

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/outcomes"
	"parley/pause"
)

const (
	atOnce     = 4 // files of a channel that are fetched at the same time
	forgotten  = 10 * askEvery
	firstPause = time.Second
	maxPause   = 10 * time.Second
	maxRefused = 3 // tries of a file, when the network does not say whether it refuses it for ever
)

// Server fetches what is asked for.
type Server struct {
	Log      Log
	MaxBytes int64
	Logger   *slog.Logger
	// Forget is how long a file is fetched of which nobody says that it is still
	// wanted. Default 20s: ten times as often it is said.
	Forget time.Duration
}

// Serve answers what is asked of the channel until ctx ends, and has ended what it
// fetched when it returns. One process serves a channel at a time; two do no harm.
func (s *Server) Serve(ctx context.Context, c channels.Channel) {
	for {
		err := s.serve(ctx, c)
		if ctx.Err() != nil {
			return
		}
		s.Logger.Error("attachment fetching failed", "channel", c.Name(), "error", err)
		if pause.For(ctx, firstPause) != nil {
			return
		}
	}
}

func (s *Server) serve(ctx context.Context, c channels.Channel) error {
	l, err := s.Log.Listen(ctx, askTopic(c.Name()))
	if err != nil {
		return err
	}
	w := &fetchQueue{Server: s, c: c, wanted: map[string]*time.Timer{}, slots: make(chan struct{}, atOnce)}
	w.fetcher, _ = c.(channels.Fetcher)
	defer w.work.Wait()
	return l.Run(ctx, func(sig broker.Signal) {
		var a fetchRequest
		if err := json.Unmarshal(sig.Body, &a); err != nil {
			s.Logger.Warn("unreadable signal dropped", "topic", sig.Topic, "error", err)
			return
		}
		w.enqueue(ctx, a)
	})
}

// fetchQueue is where a channel's files are handed out.
type fetchQueue struct {
	*Server
	c       channels.Channel
	fetcher channels.Fetcher // nil: the network has no files for us
	slots   chan struct{}
	work    sync.WaitGroup

	mu     sync.Mutex
	wanted map[string]*time.Timer // by object; fires when it is forgotten
}

// enqueue begins to fetch what is asked for, or notes that it is still wanted.
func (w *fetchQueue) enqueue(ctx context.Context, a fetchRequest) {
	if w.fetcher == nil {
		w.signalAnswer(ctx, a, outcomes.FileUnreadable)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if t, ok := w.wanted[a.Object]; ok {
		t.Reset(cmp.Or(w.Forget, forgotten))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	w.wanted[a.Object] = time.AfterFunc(cmp.Or(w.Forget, forgotten), cancel)
	w.work.Go(func() {
		defer cancel()
		p, ok := w.fetch(ctx, a)
		w.mu.Lock()
		w.wanted[a.Object].Stop()
		delete(w.wanted, a.Object)
		w.mu.Unlock()
		if ok {
			w.signalAnswer(ctx, a, p)
		}
	})
}

func (w *fetchQueue) signalAnswer(ctx context.Context, a fetchRequest, p outcomes.File) {
	if err := sendSignal(ctx, w.Log, answerTopic(a.Object), fetchAnswer{Problem: p}); err != nil {
		w.Logger.Debug("signal not sent", "topic", answerTopic(a.Object), "error", err)
	}
}

// fetch puts the file into the log, and tries again what may succeed. ok is false when ctx
// ended before there was a result.
func (w *fetchQueue) fetch(ctx context.Context, a fetchRequest) (p outcomes.File, ok bool) {
	for try, next := 1, firstPause; ; try, next = try+1, min(2*next, maxPause) {
		select {
		case w.slots <- struct{}{}:
		case <-ctx.Done():
			return "", false
		}
		err := w.fetchOnce(ctx, a)
		<-w.slots
		if err == nil {
			return "", true
		}
		if ctx.Err() != nil {
			return "", false
		}
		p, wait := classify(err)
		if wait > 0 && try < maxRefused {
			p = ""
		}
		w.Logger.Warn("attachment fetch failed", "channel", w.c.Name(), "message", a.File.Message, "kind", a.File.Kind, "permanent", p != "", "error", err)
		if p != "" {
			return p, true
		}
		if pause.For(ctx, max(wait, next)) != nil {
			return "", false
		}
	}
}

// fetchOnce fetches the file into the log while it comes.
func (w *fetchQueue) fetchOnce(ctx context.Context, a fetchRequest) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, in := io.Pipe()
	var fetching sync.WaitGroup
	fetching.Go(func() {
		counted := &countingWriter{w: in}
		err := w.fetcher.Fetch(ctx, a.File.In, a.File.Attachment, counted)
		if err == nil && counted.n < a.File.Size {
			err = fmt.Errorf("%w: %d of %d bytes", errShort, counted.n, a.File.Size)
		}
		_ = in.CloseWithError(err)
	})
	_, err := w.Log.PutFile(ctx, a.Object, r, w.MaxBytes)
	_ = r.Close() // the adapter's next Write fails
	cancel()
	fetching.Wait()
	return err
}

// errShort means that a file ended before the size that its network had named.
var errShort = errors.New("file shorter than announced")

// countingWriter counts what it passes on.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err // Fetch returns it in the chain of its own error
}

// classify returns why a file will never be had; p is empty when it may be, after wait. With
// both the network does not say which of the two it is.
func classify(err error) (p outcomes.File, wait time.Duration) {
	switch {
	case errors.Is(err, broker.ErrTooLarge):
		return outcomes.FileTooLarge, 0
	case errors.Is(err, broker.ErrFull):
		return outcomes.FileNoRoom, 0
	}
	e, ok := errors.AsType[*channels.Error](err)
	if !ok {
		return "", 0
	}
	switch e.Kind {
	case channels.Refused, channels.Gone, channels.Unauthorized:
		return outcomes.FileRefused, e.RetryAfter
	}
	return "", e.RetryAfter
}
