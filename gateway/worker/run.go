package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/agent"
	"parley/broker"
	"parley/gateway/signals"
	"parley/sessions"
)

// Run works until ctx ends. Then it takes nothing new, lets running turns end
// within the grace period, hands over the rest, and returns nil. It returns an
// error when the log or the store cannot be used at all, or when another
// process of the same name has taken this one's place.
func (w *Worker) Run(ctx context.Context) error {
	beat := func(ctx context.Context) error {
		sent := time.Now()
		now, err := w.Store.Clock(ctx)
		if err != nil {
			return fmt.Errorf("ask the store for its time: %w", err)
		}
		w.leases.set(now)
		if err := w.Store.Heartbeat(ctx, w.Identity, now.Add(w.Config.Lease)); err != nil {
			return err
		}
		if w.leases.extend(sent.Add(w.Config.Lease)) {
			// Nothing was to be had before: not what others left, nor what a killed process of
			// this name was at.
			w.markBacklog()
			w.nudge.Send()
		}
		return nil
	}
	if err := beat(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("register the worker: %w", err)
	}
	life, die := context.WithCancel(context.WithoutCancel(ctx))
	defer die()
	work, stopWork := context.WithCancelCause(life)
	defer stopWork(nil)
	w.actors.base = work
	titling, stopTitling := context.WithCancelCause(life)
	defer stopTitling(nil)
	w.titles.ctx = titling

	g, gctx := errgroup.WithContext(ctx)
	// What turns need until the last has ended.
	var pulse sync.WaitGroup
	dead := make(chan error, 4)
	pulse.Go(func() { dead <- w.keepLease(life, beat) })
	pulse.Go(func() {
		// It takes mailboxes, and the end of what takes them is waited for: not with life.
		dead <- w.Log.Signals(life, signals.ControlTopic, func(s broker.Signal) { w.receiveControl(gctx, s) })
	})
	pulse.Go(func() { dead <- w.Log.Signals(life, signals.WorkTopic, w.receiveWork) })
	if w.others != nil {
		pulse.Go(func() { dead <- w.others.Run(life) })
	}
	g.Go(func() error {
		select {
		case err := <-dead:
			return err
		case <-gctx.Done():
			return nil
		}
	})
	g.Go(func() error { return w.Log.Consume(gctx, w.receive) })
	g.Go(func() error { w.runScans(gctx); return nil })
	err := g.Wait()

	close(w.closing)
	if !w.actors.awaitIdle(life, w.Config.Grace) {
		stopWork(agent.ErrHandover)
	}
	w.actors.wait()
	stopTitling(agent.ErrHandover)
	w.titles.running.Wait()
	leave, cancel := context.WithTimeout(life, lastMoment)
	defer cancel()
	w.stopTaking(leave)
	w.actors.wait()
	w.handOverUnstarted(leave)
	if lerr := w.Store.Leave(leave, w.Identity); lerr != nil {
		w.Logger.Warn("worker deregistration failed", "error", lerr)
	}
	w.signalWork() // what could not be given up
	die()
	pulse.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// handOverUnstarted hands over what this worker took at the last moment and no actor
// began with, because the answer came too late: it is no attempt.
func (w *Worker) handOverUnstarted(ctx context.Context) {
	held, err := w.Store.Held(ctx, w.Identity)
	for _, m := range held {
		if herr := w.Store.Handover(ctx, m.Fence()); herr != nil && !errors.Is(herr, sessions.ErrFenced) {
			err = errors.Join(err, herr)
		}
	}
	if err != nil {
		w.Logger.Warn("mailbox handover failed at shutdown", "error", err)
	}
}

// keepLease says every fifth of the lease that this worker lives. A worker
// that could not say so for two thirds of it must assume that others take its
// mailboxes over, and stops its turns by itself. It returns an error when this
// worker is dead for ever.
func (w *Worker) keepLease(ctx context.Context, beat func(context.Context) error) error {
	tick := time.NewTicker(w.Config.Lease / 5)
	defer tick.Stop()
	last := time.Now() // with its monotonic reading: no jump of a clock is in it
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		bctx, cancel := context.WithTimeout(ctx, w.Config.Lease/2)
		err := beat(bctx)
		cancel()
		switch {
		case err == nil:
			last = time.Now()
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, sessions.ErrFenced):
			w.actors.cancelAll(agent.ErrHandover)
			return fmt.Errorf("keep the lease: another worker has the name %s: %w", w.Identity.Name, err)
		default:
			w.Logger.Error("heartbeat failed", "error", err)
			if time.Since(last) > w.Config.Lease*2/3 {
				w.actors.cancelAll(agent.ErrHandover)
			}
		}
	}
}
