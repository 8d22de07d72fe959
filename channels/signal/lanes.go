package signal

import (
	"sync/atomic"

	"parley/channels/internal/receive"
	"parley/wake"
)

// How much of the journal is under way at once. More is read when some was taken.
const (
	maxLines = 256
	maxBytes = 4 << 20 // but for a single longer line
)

// lanes is what was read of the journal and is not known to be taken. Each chat's
// lines are offered in their order, one after another, and the chats side by side:
// who has to wait, for a look-up or a file, holds up only what is said behind them
// in the same chat. The position follows the first line that is not taken; what was
// taken behind that comes again under its id when the process dies.
//
// One goroutine calls its methods.
type lanes struct {
	queue    *receive.Queue[event]
	order    []*pendingLine // by their place in the journal
	bytes    int64
	progress wake.Signal // something was taken; holds one
}

// pendingLine is a line on its way.
type pendingLine struct {
	line  journalLine
	taken atomic.Bool
}

func newLanes(q *receive.Queue[event]) *lanes {
	return &lanes{queue: q, progress: wake.New()}
}

// hasRoom reports whether more may be read.
func (l *lanes) hasRoom() bool { return len(l.order) < maxLines && l.bytes < maxBytes }

// add sends a line on its way. What it says is offered until it is taken or the
// queue ends.
func (l *lanes) add(line journalLine, e event) {
	f := &pendingLine{line: line}
	l.order = append(l.order, f)
	l.bytes += int64(len(line.text))
	if e.skipReason != "" {
		f.taken.Store(true)
		return
	}
	l.queue.Push(e.message.Address.Peer, e, func(taken bool) {
		if !taken {
			return // the queue has ended
		}
		f.taken.Store(true)
		l.progress.Send()
	})
}

// takeFinished returns the last line up to which all are taken; false: not even the first
// is.
func (l *lanes) takeFinished() (journalLine, bool) {
	n := 0
	for n < len(l.order) && l.order[n].taken.Load() {
		l.bytes -= int64(len(l.order[n].line.text))
		n++
	}
	if n == 0 {
		return journalLine{}, false
	}
	last := l.order[n-1].line
	l.order = l.order[n:]
	return last, true
}
