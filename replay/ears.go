package replay

import (
	"context"

	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/transcript"
)

// transcriber gives the recorded words of voice notes.
type transcriber struct{ s *player }

var _ llm.Transcriber = transcriber{}

// labels are those of all the recording's transcriptions: one model makes them.
func (e transcriber) labels() (l costs.Labels) {
	for _, c := range e.s.script.r.Costs {
		if c.Labels.Purpose == costs.Transcription {
			l = c.Labels
		}
	}
	return l
}

// Provider implements [llm.Transcriber].
func (e transcriber) Provider() string { return e.labels().Provider }

// Name implements [llm.Transcriber].
func (e transcriber) Name() string { return e.labels().Model }

// newTranscription listens to what was listened to: what was not even asked for, by its limits
// or by the budgets, is not asked for now.
func (s *player) newTranscription() *agent.Transcription {
	return &agent.Transcription{
		Model: transcriber{s},
		Read:  func(string, transcript.Binary) ([]byte, error) { return nil, nil }, // the recording has no files
		Judge: func(id string, _ transcript.Sound) agent.VoiceStatus {
			turn, n, _, _ := agent.ParseVoiceID(id)
			for _, why := range agent.UnaskedReasons() {
				if _, ok := s.script.messages[agent.VoiceID(turn, n, why)]; ok {
					return why
				}
			}
			return agent.Heard
		},
	}
}

// Transcribe implements [llm.Transcriber].
func (e transcriber) Transcribe(ctx context.Context, speech llm.Speech) (llm.Transcript, error) {
	s := e.s
	turn, n, _, _ := agent.ParseVoiceID(speech.ID)
	id := s.transcriptionCall(turn)
	row, booked := s.script.r.Costs[id]
	m := &model{s: s, provider: e.Provider(), name: e.Name()}
	if !booked { // it was under way at the export
		s.markEnded(turn)
		<-ctx.Done()
		return llm.Transcript{}, m.newError(llm.Canceled, "recording ends here")
	}
	if s.script.interruptedBy[id] != nil {
		s.markWaiting(id)
		<-ctx.Done()
		return llm.Transcript{}, m.recordedError(row, false)
	}
	s.advanceClock(row.At)
	s.feedFor(ctx, s.script.joins.next[id])
	switch {
	case row.Outcome == string(llm.Canceled):
		s.cancel(ctx, turn)
		return llm.Transcript{}, m.recordedError(row, false)
	case row.Outcome != outcomeOK:
		return llm.Transcript{}, m.recordedError(row, s.script.wasRetried(id))
	}
	words := agent.TranscriptText(s.script.messages[agent.VoiceID(turn, n, agent.Heard)].Text())
	return llm.Transcript{Text: words, Usage: row.Usage, RequestID: row.RequestID}, nil
}

// transcriptionCall is the call that the turn makes now.
func (p *progress) transcriptionCall(turn string) string {
	t, ok := p.script.turns[turn]
	if !ok {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pending[t.Session]
}
