package outcomes

// What became of spans of traces: the closed set of the label outcome of trace_spans_total. All
// but the first were dropped.
const (
	SpanExported    = "exported"
	SpanQueueFull   = "queue_full"  // the server takes them more slowly than they come
	SpanRefused     = "refused"     // the server does not want them
	SpanUnreachable = "unreachable" // the server cannot be reached, or asks to wait for too long
	SpanEnded       = "ended"       // the gateway ended
)

// Spans lists them.
func Spans() []string {
	return []string{SpanExported, SpanQueueFull, SpanRefused, SpanUnreachable, SpanEnded}
}
