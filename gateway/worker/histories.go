package worker

import (
	"unsafe"

	"parley/recent"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// historiesMost bounds the histories that are kept, in bytes of what people,
// models and tools said.
const historiesMost = 32 << 20

// historyCache remembers the history of sessions that this worker has just worked
// on, so that the next turn need not read it from the store. While no other worker owned
// the mailbox it is all of it: each acquisition raises the epoch by one, so it is good under
// the epoch it was kept under and under the next. Later it is what the history begins with.
type historyCache struct {
	kept *recent.Cache[sessionkeys.SessionID, cachedHistory]
}

type cachedHistory struct {
	epoch   int64
	passage sessions.Passage
}

func newHistoryCache() historyCache {
	return historyCache{recent.New[sessionkeys.SessionID, cachedHistory](historiesMost, historiesMost/4)}
}

// put remembers p, which belongs to the caller no more.
func (h historyCache) put(id sessionkeys.SessionID, epoch int64, p sessions.Passage) {
	bytes := p.First * int(unsafe.Sizeof(transcript.Message{}))
	for _, m := range p.Messages[p.First:] {
		bytes += memorySize(m)
	}
	h.kept.Put(id, cachedHistory{epoch, p}, bytes)
}

// take gives back what is remembered of a session, once, and whether that is all of it for an
// owner under epoch.
func (h historyCache) take(id sessionkeys.SessionID, epoch int64) (p sessions.Passage, isAll bool) {
	k, ok := h.kept.Take(id)
	return k.passage, ok && (epoch == k.epoch || epoch == k.epoch+1)
}

// recall gives the journal what this worker remembers of the session. first is the message that
// opens the turn, and follows that.
func (j *journal) recall(first transcript.Message) {
	before, isAll := j.a.w.histories.take(j.t.Session, j.Fence.Epoch)
	if isAll && j.t.Attempts <= 1 {
		before.Messages = append(before.Messages, first)
		j.SetHistory(before)
		return
	}
	j.SetEarlier(before)
}

// memorySize returns about what m takes in memory.
func memorySize(m transcript.Message) int {
	n := 256
	for _, p := range m.Parts {
		n += 64
		switch p := p.(type) {
		case transcript.Text:
			n += len(p.Text)
		case transcript.Reasoning:
			n += len(p.Thinking)
		case transcript.ToolCall:
			n += len(p.Input)
		case transcript.ToolResult:
			n += len(p.Content) + len(p.Metadata)
		case transcript.Binary:
			n += len(p.Data)
		case transcript.Overlay:
			n += len(p.Summary)
		case transcript.Unknown:
			n += len(p.Data)
		}
	}
	if m.Native != nil {
		for _, b := range m.Native.Blocks {
			n += len(b)
		}
	}
	return n
}
