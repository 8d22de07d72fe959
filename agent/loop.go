package agent

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"parley/agent/pressure"
	"parley/costs"
	"parley/llm"
	"parley/pause"
	"parley/sessionkeys"
	"parley/tools"
	"parley/transcript"
)

// DefaultSteps is how many model calls a turn has when it names no number. (C01)
const DefaultSteps = 20

// DefaultGrace is how long the last commits may take after a turn was ended.
const DefaultGrace = 5 * time.Second

// Prices is what the loop must know about money. *costs.Catalogue is one. They
// may change meanwhile if they have a method Snapshot() Prices: each take of a turn keeps
// those of its beginning.
type Prices interface {
	// Price finds the price of a model's tokens; false: there is none.
	Price(provider, model string) (*costs.Price, bool)
	// Cost returns what u cost, and the price by which.
	Cost(provider, model string, u costs.Usage) (costs.Amount, *costs.Price, error)
}

// Retrier decides whether attempt number attempt (from 1), which failed with err,
// elapsed after the first began, may be followed by another, and after how
// long. llm.Retry is one.
type Retrier interface {
	Next(attempt int, elapsed time.Duration, err error) (wait time.Duration, again bool)
}

// Loop runs turns. It is a value: copy one that is set up and give the copy the
// Journal of the session at hand. A Loop is not changed by running, so the
// copies may share everything else. Only Journal is required.
type Loop struct {
	Journal Journal
	Prices  Prices  // nil: no price is known
	Retry   Retrier // nil: a failed call is not tried again
	Circuit Circuit // which models are called at present; nil: all
	// Names knows the names of requests' frames; nil: each is computed.
	Names *llm.TemplateNames
	// Digests makes the digests of requests; nil: each is computed of all that the model is asked.
	Digests *llm.Digests
	// Patience is how long a call is tried again at most where another model may answer in
	// its place; 0: as Retry says.
	Patience time.Duration
	// Preparation is how long a turn waits for a summary without which its next request fits
	// as well: then it goes on without; 0: as long as the call lasts. (docs/decisions/0072)
	Preparation time.Duration
	// Pressure says how a conversation is kept inside the model's window; the zero value
	// does so.
	Pressure pressure.Policy
	Gate     tools.Gate // asked before each call; nil: what only reads or writes may run

	ToolTimeout time.Duration // 0: tools.DefaultTimeout; see tools.Timed
	ToolOutput  int           // bytes of one result; 0: tools.DefaultOutput
	Grace       time.Duration // for the last commits of a turn that was ended; 0: DefaultGrace

	// Why tells the person whose conversation has that key why a call was refused, as the
	// end of a sentence: "you may spend $5.00 a day here, …". nil: the error's own text.
	Why func(sessionkeys.Key, *costs.BudgetError) string
	// Pause is called when a budget does not allow the next step of a turn. It returns the question
	// by which people are asked to raise the budget; the turn then ends as Waiting with that question
	// instead of the refusal. If it returns "", or is nil, the turn ends with the refusal.
	Pause func(context.Context, *costs.BudgetError) (ask string, err error)

	// Redact takes secrets out of what tools return, before it is stored, shown
	// or sent. nil: it is left as it is.
	Redact func(string) string
	// Transcription makes words of voice notes. nil: they stay files.
	Transcription *Transcription
	// ReadPicture reads a picture that was saved in a workspace; nil: [ReadPicture].
	ReadPicture func(workspace string, b transcript.Binary) ([]byte, error)
	// Now returns the clock; nil: time.Now. Wait waits for d or until ctx ends, and
	// returns an error then; nil: a timer.
	Now  func() time.Time
	Wait func(ctx context.Context, d time.Duration) error
	Log  *slog.Logger // nil: silence
}

// PanicError is a panic that was caught. Where it came out of a turn, the turn
// is left open for the next take.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Run takes t to its end, or as far as it goes. It returns a nil error when the
// turn was finished, whatever the outcome: answered, failed and told, stopped.
// Then Journal.Finish was called exactly once, successfully.
//
// With an error the turn is open and nothing of this take runs any more:
// one that wraps [ErrHandover] when ctx ended with another cause than ErrStopped or ErrTurnTimeout; a
// *PanicError; or what the journal, a gate, or a tool with
// [tools.ErrUnfinished] returned. Calling Run again with
// the same turn, its Steps and Tries as committed, goes on where it stopped:
// everything that it must know is in the history.
//
// Events go to emit, one at a time and in order, from this and from tools' own
// goroutines; emit must not block for long, and may be nil. Run may be called
// by many goroutines at once, for different journals.
func (l *Loop) Run(ctx context.Context, t Turn, emit func(Event)) (o Outcome, err error) {
	r := newRun(l, t, emit)
	defer func() {
		if v := recover(); v != nil {
			p, ok := v.(*PanicError) // of a call that ran beside the turn
			if !ok {
				p = &PanicError{v, debug.Stack()}
			}
			err = p
			r.log.Error("turn panicked", "error", err)
			r.emit(Event{Type: Problem, Text: textInternal, Err: err})
			o = r.fillOutcome(Outcome{})
		}
	}()
	return r.runTurn(ctx)
}

// run is one take of one turn: the states that it goes through. What they are made of
// is in its parts.
type run struct {
	*take
	*requester
	*toolRunner
	*transcriber
	*compactor
}

// requester puts a request to the model.
type requester struct{ *take }

// toolRunner runs the tools of an answer.
type toolRunner struct{ *take }

// transcriber makes words of voice notes.
type transcriber struct{ *take }

