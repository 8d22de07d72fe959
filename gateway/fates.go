package gateway

import (
	"context"

	"parley/gateway/budgets"
	"parley/gateway/fates"
	"parley/gateway/worker"
)

// newBook returns what remembers the messages of which no turn is made.
func (g *Gateway) newBook(opened resources) *fates.Book {
	return &fates.Book{Store: opened.store, Process: g.identity().Name, Log: g.o.Logger, Now: g.o.Now}
}

// fateSource returns from what it is read what became of a message.
func (g *Gateway) fateSource(opened resources) *fates.Source {
	return &fates.Source{
		Store: opened.store, Log: opened.log, Book: g.passed, TurnID: worker.TurnID, TurnScope: budgets.TurnScope, Now: g.o.Now,
		Generation: func(ctx context.Context) (string, error) {
			name, _, err := opened.log.Generation(ctx)
			return name, err //nolint:wrapcheck // it names the log
		},
	}
}
