package signal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/pause"
)

// runAttached listens to a daemon that somebody else runs, again whenever it is cut
// off. What comes meanwhile is lost, and so is what was read and not taken when
// ctx ends; but for a daemon that is asked for events by HTTP and still has them.
func (r *receiver) runAttached(ctx context.Context, beside *sync.WaitGroup) error {
	r.o.Log.Info("attached to a signal-cli that parley did not start", "promise", r.Note())
	if err := r.awaitIdentity(ctx); err != nil {
		return err
	}
	listen := r.listenHTTP
	if u, err := url.Parse(r.o.URL); err == nil && (u.Scheme == "unix" || u.Scheme == "tcp") {
		listen = r.listenSocket
	}
	seen := &recentEvents{}
	r.lastEvent = newLastEvent(r.o)
	beside.Go(func() { r.acceptInvitations(ctx) })
	beside.Go(func() { r.lookUp(ctx, r.o.Numbers) }) // perhaps before somebody has to wait for it
	for ctx.Err() == nil {
		err := r.RetryUntilFatal(ctx, func(ctx context.Context) error {
			// It may be another one each time.
			if version, err := r.queryVersion(ctx); err != nil {
				return err
			} else if err := checkVersion(version, r.o.Account); err != nil {
				return err
			}
			return listen(ctx, func(line []byte, problem error) bool { return r.offerOnce(ctx, seen, line, problem) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// offerOnce offers one event, unless it was taken before: a daemon that receives by
// itself tells a socket that asked to hear it everything twice.
func (r *receiver) offerOnce(ctx context.Context, seen *recentEvents, line []byte, problem error) bool {
	var who struct {
		Account string `json:"account"`
	}
	if json.Unmarshal(line, &who) == nil && who.Account != "" && !r.me.matches(who.Account, who.Account) {
		return true // of another account of the same daemon
	}
	e := r.translate(line, problem)
	if e.skipReason != "" || seen.has(e.message.Event) {
		return true
	}
	if !r.offer(ctx, e) {
		return false
	}
	seen.note(e.message.Event)
	return true
}

// recentEvents are the events that were taken last.
type recentEvents struct{ ids []string }

const maxRecent = 256

func (s *recentEvents) has(id string) bool { return slices.Contains(s.ids, id) }

func (s *recentEvents) note(id string) {
	if s.ids = append(s.ids, id); len(s.ids) > maxRecent {
		s.ids = s.ids[1:]
	}
}

// maxEventID is the longest id of an event that is kept, in bytes.
const maxEventID = 256

var errSilent = errors.New("signal-cli fell silent")

// listenHTTP reads the stream of events, until it is cut off; that is its error.
func (r *receiver) listenHTTP(ctx context.Context, heard func([]byte, error) bool) error {
	ctx, silent := newIdleTimer(ctx, r.o.Silence)
	defer silent.stop()
	address := strings.TrimRight(r.o.URL, "/") + "/api/v1/events?account=" + url.QueryEscape(r.o.Account)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask signal-cli for events: %w", err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if r.lastEvent.at.ID != "" {
		req.Header.Set("Last-Event-ID", r.lastEvent.at.ID)
	}
	p, _ := r.rpc.(*httpCaller)
	resp, err := p.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask signal-cli for events: %w", withCause(ctx, err))
	}
	defer func() { _ = resp.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		return unexpectedAnswer(resp, text)
	}
	r.MarkConnected()
	r.ResetBackoff()
	in := bufio.NewReaderSize(resp.Body, 64<<10)
	var data []byte
	var problem error
	id := ""
	for {
		line, _, err := readLine(in, int64(r.o.MaxLine))
		silent.reset()
		if err != nil && !errors.Is(err, errTooLarge) {
			return fmt.Errorf("listen to signal-cli: %w", withCause(ctx, err))
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(rest, []byte(" "))...)
			if err != nil || len(data) > r.o.MaxLine {
				data, problem = data[:min(len(data), maxGarbled)], errTooLong
			}
		}
		if rest, ok := bytes.CutPrefix(line, []byte("id:")); ok && len(rest) < maxEventID {
			id = string(bytes.TrimPrefix(rest, []byte(" ")))
		}
		if len(line) > 0 || len(data) == 0 {
			continue
		}
		silent.pause()
		if !heard(data, problem) {
			return ctx.Err() // the caller asks it too
		}
		r.lastEvent.advance(id)
		silent.reset()
		data, problem, id = nil, nil, ""
	}
}

// listenSocket asks for events on a connection of its own, so that a call never
// waits behind an event that is not taken.
func (r *receiver) listenSocket(ctx context.Context, heard func([]byte, error) bool) error {
	ctx, silent := newIdleTimer(ctx, r.o.Silence)
	defer silent.stop()
	l, _ := r.rpc.(*socketCaller)
	conn, err := l.dial(ctx)
	if err != nil {
		return fmt.Errorf("reach signal-cli: %w", withCause(ctx, err))
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	var calls ids
	send := func(method string) error {
		_, text, err := calls.newRequest(method, r.params(nil))
		if err == nil {
			_, err = conn.Write(text)
		}
		return err // as below
	}
	if err := send("subscribeReceive"); err != nil {
		return fmt.Errorf("ask signal-cli for events: %w", withCause(ctx, err))
	}
	// Nothing is said on a socket while nobody writes, but answers.
	var asking sync.WaitGroup
	defer asking.Wait()
	asked, stop := context.WithCancel(ctx)
	defer stop()
	asking.Go(func() {
		for pause.For(asked, r.o.Silence/3) == nil {
			if send("version") != nil {
				return
			}
		}
	})
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		text, _, err := readLine(in, int64(r.o.MaxLine))
		silent.reset()
		if err != nil && !errors.Is(err, errTooLarge) {
			return fmt.Errorf("listen to signal-cli: %w", withCause(ctx, err))
		}
		r.MarkConnected()
		r.ResetBackoff()
		event, ok := extractEvent(text, err)
		if !ok {
			continue
		}
		if err != nil {
			err = errTooLong
			event = event[:min(len(event), maxGarbled)]
		}
		silent.pause()
		if !heard(event, err) {
			return ctx.Err() // the caller asks it too
		}
		silent.reset()
	}
}

// extractEvent returns the event in a line of a socket; false: it is an answer.
func extractEvent(line []byte, problem error) ([]byte, bool) {
	if problem != nil {
		return line, isNotification(line)
	}
	var r response
	if json.Unmarshal(line, &r) != nil {
		return line, true // it becomes an unreadable event
	}
	if r.Method != "receive" {
		return nil, false
	}
	var subscribed struct {
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(r.Params, &subscribed) == nil && len(subscribed.Result) > 0 {
		return subscribed.Result, true
	}
	return r.Params, true
}

// idleTimer ends a context when nothing was heard for too long.
type idleTimer struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

func newIdleTimer(ctx context.Context, limit time.Duration) (context.Context, *idleTimer) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &idleTimer{limit, time.AfterFunc(limit, func() { cancel(errSilent) }), cancel}
}

func (s *idleTimer) reset() { s.timer.Reset(s.limit) }
func (s *idleTimer) pause() { s.timer.Stop() } // it is we who do not listen
func (s *idleTimer) stop()  { s.timer.Stop(); s.cancel(nil) }

// withCause is why a context ended, if it has, and else err.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
