package worker

import (
	"encoding/json"
	"time"

	"parley/gateway/signals"

	"parley/broker"
)

// tellEvery bounds how often a worker that has no slot free says so.
const tellEvery = 50 * time.Millisecond

// tellOthers says that mailboxes wait which this worker has no slot for, unless
// it has just said so.
func (w *Worker) tellOthers() {
	now, last := w.Now().UnixNano(), w.told.Load()
	if now >= last && now-last < int64(tellEvery) || !w.told.CompareAndSwap(last, now) {
		return
	}
	w.handedOver()
}

// handedOver says that mailboxes wait which nobody owns.
func (w *Worker) handedOver() { w.signal(signals.WorkTopic, signals.Work{From: w.Me.Nonce}) }

// hear takes what another worker says.
func (w *Worker) hear(s broker.Signal) {
	var m signals.Work
	if err := json.Unmarshal(s.Body, &m); err != nil {
		w.Logger.Warn("signal that cannot be read", "topic", s.Topic, "error", err)
		return
	}
	switch {
	case m.From == w.Me.Nonce:
	case m.Token != "":
		w.actors.more(m.Token, m.Seq)
	case !w.ending():
		w.owe()
		w.lookNow()
	}
}
