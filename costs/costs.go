// Package costs turns tokens into money: exact amounts, usage in disjoint
// buckets, a price catalogue, and the entries of the ledger.
//
// All money is integers of pico-dollars. A price of $P per million tokens is
// exactly P·10⁶ pico-dollars per token for up to six decimals, which whole
// nano-dollars are not ($0.0375 per million). Nothing here is ever a float but
// what leaves for display or Prometheus.
package costs

import (
	"errors"
	"time"
)

// Amount is money in pico-dollars, 10⁻¹² USD; up to about 9.2 million dollars
// either side of zero.
type Amount int64

// USD is one dollar.
const USD Amount = 1_000_000_000_000

// ErrOverflow is returned by arithmetic whose result no Amount can hold.
var ErrOverflow = errors.New("amount of money out of range")

// Usage is what one model call consumed, in disjoint buckets: every billed
// token is in exactly one of the five, so their sum is the total.
type Usage struct {
	Input        int64 `json:"input"`          // uncached input tokens
	CacheRead    int64 `json:"cache_read"`     // input tokens read from the provider's cache
	CacheWrite5m int64 `json:"cache_write_5m"` // input tokens written to the cache for five minutes, or without a stated time
	CacheWrite1h int64 `json:"cache_write_1h"` // input tokens written to the cache for an hour
	Output       int64 `json:"output"`         // output tokens, reasoning included

	Reasoning   int64            `json:"reasoning,omitempty"`    // how many of Output were reasoning; not billed again
	ServerTools map[string]int64 `json:"server_tools,omitempty"` // provider-run tools by name, counted in uses; and AudioSecond, AudioToken
	Tier        string           `json:"tier,omitempty"`         // service tier as the response names it
	Speed       string           `json:"speed,omitempty"`
	Geo         string           `json:"geo,omitempty"`

	// Charged is what the provider itself says the call cost, where it says so
	// (OpenRouter); nil elsewhere. It is preferred to our own arithmetic.
	Charged *Amount `json:"charged,omitempty"`

	// Iterations are sub-calls that the provider bills beside or instead of the
	// top-level numbers (Anthropic usage.iterations). When present they are
	// priced one by one, each by its own model, and the top-level buckets are
	// not priced again.
	Iterations []Iteration `json:"iterations,omitempty"`

	Source Source `json:"source"`
}

// Iteration is one billed sub-call inside a call.
type Iteration struct {
	Model string `json:"model,omitempty"` // empty: the call's own model
	Kind  string `json:"kind,omitempty"`
	Usage Usage  `json:"usage"`
}

// Source describes where the numbers of a Usage come from.
type Source string

// Where usage comes from.
const (
	Reported  Source = "reported"  // by the provider, final
	Estimated Source = "estimated" // by us: the provider sent none, or the stream was cut
)

// Purpose describes what a call was for; it becomes the label agent_kind.
type Purpose string

// What calls are for.
const (
	RootTurn Purpose = "root"
	Subagent Purpose = "subagent"
	Title    Purpose = "title"
	Summary  Purpose = "summary"

	Transcription Purpose = "transcription" // words of a voice note; within a person's turn

	Tool Purpose = "tool" // a call of a tool that the operator gave a price
)

// CallID names one attempt of one model call, or of one call of a tool. It is unique over
// all sessions: booking the same one again changes nothing.
type CallID struct {
	Turn    string  `json:"turn"`    // the turn's id, unique for ever
	Step    int     `json:"step"`    // the model call within the turn, from 1; of a tool that which asked for it, 0: none did
	Attempt int     `json:"attempt"` // the try of that call, from 1; of a tool see ToolAttempt
	Purpose Purpose `json:"purpose"`
}

// Labels are the closed set under which money shows in Prometheus.
type Labels struct {
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	Channel  string  `json:"channel"` // configured instance name
	Purpose  Purpose `json:"purpose"`
}

// Estimate is the worst case of a call that is about to be made.
type Estimate struct {
	Call   CallID `json:"call"`
	Labels Labels `json:"labels"`
	Upper  Amount `json:"upper"`  // never less than what the call can cost; 0 when not Priced
	Priced bool   `json:"priced"` // false: no price is known for the model, so nothing bounds it
}

// Reservation is an estimate that was written down before its call, and is
// held against budgets until it is settled.
type Reservation struct {
	ID       string    `json:"id"` // CallID.String
	Estimate Estimate  `json:"estimate"`
	At       time.Time `json:"at"`
}

// Entry is one row of the ledger: what one attempt cost. Rows are never
// changed or removed.
type Entry struct {
	ID     string `json:"id"` // the reservation's
	Call   CallID `json:"call"`
	Labels Labels `json:"labels"`
	Usage  Usage  `json:"usage"`
	Price  *Price `json:"price,omitempty"` // copied, so that history is never priced anew; nil: unknown

	Amount Amount `json:"amount"` // what is booked; 0 when the price is unknown
	Priced bool   `json:"priced"` // false: the true cost is unknown, not zero
	State  State  `json:"state"`

	// For an interrupted call the true bill lies in [Lower, Upper], of which Amount
	// is the best guess: Lower is what was reported, Amount besides what was seen
	// of the call. What is above Amount stays held against budgets until it is
	// reconciled.
	Lower Amount `json:"lower,omitempty"`
	Upper Amount `json:"upper,omitempty"`

	// Overrun is the part of Amount above what was reserved: the provider did not
	// keep to what was asked, and no budget could stop it. It is on the bill.
	Overrun Amount `json:"overrun,omitempty"`

	Outcome   string    `json:"outcome"`              // ok, or the error kind of package llm; of a tool how it ended
	RequestID string    `json:"request_id,omitempty"` // the provider's, for reconciling
	At        time.Time `json:"at"`
}

// State decides whether an entry's amount is final.
type State string

// States of an entry.
const (
	Settled     State = "settled"     // exact
	Interrupted State = "interrupted" // not settled: it may have cost more; see Entry.Upper
)

// Settlement is a reservation and the entry that settles it.
type Settlement struct {
	Reservation Reservation
	Entry       Entry
}
