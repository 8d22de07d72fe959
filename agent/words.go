package agent

import (
	"strings"

	"parley/llm"
)

// What a tool result says to the model when the loop speaks for the tool.
const (
	resultCanceled    = "Tool execution canceled by user"
	resultSkipped     = "skipped: task already complete"
	resultInterrupted = "Error: interrupted, outcome unknown"
	resultSuperseded  = "Not run: a new message came first. Ask again if it is still needed."
	resultBehind      = "Not run: a call before it waits for a person's permission. Ask again if it is still needed."
	resultUnpaid      = "Error: not run: the budget does not allow it: %s. Go on without it, or say what is missing."
	resultUnpaidAsked = "Error: not run: the budget does not allow it: %s. " + askedForBudget
	resultCut         = "Error: the answer reached the output limit inside this call; it was not run"
	resultPanic       = "Error: the tool crashed"
	resultEmpty       = "(no output)"
	resultMissing     = "Error: no result was recorded for this call" // pairs that history lost
)

// WaitsForBudget reports whether a result says that its call waits for a higher budget.
func WaitsForBudget(result string) bool { return strings.HasSuffix(result, askedForBudget) }

const askedForBudget = "Somebody was asked for a higher budget; if they permit it, you can make the call again."

// Texts for people. Nothing here names keys, hosts or models.
const (
	textMaxSteps     = "Stopped: maximum iteration limit reached."
	textEmpty        = "I have nothing to add."
	textTimeout      = "This took too long, so I stopped."
	textDenied       = "I stopped, because permission was denied."
	textAsk          = "I need your permission for %s before I go on."
	textRefusal      = "I cannot help with that."
	textContextLimit = "This conversation has become too long for me. Start a new one, or have it summarised."
	textInternal     = "Something went wrong on my side."
	textRefused      = "I cannot answer: %s."
	textBudget       = "I had to stop: %s."
	textPrice        = "I stopped here: this message has cost %s so far, and I stop at %s. Write again to go on."
	textTokens       = "I stopped here: my work on this message has taken %s tokens, and I stop at %s. Write again to go on."
	textDone         = "Done."
	textUnavailable  = "No model answers at the moment. Please try again in a minute."

	textCompacted    = "I have summarised what was said before: the conversation takes about %s of %s tokens now, and took %s before. I go on from the summary; everything is still stored. “compact undo” takes it back."
	textUncompacted  = "The summary is taken back: I read the conversation as it was before it again."
	textNoUndo       = "There is no summary to take back."
	textNoCompaction = "There is nothing to summarise yet."
	textNotCompacted = "I could not summarise the conversation (%s). It stays as it is."
	textCannot       = "Conversations are not summarised here."

	noteMaxTokens    = "(The answer was cut at the length limit.)"
	noteContextLimit = "(The answer was cut: this conversation has become too long.)"

	problemMaxSteps = "Maximum iteration limit reached"
)

// instructionWrapUp asks for the answer when the steps of a turn are used up.
const instructionWrapUp = "You have used all the steps you have for this request. " +
	"Do not call any more tools. Answer now with what you know, and say what is left undone."

// instructionBudget asks for the answer when the money of a turn is used up.
const instructionBudget = "The budget of this request is used up. " +
	"Do not call any more tools. Answer now, briefly, with what you know, and say what is left undone."

// instructionHidden tells a model that it sees no pictures after its provider refused some.
const instructionHidden = "The pictures of this conversation cannot be shown to you: one of them was not accepted. " +
	"If the answer depends on a picture, say that you cannot see it."

// failureText returns what a person reads when the model could not be reached or
// did not answer.
func failureText(k llm.Kind) string {
	switch k {
	case llm.RateLimited, llm.Overloaded:
		return "The model is too busy at the moment. Please try again later."
	case llm.Timeout, llm.Network, llm.Server:
		return "I could not reach the model. Please try again later."
	case llm.Auth, llm.Quota:
		return "The model cannot be used at the moment. Please tell the operator."
	case llm.ContextLength:
		return textContextLimit
	case llm.InvalidRequest:
		return "The model did not accept the request. Please tell the operator."
	case llm.ContentFilter:
		return "The provider's content filter stopped the answer."
	case llm.Malformed, llm.Empty:
		return "The model gave no usable answer. Please try again."
	default:
		return textInternal
	}
}
