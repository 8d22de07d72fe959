package costs

// ToolProvider is the provider in the labels of a call of a tool; the model is the tool's
// name.
const ToolProvider = "tools"

// ToolUse is what a call of a tool is counted in. It stands in Usage.ServerTools and
// Price.ServerTools.
const ToolUse = "call"

// MaxToolCalls is how many calls of one answer may have a price, because no more are run.
const MaxToolCalls = 32

// ToolPrice returns the price of a tool whose calls cost a each.
func ToolPrice(tool string, a Amount) *Price {
	return &Price{Provider: ToolProvider, Model: tool, ServerTools: map[string]Amount{ToolUse: a}, Source: "the configuration"}
}

// ToolAttempt returns CallID.Attempt of try number n, from 1, of the call at that place of its
// answer, from 0. All tries of all calls of one answer have numbers of their own.
func ToolAttempt(index, n int) int { return (n-1)*MaxToolCalls + index + 1 }

// ToolIndex returns the place in its answer of the call of a tool that c is a try of.
func (c CallID) ToolIndex() int { return (c.Attempt - 1) % MaxToolCalls }
