package tracing

import (
	"strings"
	"time"

	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// kind is the role of a span.
type kind = trace.Span_SpanKind

const (
	internal = trace.Span_SPAN_KIND_INTERNAL
	client   = trace.Span_SPAN_KIND_CLIENT
	producer = trace.Span_SPAN_KIND_PRODUCER
	consumer = trace.Span_SPAN_KIND_CONSUMER
)

// sampledFlag is the flag of W3C Trace Context that every span which is made has.
const sampledFlag = 1

// newSpan returns a span that began at a time. The parent is zero for the first of a trace.
func newSpan(id traceID, self, parent spanID, k kind, name string, began time.Time) *trace.Span {
	s := &trace.Span{
		TraceId: id[:], SpanId: self[:], Kind: k, Name: strings.ToValidUTF8(name, "\uFFFD"), StartTimeUnixNano: nanos(began), Flags: sampledFlag,
	}
	if parent != (spanID{}) {
		s.ParentSpanId = parent[:]
	}
	return s
}

// finish sets the end of s. A clock that went back makes it as short as can be.
func finish(s *trace.Span, at time.Time) {
	s.EndTimeUnixNano = max(nanos(at), s.StartTimeUnixNano)
}

// fail says that what s stands for failed, and how, in one word of a small set. No text of the
// error goes with it: it may hold what somebody wrote.
func fail(s *trace.Span, how string) {
	s.Status = &trace.Status{Code: trace.Status_STATUS_CODE_ERROR}
	set(s, text(attrError, how))
}

func set(s *trace.Span, attributes ...*common.KeyValue) {
	s.Attributes = append(s.Attributes, attributes...)
}

// longestText is what a server or a model may have an attribute say, in bytes.
const longestText = 256

// setText sets an attribute, if there is a value. One that is longer than any that is meant is left
// out.
func setText(s *trace.Span, key, value string) {
	if value != "" && len(value) <= longestText {
		set(s, text(key, value))
	}
}

// setCount sets an attribute, if the value is above 0.
func setCount(s *trace.Span, key string, n int64) {
	if n > 0 {
		set(s, number(key, n))
	}
}

func text(key, v string) *common.KeyValue {
	v = strings.ToValidUTF8(v, "\uFFFD") // anything else cannot be encoded, and the whole batch with it
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v}}}
}

func texts(key string, v string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{
		Values: []*common.AnyValue{{Value: &common.AnyValue_StringValue{StringValue: v}}},
	}}}}
}

func number(key string, v int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v}}}
}

func decimal(key string, v float64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v}}}
}

func truth(key string, v bool) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v}}}
}

func nanos(t time.Time) uint64 {
	return uint64(max(t.UnixNano(), 0)) // it is not negative
}
