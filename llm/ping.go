package llm

import (
	"context"
	"time"
)

// Pinger is a Model whose provider can be asked about it without a call of the model, which costs
// nothing.
type Pinger interface {
	// Ping asks whether the provider takes the key and has the model. Its error is an *Error: Auth
	// when the key is refused, InvalidRequest with the status 404 when there is no such model, or
	// when the server does not say which models it has.
	Ping(ctx context.Context) (Pong, error)
}

// Pong is what a provider said of itself and of a model.
type Pong struct {
	// Listed: it says which models it has, and has this one.
	Listed bool
	// Clock is its time, to the second; zero: it did not say. Took is how long the answer took.
	Clock time.Time
	Took  time.Duration
}
