// Package tracingtest has a server that takes traces as a collector does, for tests: it
// reads OTLP over HTTP with the types that OpenTelemetry publishes.
package tracingtest

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// Span is a span as it was received.
type Span struct {
	Trace, ID, Parent string // hex; Parent is empty for the first of a trace
	Name              string
	Kind              string // internal, client, producer or consumer
	Began, Ended      time.Time
	Attributes        map[string]any // string, int64, float64, bool or []string
	Failed            bool
	Message           string   // of the status
	Links             []string // trace and span, with a slash between
	Service           map[string]any
}

// Collector takes traces. The zero value is ready; it may be used concurrently.
type Collector struct {
	// Answer, if set, answers a request in its place, and returns true if it did. Then nothing of
	// the request is kept.
	Answer func(w http.ResponseWriter, spans []Span) bool

	mu       sync.Mutex // guards what follows
	spans    []Span
	headers  []http.Header
	bodies   int
	arrivals chan struct{} // closed when something comes; nil: nobody waits
}

// ServeHTTP implements [http.Handler], at /v1/traces alone.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case r.Method != http.MethodPost || r.URL.Path != "/v1/traces":
		http.NotFound(w, r)
		return
	case r.Header.Get("Content-Type") != "application/x-protobuf":
		http.Error(w, "not protobuf", http.StatusUnsupportedMediaType)
		return
	}
	spans, err := decode(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if c.Answer != nil && c.Answer(w, spans) {
		return
	}
	c.mu.Lock()
	c.spans, c.headers, c.bodies = append(c.spans, spans...), append(c.headers, r.Header.Clone()), c.bodies+1
	if c.arrivals != nil {
		close(c.arrivals)
		c.arrivals = nil
	}
	c.mu.Unlock()
	reply, err := proto.Marshal(&collector.ExportTraceServiceResponse{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(reply)
}

// Spans returns what was received, in its order.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Headers returns the headers of each request.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}

// Await waits until done accepts what was received, and returns it.
func (c *Collector) Await(ctx context.Context, done func([]Span) bool) ([]Span, error) {
	for {
		c.mu.Lock()
		all := slices.Clone(c.spans)
		if c.arrivals == nil {
			c.arrivals = make(chan struct{})
		}
		more := c.arrivals
		c.mu.Unlock()
		if done(all) {
			return all, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return all, fmt.Errorf("wait for spans: %w", context.Cause(ctx))
		}
	}
}

func decode(body []byte) (all []Span, err error) {
	var req collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read a request: %w", err)
	}
	for _, rs := range req.GetResourceSpans() {
		service := attributes(rs.GetResource().GetAttributes())
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				if len(s.GetTraceId()) != 16 || len(s.GetSpanId()) != 8 || s.GetName() == "" || s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
					return nil, fmt.Errorf("no span: %v", s) // for who reads the test
				}
				all = append(all, read(s, service))
			}
		}
	}
	return all, nil
}

func read(s *trace.Span, service map[string]any) Span {
	out := Span{
		Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Name: s.GetName(), Kind: strings.ToLower(strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_")),
		Began: at(s.GetStartTimeUnixNano()), Ended: at(s.GetEndTimeUnixNano()), Attributes: attributes(s.GetAttributes()),
		Failed: s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR, Message: s.GetStatus().GetMessage(), Service: service,
	}
	for _, l := range s.GetLinks() {
		out.Links = append(out.Links, hex.EncodeToString(l.GetTraceId())+"/"+hex.EncodeToString(l.GetSpanId()))
	}
	return out
}

func at(nanos uint64) time.Time { return time.Unix(0, int64(nanos)) } // it is of this age

func attributes(kvs []*common.KeyValue) map[string]any {
	m := map[string]any{}
	for _, kv := range kvs {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			m[kv.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			m[kv.GetKey()] = v.IntValue
		case *common.AnyValue_DoubleValue:
			m[kv.GetKey()] = v.DoubleValue
		case *common.AnyValue_BoolValue:
			m[kv.GetKey()] = v.BoolValue
		case *common.AnyValue_ArrayValue:
			var texts []string
			for _, e := range v.ArrayValue.GetValues() {
				texts = append(texts, e.GetStringValue())
			}
			m[kv.GetKey()] = texts
		}
	}
	return m
}

// Tree draws traces as people see them, each span with the spans below it in the order in which
// they began, and behind its name those attributes of it that are asked for.
func Tree(spans []Span, shown ...string) string {
	below := map[string][]Span{}
	known := map[string]bool{}
	for _, s := range spans {
		known[s.Trace+s.ID] = true
	}
	var roots []Span
	for _, s := range spans {
		if s.Parent == "" || !known[s.Trace+s.Parent] {
			roots = append(roots, s)
			continue
		}
		below[s.Trace+s.Parent] = append(below[s.Trace+s.Parent], s)
	}
	var b strings.Builder
	var draw func(ss []Span, depth int)
	draw = func(ss []Span, depth int) {
		slices.SortStableFunc(ss, func(x, y Span) int { return x.Began.Compare(y.Began) })
		for _, s := range ss {
			b.WriteString(strings.Repeat("  ", depth) + s.Name + " (" + s.Kind + ")")
			if s.Failed {
				b.WriteString(" failed")
			}
			for _, key := range slices.Sorted(maps.Keys(s.Attributes)) {
				if slices.Contains(shown, key) {
					fmt.Fprintf(&b, " %s=%v", key, s.Attributes[key])
				}
			}
			b.WriteString("\n")
			draw(below[s.Trace+s.ID], depth+1)
		}
	}
	draw(roots, 0)
	return b.String()
}
