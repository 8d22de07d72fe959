package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/agent/pressure"
	"parley/costs"
	"parley/tools"
	"parley/transcript"
)

// Middleware decides between the model calls of a turn whether it goes on. Its functions
// depend on nothing but the state that they are given, so that another worker that takes
// the turn over decides the same: they keep nothing, and neither clock nor chance plays a
// part. They are asked before anything joins the turn, and again whenever its history has
// changed. An error or a panic leaves the turn open, like one of the Journal. (AA01–AA03;
// docs/decisions/0070)
type Middleware struct {
	Name string // as the configuration and the log name it
	// Before is asked before each model call. nil: it goes on.
	Before func(ctx context.Context, s TurnState) (Verdict, error)
	// After is asked when an answer of the turn and the results of all its calls are in the
	// history, by whichever take; before Before. nil: it goes on. An answer without calls
	// ends a turn before it is asked.
	After func(ctx context.Context, s TurnState) (Verdict, error)
}

// TurnState is a turn between two model calls, as its journal holds it.
type TurnState struct {
	Turn    Turn // its Model is the one that is asked next
	History []transcript.Message
	Steps   int // model calls that were answered, but for transcripts and summaries

	Ladder pressure.Ladder // of the model; zero: the window is not watched
	Tokens int64           // of the next request, estimated; 0: the window is not watched
	System int64           // of them, what stands before the messages

	// Spent returns what the person's turn has cost, and Used how many tokens the model
	// calls of this turn took; see Journal.
	Spent func(ctx context.Context) (costs.Amount, error)
	Used  func(ctx context.Context) (int64, error)
}

// Action is what a middleware wants to be done.
type Action int

// What can be done.
const (
	Continue Action = iota
	Compact         // change what later requests hold, as Verdict.Plan says
	Stop            // end the turn
)

// Verdict is what a middleware decides. The zero value goes on.
type Verdict struct {
	Action Action
	Reason string // for the log
	// The number that led to it, and the one from which on it does. (N07)
	Value, Threshold int64

	Plan pressure.Plan // of Compact

	// Of Stop. Finish is how the turn ends; empty: as [transcript.Stopped]. With an
	// Instruction the model is asked once more, without tools, for its last words, and the
	// person reads them with Note behind; Text is what the person is told where the model
	// says nothing, or is not asked.
	Finish      transcript.FinishReason
	Instruction string
	Text        string
	Note        string
	Problem     string // text of the event Problem; empty: there is none
	Err         error  // Outcome.Err
}

// StandardMiddleware is what decides where a turn names nothing else, in this order.
func StandardMiddleware() []Middleware {
	return []Middleware{TurnLimit(), PriceLimit(), TokenLimit(), AutoCompact()}
}

// MiddlewareNamed returns the standard middleware of those names, in their order; of nil all.
func MiddlewareNamed(names []string) (ms []Middleware, err error) {
	all := StandardMiddleware()
	if names == nil {
		return all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(m Middleware) bool { return m.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no middleware %q%s", name, cmp.Or(tools.Suggest(name, MiddlewareNames()), "; there are "+strings.Join(MiddlewareNames(), ", ")))
		}
		ms = append(ms, all[i])
	}
	return ms, nil
}

// MiddlewareNames are the names of the standard middleware, in their order.
func MiddlewareNames() (names []string) {
	for _, m := range StandardMiddleware() {
		names = append(names, m.Name)
	}
	return names
}

// Names of the standard middleware.
const (
	TurnLimitName   = "turn_limit"
	PriceLimitName  = "price_limit"
	TokenLimitName  = "token_limit"
	AutoCompactName = "compact"
)

// TurnLimit ends a turn that has made as many model calls as Turn.MaxSteps. (C01, C05)
func TurnLimit() Middleware {
	return Middleware{Name: TurnLimitName, Before: func(_ context.Context, s TurnState) (Verdict, error) {
		if s.Steps < s.Turn.MaxSteps {
			return Verdict{}, nil
		}
		return Verdict{
			Action: Stop, Reason: "model calls", Value: int64(s.Steps), Threshold: int64(s.Turn.MaxSteps),
			Finish: transcript.MaxIterations, Instruction: instructionWrapUp, Text: textMaxSteps, Problem: problemMaxSteps,
		}, nil
	}}
}

// PriceLimit ends a turn when the person's turn, with its sub-agents, has cost Turn.MaxCost.
// It looks at what was spent and not at what the next call may cost: that is what budgets
// are for. So the turn has always got somewhere.
func PriceLimit() Middleware {
	return Middleware{Name: PriceLimitName, After: func(ctx context.Context, s TurnState) (Verdict, error) {
		if s.Turn.MaxCost <= 0 {
			return Verdict{}, nil
		}
		spent, err := s.Spent(ctx)
		if err != nil || spent < s.Turn.MaxCost {
			return Verdict{}, err
		}
		text := fmt.Sprintf(textPrice, spent.Display(), s.Turn.MaxCost.Display())
		return Verdict{
			Action: Stop, Reason: "cost in pico-dollars", Value: int64(spent), Threshold: int64(s.Turn.MaxCost),
			Instruction: instructionBudget, Text: text, Note: "(" + text + ")",
		}, nil
	}}
}

