package transcript

// RequestRecord is what one attempt of a model call asks, as it is kept: not the
// request itself, but what it can be made of again, exactly, from the history
// that is kept anyway. Package llm makes frames and digests.
type RequestRecord struct {
	// Template names what the request says besides its messages: system message,
	// tools, options. It is made of that alone, so the same frame has the same
	// name, whoever asks.
	Template string
	// Body gives the frame itself. It is asked for only where no frame of this
	// name is kept yet, once, and never after the call that it was given to.
	Body func() ([]byte, error)

	Upto      int       // messages 1 to Upto of the session's history were sent
	Tail      []Message // behind them, messages that no history has
	MaxTokens int       // most output tokens
	Digest    string    // of frame and messages together, as they were sent
}
