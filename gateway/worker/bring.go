package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"parley/agent"
	"parley/channels"
	"parley/gateway/attachments"
)

// Attachments brings what came with messages to where the model reads it.
type Attachments interface {
	// Import returns what became of each file, and an error only when ctx ended.
	Import(ctx context.Context, r attachments.Request) ([][]attachments.Result, error)
}

// importFiles brings the files of q, which is to be the message id, before anything of it
// is committed: the worker that takes q up after a crash brings them again, to the same
// names. It gives its slot back meanwhile. It is ended by ctx, by the end of the
// process, and with errPoked: by poked, or by a request that no signal told of.
func (a *queue) importFiles(ctx context.Context, q *question, id string, poked <-chan struct{}) error {
	wanted := q.attachedFiles()
	q.files = attachments.UnreadableResults(wanted)
	if a.settings.Attachments == nil || !hasAnyFile(wanted) {
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
		look := time.NewTicker(controlEvery)
		defer look.Stop()
		for {
			select {
			case <-poked:
				cancel(errPoked)
			case <-look.C:
				if poked == nil || !a.pollStore(working) { // a turn that runs looks for itself
					continue
				}
				cancel(errPoked)
			case <-a.w.closing:
				cancel(agent.ErrHandover)
			case <-ended:
			}
			return
		}
	})
	a.slot.Release() // others need not wait for what has not come
	got, err := a.settings.Attachments.Import(working, attachments.Request{ID: id, Person: qualifiedSender(q.lead), Workspace: workspace, Files: wanted})
	a.slot.Reacquire(ctx)
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

// qualifiedSender names the sender of m among those of all networks.
func qualifiedSender(m channels.Message) string {
	return m.Address.Channel + "/" + m.Address.Account + "/" + m.Sender.ID
}

// pollStore finds in the store what no signal may have told before a turn runs: a
// control request, and that another worker has the mailbox.
func (a *queue) pollStore(ctx context.Context) bool {
	if !a.awaitDurable(ctx) {
		return false
	}
	m, err := a.w.Store.Mailbox(ctx, a.token)
	if err != nil {
		if ctx.Err() == nil {
			a.w.Logger.Warn("mailbox lookup failed before a turn", "session", a.m.Session, "error", err)
		}
		return false
	}
	return m.Controls > 0 || m.Fence() != a.m.Fence()
}

func hasAnyFile(files [][]attachments.File) bool {
	for _, fs := range files {
		if len(fs) > 0 {
			return true
		}
	}
	return false
}