// TokenLimit ends a turn whose own model calls have taken Turn.MaxTurnTokens.
func TokenLimit() Middleware {
	return Middleware{Name: TokenLimitName, After: func(ctx context.Context, s TurnState) (Verdict, error) {
		if s.Turn.MaxTurnTokens <= 0 {
			return Verdict{}, nil
		}
		used, err := s.Used(ctx)
		if err != nil || used < s.Turn.MaxTurnTokens {
			return Verdict{}, err
		}
		text := fmt.Sprintf(textTokens, pressure.Thousands(used), pressure.Thousands(s.Turn.MaxTurnTokens))
		return Verdict{
			Action: Stop, Reason: "tokens of the turn", Value: used, Threshold: s.Turn.MaxTurnTokens,
			Instruction: instructionBudget, Text: text, Note: "(" + text + ")",
		}, nil
	}}
}

// AutoCompact keeps the next request inside the model's window, as the ladder says. (N07)
func AutoCompact() Middleware {
	return Middleware{Name: AutoCompactName, Before: func(_ context.Context, s TurnState) (Verdict, error) {
		if s.Ladder.Window == 0 {
			return Verdict{}, nil
		}
		plan := s.Ladder.Next(s.History, s.Turn.ID, s.Tokens, s.System)
		v := Verdict{Reason: "tokens of the next request", Value: s.Tokens, Plan: plan}
		switch plan.Action {
		case pressure.Trim:
			v.Action, v.Threshold = Compact, s.Ladder.Trim
		case pressure.Summarise:
			v.Action, v.Threshold = Compact, s.Ladder.Compact
		case pressure.GiveUp:
			v.Action, v.Threshold = Stop, s.Ladder.Hard
			v.Finish, v.Text = transcript.ContextLimit, textContextLimit
			v.Err = &ContextLimitError{Tokens: plan.Tokens, Window: s.Ladder.Window}
		case pressure.Proceed:
			return Verdict{}, nil
		}
		return v, nil
	}}
}

// decide asks the turn's middleware. The first that does not go on decides.
func (r *run) decide(ctx context.Context, history []transcript.Message) (Verdict, error) {
	s := TurnState{
		Turn: r.turn, History: history, Steps: r.steps - r.notes.asked - summariesOf(history, r.turn.ID),
		Spent: r.Journal.Spent, Used: r.Journal.Used,
	}
	if !r.Pressure.Off {
		r.measure(history)
		s.Ladder, s.Tokens, s.System = r.ladder, r.gauge.Tokens, r.system
	}
	for _, after := range []bool{true, false} {
		for _, m := range r.turn.Middleware {
			ask := m.Before
			if after {
				ask = m.After
			}
			if ask == nil || after && !r.acted {
				continue
			}
			v, err := ask(ctx, s)
			if err != nil {
				return v, fmt.Errorf("middleware %s: %w", m.Name, err)
			}
			if v.Action != Continue {
				r.log.Debug("middleware decided", "middleware", m.Name, "action", v.Action.String(), "reason", v.Reason, "value", v.Value, "threshold", v.Threshold)
				return v, nil
			}
		}
	}
	return Verdict{}, nil
}

// String returns the action as the log has it.
func (a Action) String() string {
	switch a {
	case Compact:
		return "compact"
	case Stop:
		return "stop"
	case Continue:
	}
	return "continue"
}

// stop ends the turn as v says.
func (r *run) stop(ctx context.Context, history []transcript.Message, v Verdict) (Outcome, error) {
	finish := v.Finish
	if finish == "" {
		finish = transcript.Stopped
	}
	if v.Instruction == "" {
		return r.outcomeOr(r.finish(ctx, nil, Outcome{Finish: finish, Text: v.Text, Err: v.Err}, nil))
	}
	w := closingCall{instruction: v.Instruction, finish: finish, text: v.Text, note: v.Note, err: v.Err}
	if v.Problem != "" {
		w.events = func(err error) []Event { return []Event{{Type: Problem, Text: v.Problem, Err: err}} }
	}
	return r.wrapUp(ctx, history, w)
}

// beforeStep does what has to be done before the next model call. acted is true when the
// history may have changed, and is to be read again.
func (r *run) beforeStep(ctx context.Context, history []transcript.Message) (acted bool, end *Outcome, err error) {
	if r.notes.pending != nil {
		if end, err = r.endUnavailable(ctx); end != nil || err != nil {
			return false, end, err
		}
		end, err = r.transcribeNote(ctx, *r.notes.pending, len(history))
		return true, end, err
	}
	v, err := r.decide(ctx, history)
	switch {
	case err != nil:
		return false, nil, err
	case v.Action == Stop:
		o, err := r.stop(ctx, history, v)
		return false, &o, err
	}
	if end, err = r.endUnavailable(ctx); end != nil || err != nil {
		return false, end, err
	}
	failed := v.Plan.Action == pressure.Summarise && pressure.SummaryJustFailed(history)
	if v.Action == Compact && !failed {
		if acted, end, err = r.follow(ctx, history, v.Plan); acted || end != nil || err != nil {
			return acted, end, err
		}
	}
	acted, err = r.join(ctx, history)
	return acted, nil, err
}
