package worker

import (
	"container/list"
	"sync"
	"unsafe"

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
	mu        sync.Mutex
	bytes     int
	bySession map[sessionkeys.SessionID]*list.Element
	oldest    *list.List // of *kept, longest unused first
}

type cachedHistory struct {
	session sessionkeys.SessionID
	epoch   int64
	passage sessions.Passage
	bytes   int
}

func newHistoryCache() *historyCache {
	return &historyCache{bySession: map[sessionkeys.SessionID]*list.Element{}, oldest: list.New()}
}

// put remembers p, which belongs to the caller no more.
func (h *historyCache) put(id sessionkeys.SessionID, epoch int64, p sessions.Passage) {
	k := &cachedHistory{session: id, epoch: epoch, passage: p, bytes: p.First * int(unsafe.Sizeof(transcript.Message{}))}
	for _, m := range p.Messages[p.First:] {
		k.bytes += memorySize(m)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(h.bySession[id])
	if k.bytes > historiesMost/4 {
		return
	}
	h.bySession[id] = h.oldest.PushBack(k)
	h.bytes += k.bytes
	for h.bytes > historiesMost {
		h.drop(h.oldest.Front())
	}
}

// take gives back what is remembered of a session, once, and whether that is all of it for an
// owner under epoch.
func (h *historyCache) take(id sessionkeys.SessionID, epoch int64) (p sessions.Passage, isAll bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.bySession[id]
	if e == nil {
		return p, false
	}
	h.drop(e)
	k := e.Value.(*cachedHistory)
	return k.passage, epoch == k.epoch || epoch == k.epoch+1
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

// drop forgets e; the caller holds mu.
func (h *historyCache) drop(e *list.Element) {
	if e == nil {
		return
	}
	k := h.oldest.Remove(e).(*cachedHistory)
	delete(h.bySession, k.session)
	h.bytes -= k.bytes
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
