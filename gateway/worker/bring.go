package worker

import (
	"context"
	"fmt"
	"sync"

	"parley/agent"
	"parley/gateway/attachments"
)

// Attachments brings what came with messages to where the model reads it.
type Attachments interface {
	// Bring returns a line for each file, and an error only when ctx ended.
	Bring(ctx context.Context, r attachments.Request) ([][]string, error)
}

// bring brings the files of q, which is to be the message id, before anything of it
// is committed: whoever takes q up after a crash brings them again, to the same
// names. It gives its slot back meanwhile. It is ended by ctx, by the end of the
// process, and by poked, with errPoked.
func (a *actor) bring(ctx context.Context, q *question, id string, poked <-chan struct{}) error {
	wanted := q.attached()
	q.files = attachments.Unreadable(wanted)
	if a.w.Attachments == nil || !some(wanted) {
		return nil
	}
	workspace, err := a.w.Workspace(a.m.Session)
	if err != nil {
		return fmt.Errorf("make the workspace: %w", err)
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-poked:
			cancel(errPoked)
		case <-a.w.closing:
			cancel(agent.ErrHandover)
		case <-ended:
		}
	})
	a.seat.Leave() // others need not wait for what has not come
	got, err := a.w.Attachments.Bring(working, attachments.Request{ID: id, Agent: a.m.Key.Agent(), Workspace: workspace, Files: wanted})
	a.seat.Return(ctx)
	close(ended)
	watch.Wait()
	switch {
	case ctx.Err() != nil:
		return agent.ErrHandover
	case working.Err() != nil:
		return context.Cause(working)
	case err != nil:
		return fmt.Errorf("bring what came with a message: %w", err)
	}
	q.files = got
	return nil
}

func some(files [][]attachments.File) bool {
	for _, fs := range files {
		if len(fs) > 0 {
			return true
		}
	}
	return false
}
