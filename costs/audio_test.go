package costs_test

import (
	"errors"
	"testing"

	. "parley/costs"
)

// What a transcription costs is exact, and never above what was reckoned before.
func TestAudio(t *testing.T) {
	t.Parallel()
	c := prices(t)
	for model, want := range map[string]struct {
		usage Usage
		cost  Amount
	}{
		"whisper-1":              {Usage{ServerTools: map[string]int64{AudioSecond: 60}}, 6_000_000_000}, // $0.006
		"gpt-transcribe":         {Usage{ServerTools: map[string]int64{AudioSecond: 60}}, 4_500_000_000}, // $0.0045
		"gpt-4o-transcribe":      {Usage{ServerTools: map[string]int64{AudioToken: 600}, Input: 10, Output: 100}, 4_625_000_000},
		"gpt-4o-mini-transcribe": {Usage{ServerTools: map[string]int64{AudioToken: 600}, Input: 10, Output: 100}, 2_312_500_000},
	} {
		p, ok := c.Price("openai", model)
		if !ok || !p.BillsAudio() {
			t.Errorf("%s has no price for sound: %+v", model, p)
			continue
		}
		got, err := p.Cost(want.usage)
		if err != nil || got != want.cost {
			t.Errorf("%s: %d, %v, not %d", model, got, err, want.cost)
		}
		if upper, err := p.WorstCaseAudio(60); err != nil || upper < got {
			t.Errorf("%s: a minute costs %s and is reckoned as %s, %v", model, got, upper, err)
		}
		if _, err := p.WorstCaseAudio(-1); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: of negative seconds: %v", model, err)
		}
	}
	p, _ := c.Price("openai", "gpt-5")
	if _, err := p.WorstCaseAudio(1); !errors.Is(err, ErrNoPrice) || p.BillsAudio() {
		t.Errorf("a model of text: %v", err)
	}
}
