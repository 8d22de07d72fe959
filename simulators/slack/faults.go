package slack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
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

var errFault = errors.New("fault cannot be planned")

func (f Fault) check() error {
	switch {
	case f.Trouble != MentionFirst && !slices.Contains(onCalls, f.Trouble) && !slices.Contains(onEvents, f.Trouble):
		return fmt.Errorf("%w: unknown trouble %q", errFault, f.Trouble)
	case f.Method == deliveries && !slices.Contains(onEvents, f.Trouble),
		f.Method != "" && f.Method != deliveries && !slices.Contains(onCalls, f.Trouble):
		return fmt.Errorf("%w: %s does not fall on %s", errFault, f.Trouble, f.Method)
	case f.Trouble == Refused && f.Error == "":
		return fmt.Errorf("%w: refused needs an error", errFault)
	case f.Probability < 0 || f.Probability > 1 || min(f.Skip, f.Next, f.Every, f.RetryAfter, f.Copies) < 0 || f.Delay < 0:
		return fmt.Errorf("%w: %s: a number is out of range", errFault, f.Trouble)
	case f.Reason != "" && !slices.Contains(reasons, f.Reason):
		return fmt.Errorf("%w: unknown reason %q", errFault, f.Reason)
	}
	return nil
}

type plan struct {
	Fault
	seen, fell int
}

// falls counts a matching call and tells whether the plan strikes it.
func (p *plan) falls(rng *rand.Rand) bool {
	p.seen++
	if p.seen <= p.Skip {
		return false
	}
	if p.Every > 0 && (p.seen-p.Skip)%p.Every != 0 {
		return false
	}
	if p.Probability > 0 && rng.Float64() >= p.Probability {
		return false
	}
	p.fell++
	return true
}

// Plan adds faults. Nothing is added when one of them is unknown or has a number
// out of range.
func (s *Server) Plan(fs ...Fault) error {
	for _, f := range fs {
		if err := f.check(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range fs {
		s.plans = append(s.plans, &plan{Fault: f})
	}
	return nil
}

// ClearFaults ends all plans and every Retry-After that still holds.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans = nil
	clear(s.holds)
}

// struck is what a fault may fall on.
type struck struct {
	app, method, channel, kind string
	blocks, stream             bool // what a call carries or is about
}

// matches tells whether a plan is about x.
func (p *plan) matches(x struck) bool {
	event := x.method == deliveries
	switch {
	case p.App != "" && p.App != x.app, p.Method != "" && p.Method != x.method,
		p.Channel != "" && p.Channel != x.channel, p.Kind != "" && p.Kind != x.kind:
		return false
	case p.Trouble == MentionFirst || x.method == mentions:
		return p.Trouble == MentionFirst && x.method == mentions
	case event:
		return slices.Contains(onEvents, p.Trouble) && (p.Method == deliveries || !slices.Contains(both, p.Trouble))
	case p.Trouble == BlocksRefused:
		return x.blocks
	case p.Trouble == StreamExpired || p.Trouble == StreamStopped:
		return x.stream
	case p.Trouble == LateShare:
		return x.method == completion
	}
	return slices.Contains(onCalls, p.Trouble)
}

// mentions is what MentionFirst falls on: a post that is two events.
const mentions = "mention"

// draw finds the fault for a call or a delivery, if any. The caller holds the
// lock.
func (s *Server) draw(x struck) *Fault {
	for i, p := range s.plans {
		if !p.matches(x) || !p.falls(s.rng) {
			continue
		}
		if p.Next > 0 && p.fell >= p.Next {
			s.plans = slices.Delete(s.plans, i, i+1)
		}
		s.books.totals.Faults++
		return &p.Fault
	}
	return nil
}
