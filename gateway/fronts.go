package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/broker"
	"parley/channels"
	"parley/gateway/attachments"
	"parley/gateway/delivery"
	"parley/sessions"
)

// yieldEvery is how often a process that takes nothing any more looks whether
// another waits for a channel.
const yieldEvery = 500 * time.Millisecond

// channelRunners are the channels of this process. Each is received for and sent to by
// one process at a time, which holds the lease of the bot account; what a network
// brings to a webhook is taken by every process, since it is unknown which of them
// it comes to.
type channelRunners struct {
	*accounts
	log    *broker.Broker
	store  sessions.Records
	out    *delivery.Delivery
	files  *attachments.Server
	accept channels.Accept
	broken chan error // one for each channel that cannot go on
}

func newChannelRunners(as *accounts, b *broker.Broker, store sessions.Records, out *delivery.Delivery, accept channels.Accept) *channelRunners {
	files := &attachments.Server{Log: b, MaxBytes: as.cfg.Attachments.MaxBytes, Logger: as.o.Logger}
	return &channelRunners{accounts: as, log: b, store: store, out: out, files: files, accept: accept, broken: make(chan error, len(as.chans))}
}

// awaitAllBroken returns an error when no channel is left that can go on, and nil when
// ctx ends.
func (f *channelRunners) awaitAllBroken(ctx context.Context) error {
	var errs []error
	for range f.chans {
		select {
		case err := <-f.broken:
			errs = append(errs, err)
		case <-ctx.Done():
			return nil
		}
	}
	return fmt.Errorf("no channel is left: %w", errors.Join(errs...))
}

// run receives until taking ends, and sends until sending does.
func (f *channelRunners) run(taking, sending context.Context) error {
	var group errgroup.Group
	for _, c := range f.chans {
		group.Go(func() error { return f.runChannel(taking, sending, c) })
	}
	return group.Wait()
}

// runChannel runs one channel, each time it is this process's turn.
func (f *channelRunners) runChannel(taking, sending context.Context, c channels.Channel) error {
	var once sync.Once
	broke := func(err error) { once.Do(func() { f.broken <- err }) }
	var hooked sync.WaitGroup
	defer hooked.Wait()
	if usesWebhook(c) {
		hooked.Go(func() { f.receive(taking, c, broke) })
	}
	// Who does not have the lease when the process is to end needs it no more.
	waiting, giveUp := context.WithCancel(sending)
	defer giveUp()
	var mine atomic.Bool
	defer context.AfterFunc(taking, func() {
		if !mine.Load() {
			giveUp()
		}
	})()
	f.setElsewhere(c, true)
	err := f.runAsLeader(waiting, f.log, f.leases[c.Name()], func(held context.Context) error {
		mine.Store(true)
		f.setElsewhere(c, false)
		defer f.setElsewhere(c, true)
		defer func() {
			if mine.Store(false); taking.Err() != nil {
				giveUp()
			}
		}()
		if taking.Err() == nil {
			f.runOwned(taking, held, c, broke)
		}
		return nil
	})
	if err != nil && waiting.Err() == nil {
		return err
	}
	return nil
}

// setElsewhere notes that another process has the channel.
func (f *channelRunners) setElsewhere(c channels.Channel, is bool) {
	if f.cfg.Broker.URL != "" {
		f.status.SetElsewhere(c.Name(), is)
	}
}

// runOwned receives and sends while the channel is this process's. It returns when
// held ends; or when the process takes nothing any more and another waits to.
func (f *channelRunners) runOwned(taking, held context.Context, c channels.Channel, broke func(error)) {
	if err := f.restoreWaits(held, c); err != nil && held.Err() == nil {
		f.o.Logger.Warn("stored rate limits not restored", "channel", c.Name(), "error", err)
	}
	receiving, stopReceiving := context.WithCancel(held)
	defer context.AfterFunc(taking, stopReceiving)()
	sending, stopSending := context.WithCancelCause(held)
	if r, ok := c.(channels.Runner); ok { // as long as anything is received or sent
		running, stopRunning := context.WithCancel(context.WithoutCancel(held))
		var run sync.WaitGroup
		run.Go(func() { r.Run(running) })
		defer run.Wait()
		defer stopRunning()
	}
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := f.out.Send(sending, c.Name()); err != nil {
			f.o.Logger.Error("sending stopped", "channel", c.Name(), "error", err)
		}
	})
	parts.Go(func() { f.files.Serve(sending, c) })
	if !usesWebhook(c) {
		parts.Go(func() { f.receive(receiving, c, broke) })
	}
	f.holdUntilWanted(taking, held, c)
	stopReceiving()
	stopSending(broker.ErrLeaseLost) // unless held has ended: it was given away
	parts.Wait()
}

// holdUntilWanted waits for the end of what own does.
func (f *channelRunners) holdUntilWanted(taking, held context.Context, c channels.Channel) {
	select {
	case <-held.Done():
		return
	case <-taking.Done():
	}
	if f.cfg.Broker.URL == "" {
		<-held.Done()
		return
	}
	tick := time.NewTicker(yieldEvery)
	defer tick.Stop()
	for {
		wanted, err := f.log.IsWanted(held, f.leases[c.Name()])
		switch {
		case held.Err() != nil:
			return
		case err != nil:
			f.o.Logger.Warn("channel lease query failed", "channel", c.Name(), "error", err)
		case wanted:
			return
		}
		select {
		case <-tick.C:
		case <-held.Done():
			return
		}
	}
}

// receive runs until ctx ends. A channel whose account cannot go on is logged,
// and the others go on.
func (f *channelRunners) receive(ctx context.Context, c channels.Channel, broke func(error)) {
	err := c.Receive(ctx, f.accept)
	if ctx.Err() != nil {
		return
	}
	f.o.Logger.Error("channel stopped", "channel", c.Name(), "error", err)
	broke(fmt.Errorf("%s: %w", c.Name(), err))
}

// usesWebhook reports whether the network brings what is said to a webhook.
func usesWebhook(c channels.Channel) bool {
	h, ok := c.(channels.WebhookReceiver)
	if !ok {
		return false
	}
	path, _ := h.Hook()
	return path != ""
}
