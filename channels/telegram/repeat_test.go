package telegram

import (
	"testing"

	"github.com/go-telegram/bot/models"
	"github.com/google/go-cmp/cmp"
)

func TestAPossibleRepeatSaysSoAndKeepsItsEntitiesInPlace(t *testing.T) {
	t.Parallel()
	before := []models.MessageEntity{{Type: models.MessageEntityTypeBold, Offset: 2, Length: 3}}
	text, after := markRepeat("a bcd", before)
	if text != "(This may be a repeat.)\n\na bcd" {
		t.Errorf("the text is %q", text)
	}
	want := []models.MessageEntity{{Type: models.MessageEntityTypeBold, Offset: 2 + repeatUnits, Length: 3}}
	if d := cmp.Diff(want, after); d != "" {
		t.Error(d)
	}
	if before[0].Offset != 2 {
		t.Error("the stored entities were changed")
	}
}
