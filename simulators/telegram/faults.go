package telegram

import (
	"fmt"
	"slices"
	"time"

	"parley/simulators/internal/stage"
)

// Trouble is what goes wrong.
type Trouble string

// Troubles. On calls of a webhook (method "webhook") fall Dropped, Slow,
// Ambiguous, whose answer Telegram does not get, Reordered and Redelivered.
// Those under "applied" change the chat although the bot gets no
// usable answer; a message or edit they fall on is marked Unconfirmed.
const (
	// TooManyRequests answers 429 with RetryAfter and holds the bot to it.
	TooManyRequests Trouble = "too_many_requests"
	// InternalError answers 500, BadGateway 502 with an HTML page.
	InternalError Trouble = "internal_error"
	BadGateway    Trouble = "bad_gateway"
	// Unauthorized answers 401, Conflict 409, Forbidden 403.
	Unauthorized Trouble = "unauthorized"
	Conflict     Trouble = "conflict"
	Forbidden    Trouble = "forbidden"
	// Dropped cuts the connection before anything is applied.
	Dropped Trouble = "dropped"
	// Slow answers after Delay.
	Slow Trouble = "slow"

	// Ambiguous applies, then cuts the connection.
	Ambiguous Trouble = "ambiguous"
	// Truncated applies, then cuts the answer in the middle.
	Truncated Trouble = "truncated"
	// Garbage applies, then answers 200 with a page that is not JSON.
	Garbage Trouble = "garbage"
	// Restarting applies, then answers 500, as a server does that is shut down.
	Restarting Trouble = "restarting"
	// Oversized applies, then answers with Size bytes of white space before
	// the JSON.
	Oversized Trouble = "oversized"

	// Redelivered falls on updates when they are confirmed: the update
	// comes again, with its id, AfterPolls polls (or webhook calls) and After
	// later, Copies times.
	Redelivered Trouble = "redelivered"
	// Reordered falls on getUpdates, where the batch comes shuffled, and on
	// webhooks (method "webhook"), where any waiting update comes next.
	Reordered Trouble = "reordered"
)

// Fault plans trouble. Without Next, Every and Probability it falls on every
// matching call until faults are cleared. Of several plans that match a call
// the first in order falls.
type Fault struct {
	Trouble Trouble `json:"trouble"`
	// Bot, Method and Chat narrow the calls; zero values match all.
	Bot    string `json:"bot,omitempty"`
	Method string `json:"method,omitempty"`
	Chat   int64  `json:"chat,omitempty"`
	// Skip lets that many matching calls pass first.
	Skip int `json:"skip,omitempty"`
	// Next ends the plan after n falls.
	Next int `json:"next,omitempty"`
	// Every falls on each k-th matching call, Probability on a seeded draw.
	Every       int     `json:"every,omitempty"`
	Probability float64 `json:"probability,omitempty"`
	// RetryAfter in seconds, default 1. Calls of the same bot for the same
	// chat (for every chat with Global) that come earlier are answered 429
	// again and counted as violations.
	RetryAfter int  `json:"retry_after,omitempty"`
	Global     bool `json:"global,omitempty"`
	// Delay of Slow.
	Delay time.Duration `json:"delay_ns,omitempty"`
	// Size of Oversized in bytes, default 64 MiB.
	Size int `json:"size,omitempty"`
	// AfterPolls of Redelivered, default 0: in the answer to the very poll
	// that confirmed it, 1: in the one after.
	AfterPolls int `json:"after_polls,omitempty"`
	// After of Redelivered: and not before so much time has passed.
	After time.Duration `json:"after_ns,omitempty"`
	// Copies of Redelivered, default 1.
	Copies int `json:"copies,omitempty"`
}

// Check returns why the fault cannot be planned.
func (f Fault) Check() error {
	known := []Trouble{
		TooManyRequests, InternalError, BadGateway, Unauthorized, Conflict, Forbidden, Dropped,
		Slow, Ambiguous, Truncated, Garbage, Restarting, Oversized, Redelivered, Reordered,
	}
	if !slices.Contains(known, f.Trouble) {
		return fmt.Errorf("%w: unknown trouble %q", stage.ErrFault, f.Trouble)
	}
	if min(f.RetryAfter, f.Size, f.AfterPolls, f.Copies) < 0 || min(f.Delay, f.After) < 0 {
		return fmt.Errorf("%w: %s: a number is out of range", stage.ErrFault, f.Trouble)
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

// onHooks are the troubles that fall on calls of webhooks.
var onHooks = []Trouble{Reordered, Dropped, Slow, Ambiguous}

// draw finds the fault for a call, if any. The caller holds the lock.
func (w *world) draw(bot, method string, chat int64, onUpdates bool) *Fault {
	return stage.Draw(&w.plans, w.rng, func(f *Fault) bool {
		return (f.Trouble == Redelivered) == onUpdates &&
			(f.Bot == "" || fold(f.Bot) == fold(bot)) &&
			(f.Method == "" || fold(f.Method) == fold(method)) &&
			(f.Chat == 0 || f.Chat == chat) &&
			(f.Trouble != Reordered || method == "getUpdates" || method == "webhook") &&
			(method != "webhook" || onUpdates || slices.Contains(onHooks, f.Trouble))
	})
}
