package pressure

import (
	"slices"

	"parley/transcript"
)

// Shares of the limit that are kept as they are.
const (
	keepResults   = 0.15 // newest results of tools, when others are cut
	keepLess      = 0.05 // the same where nothing can be summarised
	keepTurns     = 0.25 // newest turns, when others are summarised
	keepOverflow  = 0.10 // the same when a provider refused the request
	worthTrimming = 0.10 // what cutting must free, because the provider's cache is lost
	worthSummary  = 0.05 // what a summary must free
	retryAfter    = 0.10 // by how much a conversation grows before a failed summary is tried again
)

// TrimmedBytes is how much of a result of a tool is shown when it has been cut.
const TrimmedBytes = 512

// Action is what is to be done before the next request.
type Action int

// What is to be done.
const (
	Proceed   Action = iota // nothing
	Trim                    // the overlay of the plan is committed
	Summarise               // the model is asked for a summary of the first messages
	GiveUp                  // the request does not fit, and nothing makes it fit
)

// Plan is what is to be done before the next request.
type Plan struct {
	Action  Action
	Overlay transcript.Overlay // of Trim, whole; of Summarise, all but its summary
	Tokens  int64              // of the next request as things are
}

// Next says what is to be done about a history whose next request has so many tokens, in
// the turn of that id. system is the estimate of what stands before the messages.
func (l Ladder) Next(history []transcript.Message, turn string, tokens, system int64) Plan {
	p := Plan{Tokens: tokens}
	if tokens < l.Trim {
		return p
	}
	if o, ok := l.planTrim(history, tokens, keepResults); ok {
		p.Action, p.Overlay = Trim, o
		return p
	}
	if tokens < l.Compact {
		return p
	}
	if !l.waits(history, tokens) {
		if o, ok := l.PlanSummary(history, turn, tokens, system, false); ok {
			p.Action, p.Overlay = Summarise, o
			return p
		}
	}
	if o, ok := l.planTrim(history, tokens, keepLess); ok {
		p.Action, p.Overlay = Trim, o
		return p
	}
	if tokens >= l.Hard {
		p.Action = GiveUp
	}
	return p
}

// Overflow says what is to be done when a provider refused the next request because it
// is too long, whatever was estimated: summarise all but the newest turns, then all but
// the turn that runs. Where that was done already, or nothing can be, nothing helps.
func (l Ladder) Overflow(history []transcript.Message, turn string, tokens, system int64) Plan {
	p := Plan{Action: GiveUp, Tokens: max(tokens, l.Window)}
	keep := keepOverflow
	switch newestOverlay(history).Kind {
	case transcript.NoSummary:
		return p
	case transcript.Summarised:
		keep = 0
	default:
	}
	if o, ok := l.planSummary(history, turn, p.Tokens, system, keep); ok {
		p.Action, p.Overlay, p.Overlay.Trigger = Summarise, o, TriggerOverflow
	} else if o, ok := l.planTrim(history, p.Tokens, keepLess); ok {
		p.Action, p.Overlay, p.Overlay.Trigger = Trim, o, TriggerOverflow
	}
	return p
}

// What leads to an overlay.
const (
	TriggerAuto     = "auto"
	TriggerOverflow = "overflow" // the provider refused the request
	TriggerManual   = "manual"   // a person asked for it
)

// planTrim plans to cut the results of tools but for the newest, if that frees enough.
func (l Ladder) planTrim(history []transcript.Message, tokens int64, keep float64) (o transcript.Overlay, ok bool) {
	e, factor := effectOf(history), Factor(history)
	through, freed, kept := 0, int64(0), int64(0)
	for i := len(history) - 1; i >= e.from; i-- {
		m, ok := e.shows(history, i)
		if !ok || m.Role != transcript.Tool {
			continue
		}
		size := guess(m)
		if through == 0 && scale(kept+size, factor) <= share(l.Limit, keep) {
			kept += size
			continue
		}
		through = max(through, i+1)
		freed += size - guess(cutResults(history[i], i+1, TrimmedBytes))
	}
	freed = scale(freed, factor)
	if freed < share(l.Limit, worthTrimming) {
		return o, false
	}
	return transcript.Overlay{
		Kind: transcript.Trimmed, Through: through, View: TrimmedBytes, Trigger: TriggerAuto, Before: tokens, After: tokens - freed,
	}, true
}

// SummaryJustFailed reports whether the newest message says that a summary failed: the same
// request would fail again.
func SummaryJustFailed(history []transcript.Message) bool {
	return newestOverlay(history).Kind == transcript.NoSummary
}

