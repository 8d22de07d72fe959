package telegram

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley/simulators/internal/stage"
)

// formatted is what format makes of the arguments, or why it refuses them.
func formatted(p params) (got formattedText, refused *refusal) {
	refused, _ = stage.Refused[refusal](func() { got = format(p) })
	return got, refused
}

func TestATextHasTheEntitiesThatClientsSee(t *testing.T) {
	t.Parallel()
	got, refused := formatted(params{"text": " \n bare @parley_bot\r\x01 "})
	want := formattedText{text: "bare @parley_bot", entities: []Entity{{Type: "mention", Offset: 5, Length: 11}}}
	if refused != nil || got.text != want.text || !cmp.Equal(got.entities, want.entities) {
		t.Errorf("%+v, %v", got, refused)
	}
}

func TestEntitiesMoveWithWhatIsTrimmed(t *testing.T) {
	t.Parallel()
	in := params{"text": "  a\r\nbold  ", "entities": `[{"type":"bold","offset":5,"length":6},{"type":"italic","offset":0,"length":2}]`}
	got, refused := formatted(in)
	want := formattedText{text: "a\nbold", entities: []Entity{{Type: "bold", Offset: 2, Length: 4}}}
	if refused != nil || got.text != want.text || !cmp.Equal(got.entities, want.entities) {
		t.Errorf("%+v, %v", got, refused)
	}
}

// FuzzFormat holds every accepted text to the promise about its entities.
func FuzzFormat(f *testing.F) {
	f.Add("a @name /cmd https://x.y #z", `[{"type":"bold","offset":0,"length":3}]`)
	f.Add(" \r\n\x00🦜 ", `[{"type":"code","offset":1,"length":3}]`)
	f.Fuzz(func(t *testing.T, text, entities string) {
		got, refused := formatted(params{"text": text, "entities": entities})
		if refused != nil || !utf8.ValidString(text) {
			return
		}
		size := utf16Len(got.text)
		for _, e := range got.entities {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > size {
				t.Errorf("%q: entity %+v outside %q", text, e, got.text)
			}
		}
	})
}