// take is what all parts share: whose turn it is, how far it is, its money, and how it
// is stored.
type take struct {
	Loop // with all defaults filled in
	turn Turn
	log  *slog.Logger
	out  *events

	prices      Prices      // as they were when the take began; nil: none is known
	steps       int         // model calls answered and committed
	tries       int         // attempts made of the next one
	uncounted   int         // of them, no failures of this call and model: given up for a new message, of another model, or of an earlier take
	chain       []llm.Model // that the turn began with
	interrupted bool        // something is to join before the turn goes on
	acted       bool        // an answer of the turn is in the history
	minOutput   int         // output tokens that a call is worth making for
	cost        costs.Amount
	pictures    map[string][]byte // by their sums; nil: cannot be shown
	hidden      bool              // no picture is shown, because a request with pictures was refused
	priced      bool
	notes       notes // what became of the turn's voice notes

	infoOf string // the model of info
	info   llm.Info

	purpose  costs.Purpose   // of the calls that are made now
	giveUpAt time.Time       // when a call that has brought nothing is given up; zero: never
	ladder   pressure.Ladder // of the turn's model
	gauge    pressure.Gauge  // of the next request; zero: it was not measured
	system   int64           // tokens before the messages, as guessed
}

func newRun(l *Loop, t Turn, emit func(Event)) *run {
	r := &take{Loop: *l, turn: t, log: l.Log, prices: l.Prices, steps: t.Steps, tries: t.Tries, uncounted: t.Tries, chain: t.models(), minOutput: minOutput, priced: true}
	if p, ok := l.Prices.(interface{ Snapshot() Prices }); ok {
		r.prices = p.Snapshot()
	}
	if r.Circuit == nil {
		r.Circuit = noCircuit{}
	}
	if r.turn.MaxSteps <= 0 {
		r.turn.MaxSteps = DefaultSteps
	}
	if r.turn.Middleware == nil {
		r.turn.Middleware = StandardMiddleware()
	}
	if r.turn.Purpose == "" {
		r.turn.Purpose = costs.RootTurn
	}
	r.purpose = r.turn.Purpose
	r.Pressure = r.Pressure.Filled()
	if r.Gate == nil {
		r.Gate = tools.CategoryGate(tools.Read, tools.Write)
	}
	r.ToolTimeout, r.ToolOutput = cmp.Or(t.ToolTimeout, r.ToolTimeout), cmp.Or(t.ToolOutput, r.ToolOutput)
	if r.ToolTimeout <= 0 {
		r.ToolTimeout = tools.DefaultTimeout
	}
	if r.Why == nil {
		r.Why = func(_ sessionkeys.Key, e *costs.BudgetError) string { return e.Error() }
	}
	if r.Grace <= 0 {
		r.Grace = DefaultGrace
	}
	if r.Redact == nil {
		r.Redact = func(s string) string { return s }
	}
	if r.ReadPicture == nil {
		r.ReadPicture = ReadPicture
	}
	if h := r.Transcription; h != nil && h.Read == nil {
		with := *h
		with.Read = readNote
		r.Transcription = &with
	}
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.Wait == nil {
		r.Wait = pause.For
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.log = r.log.With("session", t.Session, "turn", t.ID)
	r.out = &events{head: t.Head(), now: r.Now, to: emit}
	asks := &requester{r}
	return &run{r, asks, &toolRunner{r}, &transcriber{r}, &compactor{requester: asks}}
}

// modelInfo returns what is known of the turn's model, which may become another one.
func (r *take) modelInfo() llm.Info {
	if name := r.turn.Model.Name(); r.infoOf != name {
		r.infoOf, r.info = name, llm.Lookup(name)
	}
	return r.info
}

// window is what the turn's model takes and gives, in tokens.
func (r *take) window() (window, maxOutput int) {
	info := r.modelInfo()
	return cmp.Or(r.turn.Window, info.Window), cmp.Or(r.turn.MaxTokens, info.MaxOutput)
}

// runTurn goes from state to state. The state is the history: what has to be done
// next is read from it alone, so the first take and every later one are the
// same code.
func (r *run) runTurn(ctx context.Context) (Outcome, error) {
	for {
		if ended(ctx) {
			return r.endCancelledIdle(ctx)
		}
		history, err := r.Journal.Messages(ctx)
		switch {
		case err != nil && ended(ctx):
			return r.endCancelledIdle(ctx)
		case err != nil:
			return r.fillOutcome(Outcome{}), fmt.Errorf("read history: %w", err)
		}
		r.acted = hasAnswer(history, r.turn.ID)
		r.resumeModel(history)
		if r.turn.Compact != nil {
			end, err := r.compact(ctx, history)
			if end != nil || err != nil {
				return r.outcomeOr(end, err)
			}
			continue
		}
		if begun, err := r.beginPermitted(ctx, history); err != nil {
			return r.fillOutcome(Outcome{}), err
		} else if begun {
			continue
		}
		r.notes = notesOf(history, r.turn.ID)
		b := pendingCalls(history, r.turn)
		if b.isEmpty() {
			acted, end, err := r.beforeStep(ctx, history)
			switch {
			case end == nil && err != nil && ended(ctx):
				return r.endCancelledIdle(ctx)
			case end != nil || err != nil:
				return r.outcomeOr(end, err)
			case acted:
				continue
			}
			if b, end, err = r.step(ctx, history); end != nil || err != nil {
				return r.outcomeOr(end, err)
			}
		}
		if end, err := r.runBatch(ctx, b); end != nil || err != nil {
			return r.outcomeOr(end, err)
		}
	}
}

func (r *run) outcomeOr(end *Outcome, err error) (Outcome, error) {
	if end != nil {
		return *end, err
	}
	return r.fillOutcome(Outcome{}), err
}
