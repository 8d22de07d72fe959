package sessions

import "context"

// Ahead is what a store has read before it is asked for; see [Records].ReadAhead. The zero value
// is nothing.
type Ahead struct{ rows any }

type aheadKey struct{}

// NewAhead is what a driver returns of rows that it has read. Only the driver itself looks into them.
func NewAhead(rows any) Ahead { return Ahead{rows} }

// In returns a context with which the store answers from what it has read.
func (a Ahead) In(ctx context.Context) context.Context {
	if a.rows == nil {
		return ctx
	}
	return context.WithValue(ctx, aheadKey{}, a.rows)
}

// AheadIn returns the rows of [NewAhead] that a context brings; nil: none.
func AheadIn(ctx context.Context) any { return ctx.Value(aheadKey{}) }
