package tracing

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strings"

	"parley/gateway/messages"
)

// traceID is a trace: all that came of one message. It is the id of the message's turn
// without its prefix, so every process that knows the turn knows the trace, and so does
// who reads the turn's id in the log. (docs/decisions/0109)
type traceID [16]byte

// spanID is a span, unique within its trace.
type spanID [8]byte

// turnPrefix begins the ids of turns that a message opened.
const turnPrefix = "t-"

// traceOf returns the trace of a turn, by its id; false where id is none of a turn.
func traceOf(turn string) (id traceID, ok bool) {
	digits, ok := strings.CutPrefix(turn, turnPrefix)
	if !ok || len(digits) != hex.EncodedLen(len(id)) {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(digits))
	return id, err == nil && id != traceID{} // which means no trace
}

// traceOfDelivery returns the trace to which an answer belongs: that of its turn, or of the
// turn that its id is about.
func traceOfDelivery(id, turn string) (traceID, bool) {
	if turn != "" {
		return traceOf(turn)
	}
	if note, ok := messages.ParseID(id); ok {
		return traceOf(note.About)
	}
	return traceID{}, false
}

// root returns the id of the first span of the trace, under which all others stand. It follows
// from the trace, because other processes than the one that makes it name it as their parent.
func (id traceID) root() spanID {
	sum := sha256.Sum256(append([]byte("root of "), id[:]...))
	return spanID(sum[:8])
}

// newSpanID returns the id of any other span.
func newSpanID() (id spanID) {
	for id == (spanID{}) { // which means no span
		binary.BigEndian.PutUint64(id[:], rand.Uint64()) // it names something, and protects nothing
	}
	return id
}

// sampler decides which traces are made: the same ones in every process with the same share,
// and with a smaller share some of those of a larger one.
type sampler uint64

// newSampler returns what takes that share of all traces, above 0 and at most 1.
func newSampler(share float64) sampler {
	if share >= 1 {
		return math.MaxUint64
	}
	return sampler(share * (1 << 63))
}

// takes decides as OpenTelemetry's TraceIdRatioBased does.
func (s sampler) takes(id traceID) bool {
	return binary.BigEndian.Uint64(id[8:])>>1 < uint64(s)
}
