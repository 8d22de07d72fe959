package slack

import (
	"fmt"
	"slices"
	"time"

	"parley/simulators/internal/stage"
)

// Trouble is what goes wrong.
type Trouble string

// Troubles of calls. Those under "applied" change the conversation although the
// app gets no usable answer; a message they fall on is marked Unconfirmed.
const (
	// TooManyRequests answers 429 with RetryAfter and holds the app to it.
	TooManyRequests Trouble = "too_many_requests"
	// InternalError answers 500 with an error, BadGateway 502 with an HTML page,
	// Unavailable 503.
	InternalError Trouble = "internal_error"
	BadGateway    Trouble = "bad_gateway"
	Unavailable   Trouble = "unavailable"
	// Refused answers ok=false with Error, such as token_revoked or msg_too_long.
	Refused Trouble = "refused"
	// BlocksRefused answers invalid_blocks to calls that carry blocks.
	BlocksRefused Trouble = "blocks_refused"
	// StreamExpired and StreamStopped end the stream that a call is about, as
	// time or a person does, before the call is looked at.
	StreamExpired Trouble = "stream_expired"
	StreamStopped Trouble = "stream_stopped"
	// LateShare lets files.completeUploadExternal succeed and the files appear only
	// after Delay, in their conversation and in files.info; without one they never
	// do. Slack shares files in its own time.
	LateShare Trouble = "late_share"
	// Dropped cuts the connection before anything is applied.
	Dropped Trouble = "dropped"
	// Slow answers, or delivers, after Delay.
	Slow Trouble = "slow"

	// Ambiguous applies, then cuts the connection.
	Ambiguous Trouble = "ambiguous"
	// Truncated applies, then cuts the answer in the middle.
	Truncated Trouble = "truncated"
	// Garbage applies, then answers 200 with a page that is not JSON.
	Garbage Trouble = "garbage"
)

// Troubles of deliveries (method "event"), where Slow, Dropped and Ambiguous
// fall too: the connection is cut before or after the event was sent on it.
const (
	// LostAck loses the acknowledgement, or the answer, of a delivery.
	LostAck Trouble = "lost_ack"
	// Duplicated delivers the event Copies more times, acknowledged or not.
	Duplicated Trouble = "duplicated"
	// Reordered holds the event back until the next one was sent, or Delay
	// passed.
	Reordered Trouble = "reordered"
	// Disconnect sends a disconnect message with Reason behind the event.
	Disconnect Trouble = "disconnect"
	// MentionFirst delivers app_mention before the message event of one post.
	MentionFirst Trouble = "mention_first"
)

// onEvents are the troubles that fall on deliveries; MentionFirst falls on posts.
var onEvents = []Trouble{Slow, Dropped, Ambiguous, LostAck, Duplicated, Reordered, Disconnect}

// both are the troubles that fall on calls and on deliveries.
var both = []Trouble{Slow, Dropped, Ambiguous}

var onCalls = []Trouble{
	TooManyRequests, InternalError, BadGateway, Unavailable, Refused, BlocksRefused, StreamExpired, StreamStopped,
	LateShare, Dropped, Slow, Ambiguous, Truncated, Garbage,
}

