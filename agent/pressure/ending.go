package pressure

import (
	"strings"

	"parley/transcript"
)

// What requests hold behind an answer that did not come to its end.
const (
	endStopped  = "[stopped by the user before it was finished]"
	endTimedOut = "[stopped before it was finished: the time limit was reached]"
	endFailed   = "[broke off before it was finished: the model failed]"
)

// withEnding returns m as requests hold it: an answer that did not come to its end, or
// what closes a turn without one, says so. It depends on m alone, so that requests begin
// as those before them. (docs/decisions/0062)
func withEnding(m transcript.Message) transcript.Message {
	if m.Role != transcript.Assistant {
		return m
	}
	end := m.Finish()
	var note string
	switch end.Reason {
	case transcript.Canceled:
		note = endStopped
	case transcript.TimedOut:
		note = endTimedOut
	case transcript.Failed:
		note = endFailed
	default:
		return m
	}
	id, _ := transcript.ParseMessageID(m.ID)
	words := m.Text()
	if id.Kind != transcript.Answer && words != "" { // parley's own words say what happened
		return m
	}
	m.Parts = []transcript.Part{transcript.Text{Text: strings.TrimSpace(words + "\n\n" + note)}, end}
	return m
}
