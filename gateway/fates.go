package gateway

import (
	"context"
	"time"

	"parley/gateway/budgets"
	"parley/gateway/fates"
	"parley/gateway/worker"
)

// fateSource returns from what it is read what became of a message.
func fateSource(opened resources, passed *fates.Book, now func() time.Time) *fates.Source {
	return &fates.Source{
		Store: opened.store, Log: opened.log, Book: passed, TurnID: worker.TurnID, TurnScope: budgets.TurnScope, Now: now,
		Generation: func(ctx context.Context) (string, error) {
			name, _, err := opened.log.Generation(ctx)
			return name, err // it names the log
		},
	}
}
