package agent

import (
	"context"
	"slices"
	"strings"

	"parley/transcript"
)

// unfinished returns what closes the history of a turn that ends without an answer: the
// words that its last call had given, or nothing but the reason, where calls of tools
// stand without an answer behind them. Calls of a half answer are not kept. (requirements
// D05, L07, T05; docs/decisions/0062)
func (r *take) unfinished(a *attempt, why transcript.FinishReason) []transcript.Message {
	end := transcript.Finish{Reason: why, Time: r.Now()}
	var ms []transcript.Message
	switch words := a.shownWords(); {
	case words != "":
		ms = append(ms, r.storedAnswer(transcript.Message{Parts: []transcript.Part{transcript.Text{Text: words}, end}}))
	case r.acted:
		ms = append(ms, transcript.Message{
			ID:   transcript.MessageID{Turn: r.turn.ID, Kind: transcript.Closing}.String(),
			Role: transcript.Assistant, CreatedAt: r.Now(), Parts: []transcript.Part{end},
		})
	}
	return ms
}

// finishUnanswered ends the turn without an answer, after rest and what the call a had
// given.
func (r *take) finishUnanswered(ctx context.Context, a *attempt, o Outcome, why transcript.FinishReason, rest []finishedCall) (*Outcome, error) {
	ms := append(callMessages(rest), r.unfinished(a, why)...)
	if a != nil && len(ms) > 0 {
		r.advance()
	}
	return r.finish(ctx, a, o, ms, callEvents(rest)...)
}

// shownWords returns the words that a person was shown of the answer.
func (a *attempt) shownWords() string {
	if a == nil {
		return ""
	}
	return strings.TrimSpace(a.words)
}

// appendReason returns the words of an answer that was not finished with why behind them;
// why alone where there are none.
func appendReason(words, why string) string {
	if words == "" {
		return why
	}
	return appendNote(words, "("+why+")")
}

// hasAnswer reports whether the history holds an answer of the turn.
func hasAnswer(history []transcript.Message, turn string) bool {
	_, ok := lastAnswer(history, turn)
	return ok
}

// lastAnswer returns the last answer in the history if it is one of the turn.
func lastAnswer(history []transcript.Message, turn string) (transcript.Message, bool) {
	for _, m := range slices.Backward(history) {
		if m.Role == transcript.Assistant {
			_, own := stepOf(turn, m.ID)
			return m, own
		}
	}
	return transcript.Message{}, false
}
