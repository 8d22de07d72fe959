package transcript

import (
	"strconv"
	"strings"
)

// MessageID names a message of a turn. It is a pure function of what the message is,
// so that a commit whose answer was lost may be repeated. As text it is
//
//	<turn>-user                      the message that opened the turn
//	<turn>-user-<seq>                one that joined it, by its place in the mailbox
//	<turn>#<step>                    the answer of a model call; of step 0: a call that an earlier turn had to wait with
//	<turn>#<step>.<index>            the result of one of the answer's calls
//	<turn>#voice.<index>[.<reason>]  what a voice note became: its words, or why it has none
//	<turn>#overlay.<index>           what changed what later requests hold
//	<turn>#end                       what closes a turn that has no answer of a model
//
// where a turn is any text that is not empty, numbers have no sign and no leading
// zeros, and a reason is letters a to z and "_". Every id has one meaning, whatever the
// turn's own id holds. The texts are stored: they never change.
type MessageID struct {
	Turn   string
	Kind   MessageKind
	Seq    uint64 // Joining: from 1
	Step   int    // Answer, Result: of the model call, from 1; 0: see above
	Index  int    // Result: of the call among those of the answer, from 0; Voice, OverlayNote: of the note or overlay in its turn, from 1
	Reason string // Voice: why the note has no words; empty: it has
}

// MessageKind describes what a message is to its turn.
type MessageKind string

// The kinds of messages.
const (
	Opening MessageKind = "opening"
	Joining MessageKind = "joining"
	Answer  MessageKind = "answer"
	Result  MessageKind = "result"
	Voice   MessageKind = "voice"
	Closing MessageKind = "closing"

	OverlayNote MessageKind = "overlay" // a message that is an [Overlay]
)

const (
	userSuffix = "-user"
	ownMark    = "#"
	voiceMark  = "voice."
	endMark    = "end"

	overlayMark = "overlay."
)

// String returns the text of the id.
func (id MessageID) String() string {
	switch id.Kind {
	case Opening:
		return id.Turn + userSuffix
	case Joining:
		return id.Turn + userSuffix + "-" + strconv.FormatUint(id.Seq, 10)
	case Answer:
		return id.Turn + ownMark + strconv.Itoa(id.Step)
	case Result:
		return id.Turn + ownMark + strconv.Itoa(id.Step) + "." + strconv.Itoa(id.Index)
	case Voice:
		text := id.Turn + ownMark + voiceMark + strconv.Itoa(id.Index)
		if id.Reason != "" {
			text += "." + id.Reason
		}
		return text
	case OverlayNote:
		return id.Turn + ownMark + overlayMark + strconv.Itoa(id.Index)
	case Closing:
		return id.Turn + ownMark + endMark
	}
	return ""
}

// ParseMessageID reads what String gives. ok is false of every other text: the message
// is none of a turn's, as in histories that something else wrote.
func ParseMessageID(text string) (id MessageID, ok bool) {
	if at := strings.LastIndex(text, ownMark); at > 0 {
		if id, ok := parseOwn(text[:at], text[at+len(ownMark):]); ok {
			return id, id.String() == text
		}
	}
	if turn, opens := strings.CutSuffix(text, userSuffix); opens {
		return MessageID{Turn: turn, Kind: Opening}, turn != ""
	}
	at := strings.LastIndex(text, userSuffix+"-")
	if at <= 0 {
		return MessageID{}, false
	}
	seq, err := strconv.ParseUint(text[at+len(userSuffix)+1:], 10, 64)
	id = MessageID{Turn: text[:at], Kind: Joining, Seq: seq}
	if err != nil || seq == 0 || id.String() != text {
		return MessageID{}, false
	}
	return id, true
}

// parseOwn reads what stands behind the last mark. Whoever calls it writes the id again,
// to see that numbers stood there as String writes them.
func parseOwn(turn, rest string) (id MessageID, ok bool) {
	id.Turn = turn
	if rest == endMark {
		id.Kind = Closing
		return id, true
	}
	if note, ok := strings.CutPrefix(rest, voiceMark); ok {
		number, reason, because := strings.Cut(note, ".")
		n, err := strconv.Atoi(number)
		id.Kind, id.Index, id.Reason = Voice, n, reason
		return id, err == nil && n > 0 && because == (reason != "") && isReason(reason)
	}
	if number, ok := strings.CutPrefix(rest, overlayMark); ok {
		n, err := strconv.Atoi(number)
		id.Kind, id.Index = OverlayNote, n
		return id, err == nil && n > 0
	}
	step, index, isResult := strings.Cut(rest, ".")
	var err error
	if id.Step, err = strconv.Atoi(step); err != nil || id.Step < 0 {
		return id, false
	}
	id.Kind = Answer
	if isResult {
		id.Kind = Result
		if id.Index, err = strconv.Atoi(index); err != nil || id.Index < 0 {
			return id, false
		}
	}
	return id, true
}

func isReason(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
}
