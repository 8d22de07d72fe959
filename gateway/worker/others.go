package worker

import (
	"parley/gateway/presence"
	"parley/sessions"
)

// watchOthers makes what notices that the process of another worker has ended.
func (w *Worker) watchOthers() (err error) {
	w.others, err = presence.New(presence.Options{
		Self: w.Identity, Signs: w.Signs, Signals: w.Log, Leases: w.Store,
		Now: w.leases.now, Lease: w.Config.Lease,
		Begun: w.actors.begun, Working: w.actors.isBusy, Ended: w.takeOver, Logger: w.Logger,
	})
	return err
}

// takeOver goes on with what a worker left whose process has ended.
func (w *Worker) takeOver(dead sessions.Worker, owed int) {
	w.Logger.Warn("worker process ended, its conversations are taken over", "worker", dead.Name, "conversations", owed)
	w.Observer.WorkerEnded(owed)
	if owed == 0 {
		return
	}
	w.markBacklog()
	w.nudge.Send()
	w.hintOthers() // they have slots, too
}
