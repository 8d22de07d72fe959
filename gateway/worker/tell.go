package worker

import (
	"encoding/json"
	"time"

	"parley/gateway/signals"

	"parley/broker"
)

// tellEvery bounds how often a worker that has no slot free says so.
const tellEvery = 50 * time.Millisecond

// hintOthers announces that mailboxes wait which this worker has no slot for, unless
// it has just said so.
func (w *Worker) hintOthers() {
	now, last := w.Now().UnixNano(), w.hinted.Load()
	if now >= last && now-last < int64(tellEvery) || !w.hinted.CompareAndSwap(last, now) {
		return
	}
	w.signalWork()
}

// signalWork announces that mailboxes wait without an owner.
func (w *Worker) signalWork() { w.signal(signals.WorkTopic, signals.Work{From: w.Identity.Nonce}) }

// receiveWork takes what another worker says.
func (w *Worker) receiveWork(s broker.Signal) {
	var m signals.Work
	if err := json.Unmarshal(s.Body, &m); err != nil {
		w.Logger.Warn("unreadable signal dropped", "topic", s.Topic, "error", err)
		return
	}
	switch {
	case m.From == w.Identity.Nonce:
	case m.Token != "":
		w.actors.notifyMessage(m.Token, m.Seq)
	case !w.stopping():
		w.markBacklog()
		w.nudge.Send()
	}
}
