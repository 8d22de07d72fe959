package llm

import (
	"context"

	"parley/costs"
)

// Transcriber makes words of speech: one model of one provider. Many goroutines may
// ask at once.
type Transcriber interface {
	// Provider and Name are as those of a [Model], and find the price.
	Provider() string
	Name() string

	// Transcribe makes exactly one request. Its error is an *Error, with Sent when
	// the whole request had left: the provider may bill it, whatever became of the
	// answer. When ctx ends the error has kind Canceled.
	Transcribe(ctx context.Context, s Speech) (Transcript, error)
}

// Speech is a file in which somebody speaks. Providers tell by the ending of Name what
// it is, before they look into it.
type Speech struct {
	ID   string // the caller's own, which no provider sees
	Name string
	Data []byte
}

// Transcript is what is said in a file; Words is "" when nothing is. Usage has what the
// provider reported: AudioSecond or AudioToken, and tokens of text; its Source is
// Estimated when it reported nothing.
type Transcript struct {
	Text      string
	Usage     costs.Usage
	RequestID string
}
