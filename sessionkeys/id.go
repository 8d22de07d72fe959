package sessionkeys

import (
	"crypto/rand"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"
)

// SessionID names one session: one transcript with its money. `/new` starts
// another session at the same key. The gateway creates it, no other package looks inside
// it, and it is unique for ever over all stores of one deployment.
type SessionID string

// NewSessionID returns the id of a root session that starts at t: a ULID, so ids
// sort by their start to the millisecond. A time before 1970 counts as 1970: an
// unset clock costs the order, not the session.
func NewSessionID(t time.Time) SessionID {
	ms := min(uint64(max(t.UnixMilli(), 0)), ulid.MaxTime())
	return SessionID(ulid.MustNew(ms, rand.Reader).String())
}

// ChildID returns the id of the child that a tool call of the parent's turn starts.
// It is a pure function of its arguments, so a replay after a crash finds the
// child that it already made.
func ChildID(parent SessionID, turn string, step int, toolCallID string) SessionID {
	return SessionID("c-" + hashToken("session-child-v1\x00"+joinSized(parent, turn, step, toolCallID)))
}

// NestedTurn returns the id of the turn that a tool call of another session's turn
// opens in a child: as ChildID a pure function, so that a replay finds the turn
// that it already opened.
func NestedTurn(child SessionID, turn string, step int, toolCallID string) string {
	return "t-" + hashToken("nested-turn-v1\x00"+joinSized(child, turn, step, toolCallID))
}

// FileID returns the id of the answer by which a tool call of the session's turn sends a
// file: as ChildID a pure function, so that a call that runs again sends nothing
// twice.
func FileID(id SessionID, turn string, step int, toolCallID string) string {
	return "f-" + hashToken("sent-file-v1\x00"+joinSized(id, turn, step, toolCallID))
}

// FileObject returns the name under which an owner of the mailbox, by its fence, keeps
// the content of that file. No other owner writes it, however late.
func FileObject(file string, epoch int64, nonce string) string {
	b := appendSized(nil, file)
	b = appendSized(b, strconv.FormatInt(epoch, 10))
	return "out-" + hashToken("sent-object-v1\x00"+string(appendSized(b, nonce)))
}

func joinSized(id SessionID, turn string, step int, toolCallID string) string {
	var b []byte
	for _, s := range []string{string(id), turn, strconv.Itoa(step), toolCallID} {
		b = appendSized(b, s)
	}
	return string(b)
}

// MailboxToken returns the token of a child's own mailbox: siblings share a key, so
// it comes from the id.
func (id SessionID) MailboxToken() string { return hashToken("session-id-v1\x00" + string(id)) }

// appendSized keeps "3"+"131" and "31"+"31" apart.
func appendSized(b []byte, s string) []byte {
	n := len(s)
	b = append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	return append(b, s...)
}
