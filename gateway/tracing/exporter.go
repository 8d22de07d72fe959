package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"parley/gateway/outcomes"
	"parley/pause"
	"parley/wake"
)

const (
	queueMost    = 2048 // spans that wait; further ones are dropped
	batchMost    = 512  // spans of one request
	batchEvery   = 2 * time.Second
	requestMost  = 10 * time.Second
	retryMost    = 5 // requests for one batch
	retryFirst   = time.Second
	retryLongest = 30 * time.Second
	flushMost    = 3 * time.Second // at the end
	replyMost    = 64 << 10        // bytes of an answer that are read
)

// exporter sends spans, in batches and beside everything else. When its queue is full it
// drops what comes; nothing waits for it.
type exporter struct {
	url      *url.URL
	header   http.Header
	client   *http.Client
	resource *resource.Resource
	scope    *common.InstrumentationScope
	count    func(outcome string, n int)
	log      *slog.Logger

	mu    sync.Mutex // guards queue and ended
	queue []*trace.Span
	ended bool
	fresh wake.Signal // something is in the queue
	full  wake.Signal // there is a whole batch in it

	failing bool // the last batch was not taken; of run's goroutine, like dropped
	dropped int  // since it fails
	partial bool // a batch was taken in part, and the log said so
}

// add takes a span that has ended.
func (e *exporter) add(s *trace.Span) {
	e.mu.Lock()
	ended, n := e.ended, len(e.queue)
	if !ended && n < queueMost {
		e.queue = append(e.queue, s)
	}
	e.mu.Unlock()
	switch {
	case ended:
		e.count(outcomes.SpanEnded, 1)
	case n >= queueMost:
		e.count(outcomes.SpanQueueFull, 1)
	default:
		e.fresh.Send()
		if n+1 >= batchMost {
			e.full.Send()
		}
	}
}

// take returns the next batch; none: nothing waits.
func (e *exporter) take() []*trace.Span {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.queue), batchMost)
	batch := e.queue[:n:n]
	e.queue = append([]*trace.Span(nil), e.queue[n:]...)
	return batch
}

// run sends what is added until ctx ends, and then what is left, within flushMost.
func (e *exporter) run(ctx context.Context) {
	for e.gather(ctx) {
		for ctx.Err() == nil {
			batch := e.take()
			if len(batch) > 0 && !e.deliver(ctx, batch) {
				e.putBack(batch)
			}
			if len(batch) < batchMost {
				break
			}
		}
	}
	e.flush(ctx)
}

// gather waits until there is a batch; false when ctx has ended.
func (e *exporter) gather(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-e.fresh:
	}
	wait := time.NewTimer(batchEvery)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wait.C:
	case <-e.full:
	}
	return true
}

// putBack queues a batch again that ctx's end kept from being sent.
func (e *exporter) putBack(batch []*trace.Span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = append(batch, e.queue...)
}

// flush sends what is left, once, and takes nothing more.
func (e *exporter) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushMost)
	defer cancel()
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
	var err error
	for batch := e.take(); len(batch) > 0; batch = e.take() {
		var rejected int
		if err == nil {
			rejected, err = e.post(ctx, batch)
		}
		if err != nil {
			e.count(outcomes.SpanEnded, len(batch))
			e.dropped += len(batch)
			continue
		}
		e.account(len(batch), rejected)
	}
	if err != nil {
		e.log.Warn("last traces not exported", "endpoint", e.url.Host, "spans", e.dropped, "error", err)
	}
}

// deliver sends a batch, again where that may help. It returns false when ctx ended before that
// was decided.
func (e *exporter) deliver(ctx context.Context, batch []*trace.Span) bool {
	backoff := retryFirst
	for try := 1; ; try++ {
		rejected, err := e.post(ctx, batch)
		if err == nil {
			e.recovered()
			e.account(len(batch), rejected)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		e.fails(err)
		refusal, refused := errors.AsType[*refusedError](err)
		if refused && !refusal.again {
			e.drop(outcomes.SpanRefused, len(batch))
			return true
		}
		if try == retryMost {
			e.drop(outcomes.SpanUnreachable, len(batch))
			return true
		}
		wait := backoff
		if refused && refusal.after > 0 {
			wait = min(refusal.after, retryLongest)
		}
		if pause.For(ctx, wait) != nil {
			return false
		}
		backoff *= 2
	}
}

// account counts what became of a batch that was taken.
func (e *exporter) account(n, rejected int) {
	rejected = min(rejected, n)
	if n > rejected {
		e.count(outcomes.SpanExported, n-rejected)
	}
	if rejected > 0 {
		e.drop(outcomes.SpanRefused, rejected)
		if !e.partial {
			e.partial = true
			e.log.Warn("traces taken in part; this is said once", "endpoint", e.url.Host, "spans_refused", rejected)
		}
	}
}

func (e *exporter) drop(outcome string, n int) {
	e.count(outcome, n)
	e.dropped += n
}

// fails says once that traces do not get through.
func (e *exporter) fails(err error) {
	if e.failing {
		return
	}
	e.failing, e.dropped = true, 0
	e.log.Warn("traces not exported; messages are answered all the same, and this is said once until it works again", "endpoint", e.url.Host, "error", err)
}

func (e *exporter) recovered() {
	if e.failing {
		e.log.Info("traces are exported again", "endpoint", e.url.Host, "spans_lost", e.dropped)
	}
	e.failing = false
}

// refusedError is an answer of the server that is not success.
type refusedError struct {
	status int
	again  bool          // it may take the same later
	after  time.Duration // when, as it says; 0: it says nothing
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the server answers %d %s", e.status, http.StatusText(e.status))
}

// post sends a batch once, and returns how many spans of it the server did not take.
func (e *exporter) post(ctx context.Context, batch []*trace.Span) (rejected int, err error) {
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{
		Resource: e.resource, ScopeSpans: []*trace.ScopeSpans{{Scope: e.scope, Spans: batch}},
	}}})
	if err != nil {
		return 0, fmt.Errorf("encode traces: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestMost)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url.String(), bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("send traces: %w", err)
	}
	req.Header = e.header.Clone()
	resp, err := e.client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("send traces: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, replyMost))
	if resp.StatusCode/100 != 2 {
		return 0, newRefusal(resp)
	}
	var said collector.ExportTraceServiceResponse
	if err != nil || proto.Unmarshal(reply, &said) != nil {
		return 0, nil // it took them, and says nothing more that can be read
	}
	return int(min(max(said.GetPartialSuccess().GetRejectedSpans(), 0), batchMost)), nil
}

// newRefusal reads an answer that is not success. Which ones may be repeated is said by OTLP.
func newRefusal(resp *http.Response) *refusedError {
	r := &refusedError{status: resp.StatusCode}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		r.again = true
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
			r.after = time.Duration(min(max(s, 0), int(retryLongest/time.Second))) * time.Second
		}
	}
	return r
}
