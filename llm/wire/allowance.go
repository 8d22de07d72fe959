package wire

import "fmt"

// What one answer may hold, whoever wrote it.
const (
	maxKept = 8 << 20 // bytes that stay in memory until its end, and in the history

	// keptFrame is about what the frame of a block, an item or a call takes.
	keptFrame = 512

	// Providers promise no more output than was asked for, and a call is reserved for
	// that. Text, thinking and arguments have about four bytes for a token, and hardly
	// ever eight on average; outputSpare is for short answers. What goes on beyond is
	// not paid for twice over.
	bytesPerToken = 8
	outputSpare   = 4 << 10
)

// Allowance counts what an answer brings, and says when it is too much. The zero
// Allowance has no limit of output. It is not safe for concurrent use.
type Allowance struct {
	tokens       int // asked for; 0: any
	kept, output int // bytes
}

// NewAllowance returns the allowance of an answer for which so many tokens were asked;
// 0 means any number.
func NewAllowance(maxTokens int) Allowance { return Allowance{tokens: max(maxTokens, 0)} }

// CountFrame counts a block, an item or a call, with n bytes that are kept.
func (a *Allowance) CountFrame(n int) { a.kept += keptFrame + n }

// CountKept counts n bytes that are kept and are not paid for by themselves.
func (a *Allowance) CountKept(n int) { a.kept += n }

// CountOutput counts n bytes of text, thinking or arguments, which are kept too.
func (a *Allowance) CountOutput(n int) { a.kept, a.output = a.kept+n, a.output+n }

// Received returns the bytes of text, thinking and arguments.
func (a *Allowance) Received() int { return a.output }

// Err returns an error that is ErrMalformed when the answer holds too much.
func (a *Allowance) Err() error {
	if a.kept > maxKept {
		return fmt.Errorf("%w: answer longer than %d bytes", ErrMalformed, maxKept)
	}
	if limit := bytesPerToken*a.tokens + outputSpare; a.tokens > 0 && a.output > limit {
		return fmt.Errorf("%w: the answer goes on beyond the %d tokens that were asked for: %d bytes came", ErrMalformed, a.tokens, a.output)
	}
	return nil
}
