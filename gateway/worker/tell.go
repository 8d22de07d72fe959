package worker

import (
	"encoding/json"
	"time"

	"parley/broker"
)

// WorkTopic is the topic of what workers tell each other. Nothing depends on it
// arriving: each looks for work every second, and at its mailbox every two while
// it runs a turn.
const WorkTopic = "work"

// workSignal says that the mailbox Token has a message Seq, to whoever owns it;
// or, without a Token, that mailboxes wait that nobody owns.
type workSignal struct {
	From  string `json:"from"` // nonce of the worker
	Token string `json:"token,omitempty"`
	Seq   uint64 `json:"seq,omitempty"`
}

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
func (w *Worker) handedOver() { w.signal(WorkTopic, workSignal{From: w.Me.Nonce}) }

// hear takes what another worker says.
func (w *Worker) hear(s broker.Signal) {
	var m workSignal
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