// Fault plans trouble. Without Next, Every and Probability it falls on every
// matching call until faults are cleared. Of several plans that match a call the
// first in order falls.
type Fault struct {
	Trouble Trouble `json:"trouble"`
	// App, Method and Channel narrow the calls; zero values match all. The
	// method "event" is deliveries, which a fault without a method hits only if
	// its trouble falls on nothing else; "upload" is what is posted to the URL that
	// files.getUploadURLExternal gave.
	App     string `json:"app,omitempty"`
	Method  string `json:"method,omitempty"`
	Channel string `json:"channel,omitempty"`
	// Kind narrows deliveries, as in EventEntry.Kind.
	Kind string `json:"kind,omitempty"`
	// Skip lets that many matching calls pass first.
	Skip int `json:"skip,omitempty"`
	// Next ends the plan after n falls.
	Next int `json:"next,omitempty"`
	// Every falls on each k-th matching call, Probability on a seeded draw.
	Every       int     `json:"every,omitempty"`
	Probability float64 `json:"probability,omitempty"`
	// Error of Refused.
	Error string `json:"error,omitempty"`
	// RetryAfter in seconds, default 1. Calls of the same app and method that
	// come earlier are answered 429 again and counted as violations.
	RetryAfter int `json:"retry_after,omitempty"`
	// Delay of Slow, Reordered and LateShare.
	Delay time.Duration `json:"delay_ns,omitempty"`
	// Copies of Duplicated, default 1.
	Copies int `json:"copies,omitempty"`
	// Reason of Disconnect, default warning.
	Reason string `json:"reason,omitempty"`
}

// deliveries is the method that stands for them in a [Fault].
const deliveries = "event"

// Check returns why the fault cannot be planned.
func (f Fault) Check() error {
	switch {
	case f.Trouble != MentionFirst && !slices.Contains(onCalls, f.Trouble) && !slices.Contains(onEvents, f.Trouble):
		return fmt.Errorf("%w: unknown trouble %q", stage.ErrFault, f.Trouble)
	case f.Method == deliveries && !slices.Contains(onEvents, f.Trouble),
		f.Method != "" && f.Method != deliveries && !slices.Contains(onCalls, f.Trouble):
		return fmt.Errorf("%w: %s does not fall on %s", stage.ErrFault, f.Trouble, f.Method)
	case f.Trouble == Refused && f.Error == "":
		return fmt.Errorf("%w: refused needs an error", stage.ErrFault)
	case min(f.RetryAfter, f.Copies) < 0 || f.Delay < 0:
		return fmt.Errorf("%w: %s: a number is out of range", stage.ErrFault, f.Trouble)
	case f.Reason != "" && !slices.Contains(reasons, f.Reason):
		return fmt.Errorf("%w: unknown reason %q", stage.ErrFault, f.Reason)
	}
	return nil
}

// Timing returns which of the calls that match it falls on.
func (f Fault) Timing() stage.Timing {
	return stage.Timing{Skip: f.Skip, Next: f.Next, Every: f.Every, Probability: f.Probability}
}

// trouble is that of the fault; empty: there is none.
func (f *Fault) trouble() Trouble {
	if f == nil {
		return ""
	}
	return f.Trouble
}

// faultSubject is what a fault may fall on.
type faultSubject struct {
	app, method, channel, kind string
	blocks, stream             bool // what a call carries or is about
}

// matches reports whether a fault is about x.
func (f *Fault) matches(x faultSubject) bool {
	event := x.method == deliveries
	switch {
	case f.App != "" && f.App != x.app, f.Method != "" && f.Method != x.method,
		f.Channel != "" && f.Channel != x.channel, f.Kind != "" && f.Kind != x.kind:
		return false
	case f.Trouble == MentionFirst || x.method == mentions:
		return f.Trouble == MentionFirst && x.method == mentions
	case event:
		return slices.Contains(onEvents, f.Trouble) && (f.Method == deliveries || !slices.Contains(both, f.Trouble))
	case f.Trouble == BlocksRefused:
		return x.blocks
	case f.Trouble == StreamExpired || f.Trouble == StreamStopped:
		return x.stream
	case f.Trouble == LateShare:
		return x.method == completion
	}
	return slices.Contains(onCalls, f.Trouble)
}

// mentions is what MentionFirst falls on: a post that is two events.
const mentions = "mention"

// draw finds the fault for a call or a delivery, if any. The caller holds the
// lock.
func (w *world) draw(x faultSubject) *Fault {
	f := stage.Draw(&w.plans, w.rng, func(f *Fault) bool { return f.matches(x) })
	if f != nil {
		w.books.totals.Faults++
	}
	return f
}