// newestOverlay returns what the newest message changes of the view; the zero value: nothing.
func newestOverlay(history []transcript.Message) (o transcript.Overlay) {
	if n := len(history); n > 0 {
		o, _ = history[n-1].Overlay()
	}
	return o
}

// waits reports whether the last summary failed, or left more than the target, and little
// was said since. From l.Hard on, where no request is made without a summary, the next one
// waits only until anything was said: the same request would fail again, and be paid again.
func (l Ladder) waits(history []transcript.Message, tokens int64) bool {
	if SummaryJustFailed(history) {
		return true
	}
	left := int64(-1)
	for _, m := range history {
		switch o, _ := m.Overlay(); o.Kind {
		case transcript.Summarised:
			left = o.After
		case transcript.NoSummary:
			left = o.Before
		case transcript.Undone:
			left = -1
		default:
		}
	}
	return left > l.Target && tokens < left+share(l.Limit, retryAfter) && tokens < l.Hard
}

// PlanSummary plans a summary of the oldest turns: of as many that the newest fit into
// a quarter of the limit, or of all of them when a person asked, and never of the turn of
// that id or of part of one. It is of fewer where the request for the summary would not
// fit into the window. ok is false where nothing is left that is worth a summary.
func (l Ladder) PlanSummary(history []transcript.Message, turn string, tokens, system int64, manual bool) (o transcript.Overlay, ok bool) {
	if manual {
		o, ok = l.planSummary(history, turn, tokens, system, 0)
		o.Trigger = TriggerManual
		return o, ok
	}
	return l.planSummary(history, turn, tokens, system, keepTurns)
}

func (l Ladder) planSummary(history []transcript.Message, turn string, tokens, system int64, kept float64) (o transcript.Overlay, ok bool) {
	e, factor := effectOf(history), Factor(history)
	starts := turnStarts(history, e.from, turn)
	if len(starts) == 0 {
		return o, false
	}
	// upTo[i] is what the view takes before message i.
	upTo := make([]int64, len(history)+1)
	upTo[e.from] = system + guess(e.summary)
	for i := e.from; i < len(history); i++ {
		upTo[i+1] = upTo[i]
		if m, ok := e.shows(history, i); ok {
			upTo[i+1] += guess(m)
		}
	}
	all := upTo[len(history)]
	keep := min(share(l.Limit, kept), l.Aim-SummaryTokens(l)-scale(system, factor))
	n := len(starts) - 1
	for n > 0 && scale(all-upTo[starts[n-1]], factor) <= keep {
		n--
	}
	room := l.Window - AnswerTokens(l) - l.Window/marginShare - scale(GuessMessages(Request(o, l, "")), factor)
	for n > 0 && scale(upTo[starts[n]], factor) > room {
		n--
	}
	if scale(upTo[starts[n]]-upTo[e.from], factor) < minSummary {
		return o, false // a summary would be no shorter
	}
	return transcript.Overlay{
		Kind: transcript.Summarised, Through: starts[n], Trigger: TriggerAuto, Before: tokens,
		After: scale(system+all-upTo[starts[n]], factor),
	}, true
}

// Fewer returns a plan for a summary of about half as many messages, after the request for o
// was refused because it is too long; ok is false where that is not possible.
func Fewer(history []transcript.Message, turn string, o transcript.Overlay) (_ transcript.Overlay, ok bool) {
	from := effectOf(history).from
	half := from + (o.Through-from)/2
	starts := turnStarts(history, from, turn)
	for i, at := range slices.Backward(starts) {
		if at < o.Through && (at <= half || i == 0) {
			o.Through = at
			return o, true
		}
	}
	return o, false
}

// turnStarts are the places from which a history may be kept as it is: where turns
// begin, behind message number from. What belongs to the turn of that id is
// one piece.
func turnStarts(history []transcript.Message, from int, turn string) (starts []int) {
	for i, m := range history {
		if i > from && beginsTurn(history, i) {
			starts = append(starts, i)
		}
		if id, ok := transcript.ParseMessageID(m.ID); ok && id.Turn == turn && id.Kind == transcript.Opening {
			break
		}
	}
	return starts
}

// beginsTurn reports whether history[i] opens a turn: by its id, or, if it has none of a
// turn's, because it is a person's and comes after an answer.
func beginsTurn(history []transcript.Message, i int) bool {
	m := history[i]
	if m.Role != transcript.User {
		return false
	}
	if id, ok := transcript.ParseMessageID(m.ID); ok {
		return id.Kind == transcript.Opening
	}
	for _, before := range slices.Backward(history[:i]) {
		if before.Role != transcript.System {
			return before.Role == transcript.Assistant && len(before.Calls()) == 0
		}
	}
	return true
}
