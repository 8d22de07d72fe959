package agent

import (
	"slices"
	"strings"
	"time"

	"parley/llm"
	"parley/tools"
	"parley/transcript"
)

// Transcription makes words of what people say in voice notes, before a model is asked. Each
// note is a step of the turn: it is reserved, asked for, and settled together with the
// message that its words become, so that no note is paid twice and no words are lost,
// wherever the process dies.
type Transcription struct {
	Model    llm.Transcriber
	MaxBytes int64         // of a note; 0: any
	MaxTime  time.Duration // of a note whose length is known; 0: any
	// Read reads a note; nil: from the workspace.
	Read func(workspace string, b transcript.Binary) ([]byte, error)
	// Judge returns why a note is not even asked for, by the id that its message would
	// have without a reason; nil: the limits do.
	Judge func(id string, s transcript.Sound) VoiceStatus
}

// VoiceStatus is why a voice note has no words.
type VoiceStatus string

// Why a voice note has no words.
const (
	Heard         VoiceStatus = ""
	TooLong       VoiceStatus = "too_long"
	TooBig        VoiceStatus = "too_big"
	Gone          VoiceStatus = "gone"      // the file is not there any more, or another one
	Unpriced      VoiceStatus = "no_price"  // a budget applies, and the model has no price
	NoMoney       VoiceStatus = "no_money"  // the budgets refuse it
	Rejected      VoiceStatus = "rejected"  // the provider does not take the file
	Unreached     VoiceStatus = "unreached" // the provider does not answer, or not for us
	Nothing       VoiceStatus = "nothing"   // the transcript is empty
	NotConfigured VoiceStatus = "deaf"      // nothing is configured to hear it
)

// wasAsked reports whether a provider was asked before it was known.
func (u VoiceStatus) wasAsked() bool {
	return !slices.Contains(UnaskedReasons(), u)
}

// UnaskedReasons returns the reasons for which a note is not even asked for.
func UnaskedReasons() []VoiceStatus {
	return []VoiceStatus{TooLong, TooBig, Gone, Unpriced, NoMoney, NotConfigured}
}

// reason ends the sentence that a person and a model read.
func (u VoiceStatus) reason() string {
	switch u {
	case TooLong:
		return "it is too long"
	case TooBig:
		return "it is too large"
	case Gone:
		return "its file is not there any more"
	case Unpriced:
		return "nobody knows what that costs, and a budget applies"
	case NoMoney:
		return "there is no money left for it"
	case Rejected:
		return "its format is not understood"
	case Nothing:
		return "there are no words in it"
	case NotConfigured:
		return "nothing here can listen to it"
	default:
		return "the service that I need for it does not work at the moment"
	}
}

const toldUnheard = "(I could not listen to the voice note: %s.)"

// VoiceID returns the id of the message that note n of a turn becomes. Notes are numbered
// from 1, in the order in which they stand in the history.
func VoiceID(turn string, n int, u VoiceStatus) string {
	return transcript.MessageID{Turn: turn, Kind: transcript.Voice, Index: n, Reason: string(u)}.String()
}

// ParseVoiceID undoes [VoiceID].
func ParseVoiceID(id string) (turn string, n int, u VoiceStatus, ok bool) {
	m, ok := transcript.ParseMessageID(id)
	return m.Turn, m.Index, VoiceStatus(m.Reason), ok && m.Kind == transcript.Voice
}

// note is a voice note that waits for its words.
type note struct {
	transcript.Binary
	n int
}

// notes reads from the history what became of the voice notes of the turn.
type notes struct {
	pending *note         // the first that has no message yet; nil: all have
	asked   int           // for how many a provider was asked
	unheard []VoiceStatus // why others have no words
}

func notesOf(history []transcript.Message, turn string) (ns notes) {
	var all []transcript.Binary
	answered := 0
	for _, m := range history[turnStart(history, turn):] {
		if m.Role != transcript.User {
			continue
		}
		id, ok := transcript.ParseMessageID(m.ID)
		if !ok || id.Turn != turn {
			continue
		}
		if why := VoiceStatus(id.Reason); id.Kind == transcript.Voice {
			answered++
			if why.wasAsked() {
				ns.asked++
			}
			if why != Heard {
				ns.unheard = append(ns.unheard, why)
			}
			continue
		}
		for _, p := range m.Parts {
			if b, ok := p.(transcript.Binary); ok && b.Sound != nil {
				all = append(all, b)
			}
		}
	}
	if answered < len(all) {
		ns.pending = &note{all[answered], answered + 1}
	}
	return ns
}

// turnStart finds the message that opened the turn.
func turnStart(history []transcript.Message, turn string) int {
	opening := transcript.MessageID{Turn: turn, Kind: transcript.Opening}.String()
	for i, m := range slices.Backward(history) {
		if m.ID == opening {
			return i
		}
	}
	return len(history)
}

// turnPart is the history from the message on that opened the turn; all of it where that is
// not there.
func turnPart(history []transcript.Message, turn string) []transcript.Message {
	if at := turnStart(history, turn); at < len(history) {
		return history[at:]
	}
	return history
}

// maxWords is how many bytes of a transcript stand in the history.
const maxWords = 64 << 10

// spokenHead is above the words of who sent them. It begins with a bracket, as no line
// of what people write does in a group.
const (
	spokenHead = "[the words of the voice note "
	spokenEnd  = ", made by a machine, which may have misheard]\n"
)

// noteText returns what a model reads of a note's words: those of the sender count as if
// they were typed, others stand in a frame.
func noteText(b transcript.Binary, words string) string {
	if b.Sound.Spoken {
		words = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(words)
		words = strings.NewReplacer("\n[", "\n [", "\n> ", "\n > ").Replace("\n" + words)[1:]
		return spokenHead + b.Path + spokenEnd + tools.Truncate(words, maxWords)
	}
	return tools.FrameUntrusted("the sound file "+b.Path, tools.Truncate(words, maxWords))
}

// TranscriptText takes the words out of the message that a note became.
func TranscriptText(said string) string {
	head, words, _ := strings.Cut(said, "\n")
	if strings.HasPrefix(head, spokenHead) {
		return words
	}
	return words[:max(0, strings.LastIndexByte(words, '\n'))] // without the end of the frame
}

// readNote reads a note that was saved in a workspace.
func readNote(workspace string, b transcript.Binary) ([]byte, error) {
	return readSaved(workspace, b, "voice note", b.Sound.Bytes)
}
