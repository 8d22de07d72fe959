package costs

import "fmt"

// What sound is counted in where it is made words of. They stand in Usage.ServerTools
// and Price.ServerTools, beside the tokens of text: some models bill the time, others
// tokens of sound, which cost more than tokens of text.
const (
	AudioSecond = "audio_second" // a second of sound, or a part of one
	AudioToken  = "audio_token"
)

// What a transcription takes at most, besides its sound. OpenAI counts ten tokens for a
// second of sound; its models give no more than 2,000 tokens of words, and are asked
// without a prompt, but for what the provider adds by itself.
const (
	audioTokens     = 12 // for a second
	maxTranscript   = 2000
	transcriptFrame = 256
)

// BillsAudio reports whether p has a price for sound.
func (p *Price) BillsAudio() bool {
	_, seconds := p.ServerTools[AudioSecond]
	_, tokens := p.ServerTools[AudioToken]
	return seconds || tokens
}

// AudioUsage returns the usage of a transcription of so many seconds, as p bills it and as
// far as it is known before the call: the sound alone, without the tokens of the words.
func (p *Price) AudioUsage(seconds int64) Usage {
	u := Usage{Source: Estimated, ServerTools: map[string]int64{}}
	if _, ok := p.ServerTools[AudioSecond]; ok {
		u.ServerTools[AudioSecond] = seconds
	}
	if _, ok := p.ServerTools[AudioToken]; ok {
		u.ServerTools[AudioToken] = seconds * audioTokens
	}
	return u
}

// WorstCaseAudio bounds what the transcription of at most so many seconds costs. The
// errors are ErrNoPrice where p has no price for sound, ErrUsage and ErrOverflow.
func (p *Price) WorstCaseAudio(seconds int64) (Amount, error) {
	if !p.BillsAudio() {
		return 0, fmt.Errorf("sound for %s: %w", p.Model, ErrNoPrice)
	}
	if seconds < 0 || seconds > MaxTokens/audioTokens {
		return 0, fmt.Errorf("%w: %d seconds of sound", ErrUsage, seconds)
	}
	sound, err := p.Cost(p.AudioUsage(seconds))
	if err != nil {
		return 0, err
	}
	words, err := p.WorstCase(transcriptFrame, maxTranscript)
	if err != nil {
		return 0, err
	}
	return sound.Add(words)
}
