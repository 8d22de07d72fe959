package replay

import (
	"context"

	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/transcript"
)

// ears gives the recorded words of voice notes.
type ears struct{ s *stage }

var _ llm.Transcriber = ears{}

// labels are those of all the recording's transcriptions: one model makes them.
func (e ears) labels() (l costs.Labels) {
	for _, c := range e.s.script.r.Costs {
		if c.Labels.Purpose == costs.Transcription {
			l = c.Labels
		}
	}
	return l
}

// Provider implements [llm.Transcriber].
func (e ears) Provider() string { return e.labels().Provider }

// Name implements [llm.Transcriber].
func (e ears) Name() string { return e.labels().Model }

// hearing listens to what was listened to: what was not even asked for, by its limits
// or by the budgets, is not asked for now.
func (s *stage) hearing() *agent.Hearing {
	return &agent.Hearing{
		Model: ears{s},
		Read:  func(string, transcript.Binary) ([]byte, error) { return nil, nil }, // the recording has no files
		Judge: func(id string, _ transcript.Sound) agent.Unheard {
			turn, n, _, _ := agent.OfVoice(id)
			for _, why := range agent.NeverAsked() {
				if _, ok := s.script.messages[agent.VoiceID(turn, n, why)]; ok {
					return why
				}
			}
			return agent.Heard
		},
	}
}

// Transcribe implements [llm.Transcriber].
func (e ears) Transcribe(ctx context.Context, speech llm.Speech) (llm.Transcript, error) {
	s := e.s
	turn, n, _, _ := agent.OfVoice(speech.ID)
	id := s.transcription(turn)
	row, booked := s.script.r.Costs[id]
	m := &model{s: s, provider: e.Provider(), name: e.Name()}
	if !booked { // it was under way at the export
		s.end(turn)
		<-ctx.Done()
		return llm.Transcript{}, m.failure(llm.Canceled, "the recording ends here")
	}
	if s.script.breaks[id] != nil {
		s.wait(id)
		<-ctx.Done()
		return llm.Transcript{}, m.failed(row, false)
	}
	s.reach(row.At)
	s.feedFor(ctx, s.script.joins.next[id])
	switch {
	case row.Outcome == string(llm.Canceled):
		s.cancel(ctx, turn)
		return llm.Transcript{}, m.failed(row, false)
	case row.Outcome != outcomeOK:
		return llm.Transcript{}, m.failed(row, s.script.follows(id))
	}
	words := agent.RecordedWords(s.script.messages[agent.VoiceID(turn, n, agent.Heard)].Words())
	return llm.Transcript{Words: words, Usage: row.Usage, RequestID: row.RequestID}, nil
}

// transcription is the call that the turn makes now.
func (s *stage) transcription(turn string) string {
	t, ok := s.script.turns[turn]
	if !ok {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending[t.Session]
}
